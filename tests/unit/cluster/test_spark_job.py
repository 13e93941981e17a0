"""What Spark is asked for; that it gives it is tested with Spark."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pasps.cluster.spark_job import SparkJob, settings

JOB = SparkJob("spark://h1:7077", "pasps words", "module:function", {})


def job(**given: object) -> SparkJob:
    return SparkJob("spark://h1:7077", "pasps words", "module:function", {}, **given)  # type: ignore[arg-type]


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
    for key in ("spark.speculation", "spark.excludeOnFailure.enabled", "spark.dynamicAllocation.enabled", "spark.python.worker.reuse"):
        assert asked[key] == "false"


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
