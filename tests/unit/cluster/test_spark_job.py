"""What Spark is asked for; that it gives it is tested with Spark."""

from __future__ import annotations

import json
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pasps.cluster.launch.spark_job import SparkJob, command, environment, properties_text, settings, told
from pasps.cluster.store.tokens import SECRET_VARIABLES

JOB = SparkJob("spark://h1:7077", "pasps words", "some.module", {})


def job(**given: object) -> SparkJob:
    return SparkJob("spark://h1:7077", "pasps words", "some.module", {}, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("workers", "executors", "cores"),
    [(1, 1, 1), (2, 1, 2), (3, 2, 2), (4, 2, 2), (5, 3, 2)],
)
def test_workers_share_executors_in_pairs(workers: int, executors: int, cores: int) -> None:
    asked = settings(JOB, workers)
    assert (asked["spark.executor.instances"], asked["spark.executor.cores"]) == (str(executors), str(cores))
    assert asked["spark.cores.max"] == str(executors * cores)


@given(workers=st.integers(1, 200), cores=st.integers(1, 64))
def test_there_is_a_core_for_every_worker_in_whole_executors_and_no_executor_too_many(workers: int, cores: int) -> None:
    asked = settings(job(conf={"spark.executor.cores": str(cores)}), workers)
    executors = int(asked["spark.executor.instances"])
    assert int(asked["spark.executor.cores"]) == cores
    assert int(asked["spark.cores.max"]) == executors * cores
    assert (executors - 1) * cores < workers <= executors * cores


def test_a_task_may_fail_as_often_as_it_likes_and_is_never_run_twice_at_once() -> None:
    asked = settings(JOB, 2)
    for key in ("spark.task.maxFailures", "spark.executor.maxNumFailures", "spark.stage.maxConsecutiveAttempts"):
        assert 10**6 < int(asked[key]) < 2**31
    for key in ("spark.speculation", "spark.excludeOnFailure.enabled", "spark.dynamicAllocation.enabled"):
        assert asked[key] == "false"


def test_a_worker_is_a_process_of_the_python_that_is_asked_for() -> None:
    assert command(JOB) == [sys.executable, "-m", "some.module"]
    assert command(job(conf={"spark.pyspark.python": "/opt/python"})) == ["/opt/python", "-m", "some.module"]


def test_a_worker_is_told_its_place_in_one_line_and_what_was_asked_of_it() -> None:
    text = told(SparkJob("spark://h1:7077", "pasps words", "some.module", {"topology": "words", "secret": "a\nb"}), "w3")
    assert "\n" not in text
    assert json.loads(text) == {"topology": "words", "secret": "a\nb", "place": "w3"}


def test_a_worker_begins_without_the_secrets_of_its_executor_and_with_as_many_threads_as_spark_counts() -> None:
    assert environment(JOB) == {**dict.fromkeys(SECRET_VARIABLES, ""), "OMP_NUM_THREADS": "1"}
    assert environment(job(conf={"spark.task.cpus": "3"}))["OMP_NUM_THREADS"] == "3"
    assert "OMP_NUM_THREADS" not in environment(job(conf={"spark.executorEnv.OMP_NUM_THREADS": "8"}))


def test_files_and_archives_are_listed_only_when_there_are_some() -> None:
    assert {"spark.files", "spark.archives"}.isdisjoint(settings(JOB, 1))
    asked = settings(job(files=("/a.zip", "/b.zip"), archives=("/e.tar.gz#e",)), 1)
    assert (asked["spark.files"], asked["spark.archives"]) == ("/a.zip,/b.zip", "/e.tar.gz#e")


def test_executors_reach_the_driver_by_its_advertised_name() -> None:
    asked = settings(job(host="0.0.0.0", advertise="node7"), 1)
    assert (asked["spark.driver.bindAddress"], asked["spark.driver.host"]) == ("0.0.0.0", "node7")
    asked = settings(job(host="10.0.0.7"), 1)
    assert (asked["spark.driver.bindAddress"], asked["spark.driver.host"]) == ("10.0.0.7", "10.0.0.7")


def test_what_the_topology_says_wins() -> None:
    asked = settings(job(conf={"spark.executor.memory": "2g", "spark.my.key": "1"}), 1)
    assert (asked["spark.executor.memory"], asked["spark.my.key"]) == ("2g", "1")


def test_files_of_the_topology_do_not_keep_its_package_from_workers() -> None:
    asked = settings(job(files=("/package.zip",), archives=("/e#e",), conf={"spark.files": "/mine", "spark.archives": "/other"}), 1)
    assert set(asked["spark.files"].split(",")) == {"/package.zip", "/mine"}
    assert set(asked["spark.archives"].split(",")) == {"/e#e", "/other"}


def test_there_are_cores_enough_when_a_task_takes_several() -> None:
    asked = settings(job(conf={"spark.executor.cores": "4", "spark.task.cpus": "2"}), 4)
    assert int(asked["spark.cores.max"]) >= 8


def test_on_yarn_each_application_has_a_secret_of_its_own() -> None:
    asked = settings(SparkJob("yarn", "pasps words", "some.module", {}), 1)
    assert (asked["spark.authenticate"], asked["spark.network.crypto.enabled"], asked["spark.shuffle.service.enabled"]) == (
        "true", "true", "false"
    )  # fmt: skip
    assert "spark.authenticate" not in settings(JOB, 1)


def read_properties(text: str) -> dict[str, str]:
    """As Java does, of what it writes."""
    pairs = (line.split("=", 1) for line in text.splitlines())
    return {plain(key): plain(value) for key, value in pairs}


def plain(text: str) -> str:
    assert re.fullmatch(r"([\w./-]|\\u[0-9a-f]{4})*", text, re.ASCII), "nothing that a reader of properties takes for something else"
    return re.sub(r"(\\u[0-9a-f]{4})+", lambda match: str(json.loads(f'"{match[0]}"')), text)


@given(values=st.dictionaries(st.text(min_size=1), st.text()))
def test_a_file_for_spark_says_what_was_meant(values: dict[str, str]) -> None:
    assert read_properties(properties_text(values)) == values


def test_an_archive_of_classes_is_for_the_driver_and_for_executors_which_have_no_directory_in_their_class_path() -> None:
    asked = settings(job(java_archive="/cache/java.jsa"), 2)
    for key in ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions"):
        assert "-XX:SharedArchiveFile=/cache/java.jsa" in asked[key]
    assert asked["spark.executorEnv.SPARK_CONF_DIR"] == "/cache/java.jsa.conf"
    assert "spark.executorEnv.SPARK_CONF_DIR" not in settings(JOB, 2)
