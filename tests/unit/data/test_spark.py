from __future__ import annotations

import sys

import pytest

from pasps.cluster.launch.java import MissingJavaError
from pasps.data.spark import is_local, settings, spark_session


def test_a_local_spark_is_quiet_and_on_loopback() -> None:
    found = settings("name", "local[2]", {"spark.ui.enabled": "true"})
    assert found["spark.master"] == "local[2]"
    assert found["spark.app.name"] == "name"
    assert found["spark.driver.bindAddress"] == "127.0.0.1"
    assert found["spark.sql.session.timeZone"] == "UTC"
    assert found["spark.ui.enabled"] == "true"


def test_a_cluster_must_reach_the_driver() -> None:
    assert "spark.driver.host" not in settings("name", "spark://host:7077", {})


def test_local_masters_are_known() -> None:
    assert [is_local(master) for master in ("local", "local[*]", "local[4]", "spark://h:1", "yarn")] == [True, True, True, False, False]


def test_without_java_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "pyspark", raising=False)
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(MissingJavaError, match="JAVA_HOME"), spark_session("name"):
        pass
