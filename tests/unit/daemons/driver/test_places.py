from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from pasps.api.blueprint import Blueprint
from pasps.cluster.spark_job import SparkJob, settings
from pasps.cluster.spark_launcher import SparkLauncher
from pasps.daemons.driver.options import DriverOptions
from pasps.daemons.driver.places import DEFAULT_WORKERS, ENTRY, spark_job, waiting_text, worker_count
from tests.unit.cli.builders import Doubling

OPTIONS = DriverOptions("words", 3, "h1:2181", "spark://h1:7077", "/p.zip", "/home", "0.0.0.0", "node7", None)
CODE, ENVIRONMENT = Path("/parts/package.zip"), Path("/parts/environment.tar.gz")


def blueprint(**config: Any) -> Blueprint:
    return Doubling.blueprint(config={name.replace("_", "."): value for name, value in config.items()})


def job(environment: Path | None = None, **config: Any) -> SparkJob:
    return spark_job(OPTIONS, (CODE, environment), blueprint(**config), ("node7", 7000), b"secret")


@pytest.mark.parametrize(("config", "count"), [({}, DEFAULT_WORKERS), ({"topology_workers": 5}, 5)])
def test_a_topology_has_as_many_workers_as_it_says(config: dict[str, Any], count: int) -> None:
    assert worker_count(blueprint(**config)) == count


def test_workers_are_told_where_to_go_and_what_to_run() -> None:
    made = job()
    assert (made.master, made.name, made.entry) == ("spark://h1:7077", "pasps words", ENTRY)
    assert made.arguments == {
        "topology": "words",
        "address": ("node7", 7000),
        "secret": b"secret",
        "package": "package.zip",
        "environment": None,
    }
    assert (made.files, made.archives, made.host, made.advertise) == (("/parts/package.zip",), (), "0.0.0.0", "node7")


def test_an_environment_comes_as_an_archive_under_the_name_that_workers_are_told() -> None:
    made = job(ENVIRONMENT)
    assert made.files == (str(CODE),)
    assert made.archives == (f"{ENVIRONMENT}#{made.arguments['environment']}",)


def test_keys_that_begin_with_spark_are_for_spark_as_text() -> None:
    config: dict[str, Any] = {"spark_executor_memory": "2g", "spark_executor_cores": 4, "topology_workers": 3}
    assert job(**config).conf == {"spark.executor.memory": "2g", "spark.executor.cores": "4"}


class Launcher:
    """As much of a `SparkLauncher` as its text needs; the real one needs Spark."""

    def __init__(self, made: SparkJob, filled: int) -> None:
        self.job, self._filled = made, filled

    def places_filled(self) -> int:
        return self._filled


def test_what_it_waits_for_is_what_spark_was_asked_for() -> None:
    made = job(spark_executor_memory="2g")
    text = waiting_text(cast("SparkLauncher", Launcher(made, 1)), 5, 0)
    asked = settings(made, 5)
    assert text.startswith("1 of 5 workers have a place")
    assert f"{asked['spark.executor.instances']} executors of {asked['spark.executor.cores']} cores with 2g each" in text
