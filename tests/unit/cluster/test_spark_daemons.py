from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from pasps.cluster.launch.spark_daemons import (
    SparkInstallation,
    SparkMaster,
    SparkWorker,
    environment,
    master_command,
    view_of,
    worker_command,
)

SPARK = SparkInstallation(Path("/spark"), "2.13")
MASTER = SparkMaster(7077, 8080, Path("/home/recovery"))
WORKER = SparkWorker(7078, 8081, 6, Path("/home/work"))


def after(words: list[str], option: str) -> str:
    return words[words.index(option) + 1]


def settings(words: list[str]) -> dict[str, str]:
    return dict(word.removeprefix("-D").split("=", 1) for word in words if word.startswith("-Dspark."))


def test_a_master_listens_on_loopback_and_opens_nothing_that_runs_what_it_is_sent() -> None:
    words = master_command("/java", SPARK, MASTER)
    assert words[0] == "/java"
    assert after(words, "-cp") == "/spark/jars/*"
    assert (after(words, "--host"), after(words, "--port"), after(words, "--webui-port")) == ("127.0.0.1", "7077", "8080")
    assert settings(words)["spark.master.rest.enabled"] == "false"
    assert settings(words)["spark.ui.killEnabled"] == "false"
    assert settings(words)["spark.deploy.recoveryDirectory"] == "/home/recovery"


def test_a_worker_offers_its_cores_and_goes_to_its_master() -> None:
    words = worker_command("/java", SPARK, WORKER, MASTER.url)
    assert words[-1] == "spark://127.0.0.1:7077"
    assert (after(words, "--host"), after(words, "--port"), after(words, "--webui-port")) == ("127.0.0.1", "7078", "8081")
    assert (after(words, "--cores"), after(words, "--memory"), after(words, "--work-dir")) == ("6", "6144m", "/home/work")
    assert settings(words)["spark.worker.cleanup.enabled"] == "true"


@pytest.mark.parametrize("words", [master_command("java", SPARK, MASTER), worker_command("java", SPARK, WORKER, MASTER.url)])
def test_each_has_the_port_it_was_given_or_none(words: list[str]) -> None:
    assert settings(words)["spark.port.maxRetries"] == "0"


def test_executors_find_this_python_and_this_package_and_nothing_of_another_spark() -> None:
    inherited = {"PATH": "/bin", "PYTHONPATH": "/mine", "SPARK_HOME": "/other", "SPARK_WORKER_CORES": "99", "PYSPARK_PYTHON": "python2"}
    found = environment(SPARK, Path("/home"), inherited)
    assert found["PATH"] == "/bin"
    assert (found["SPARK_HOME"], found["SPARK_SCALA_VERSION"], found["SPARK_LOCAL_IP"]) == ("/spark", "2.13", "127.0.0.1")
    assert found["PYSPARK_PYTHON"] == sys.executable
    assert found["PYTHONPATH"].split(os.pathsep) == [str(Path(__file__).parents[3]), "/mine"]
    assert "SPARK_WORKER_CORES" not in found


def test_of_a_masters_words_only_live_workers_count() -> None:
    workers = [{"port": 1, "state": "ALIVE"}, {"port": 2, "state": "DEAD"}, {"port": 3, "state": "ALIVE"}]
    view = view_of({"status": "ALIVE", "workers": workers})
    assert view.alive
    assert view.workers == {1, 3}


def test_a_master_that_recovers_does_not_act_yet() -> None:
    assert not view_of({"status": "RECOVERING", "workers": []}).alive


@pytest.mark.parametrize("said", [{}, [], None, {"status": "ALIVE"}, {"status": "ALIVE", "workers": [{}]}, {"workers": []}])
def test_what_no_master_says_is_refused(said: object) -> None:
    with pytest.raises(ValueError, match="not Spark's master"):
        view_of(said)
