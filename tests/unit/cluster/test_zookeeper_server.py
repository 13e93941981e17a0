from __future__ import annotations

from pathlib import Path

import pytest

from pasps.cluster.dev.zookeeper_server import class_path, config_text, tail
from pasps.cluster.launch.java import MissingSparkError

NEEDED = [
    "zookeeper-3.9.5.jar",
    "zookeeper-jute-3.9.5.jar",
    "metrics-core-4.2.37.jar",
    "snappy-java-1.1.10.8.jar",
    "slf4j-api-2.0.17.jar",
    "log4j-slf4j2-impl-2.25.4.jar",
    "log4j-api-2.25.4.jar",
    "log4j-core-2.25.4.jar",
]


def test_the_server_gets_the_few_jars_it_needs(tmp_path: Path) -> None:
    for name in [*NEEDED, "spark-core_2.13-4.0.0.jar"]:
        (tmp_path / name).touch()
    assert class_path(tmp_path) == ":".join(str(tmp_path / name) for name in NEEDED)


def test_the_server_gets_all_jars_when_one_it_needs_has_another_name(tmp_path: Path) -> None:
    for name in NEEDED[:-1]:
        (tmp_path / name).touch()
    assert class_path(tmp_path) == str(tmp_path / "*")


def test_a_spark_without_zookeeper_is_told_with_the_cure(tmp_path: Path) -> None:
    (tmp_path / "zookeeper-jute-3.9.5.jar").touch()
    with pytest.raises(MissingSparkError, match=r"has no ZooKeeper, expected .*pip install 'pasps\[spark\]'"):
        class_path(tmp_path)


def test_the_server_listens_where_it_is_told_and_has_no_admin_server() -> None:
    lines = config_text(Path("/a b/ü\\"), 2181, "127.0.0.1").splitlines()
    assert {
        "dataDir=/a b/\\u00fc\\\\/data",
        "clientPort=2181",
        "clientPortAddress=127.0.0.1",
        "admin.enableServer=false",
        "4lw.commands.whitelist=ruok,srvr",
        "minSessionTimeout=4000",
        "maxSessionTimeout=40000",
    } <= set(lines)


def test_the_end_of_a_log_is_short(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert tail(log) == ""
    log.write_text("".join(f"{number}\n" for number in range(100)))
    assert tail(log, 3) == "97\n98\n99"
    log.write_text("java.lang.Error: why\n\tat a.B.c(B.java:1)\n\nend\n")
    assert tail(log, 3) == "java.lang.Error: why\nend"
