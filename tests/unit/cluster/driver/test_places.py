from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest

from pasps.api.blueprint import Blueprint
from pasps.cluster.driver.options import DriverOptions
from pasps.cluster.driver.places import DEFAULT_WORKERS, ENTRY, follow_places, spark_job, starting_text, waiting_text
from pasps.cluster.launch.spark_job import SparkJob, settings
from pasps.cluster.launch.spark_launcher import SparkLauncher
from pasps.control.news import News
from pasps.testing.clock import FakeClock
from pasps.topology.workforce import worker_count
from tests.unit.cli.builders import Doubling

OPTIONS = DriverOptions("words", 3, "h1:2181", "spark://h1:7077", "/p.zip", "/home", "0.0.0.0", "node7", None)
CODE, ENVIRONMENT = Path("/parts/package.zip"), Path("/parts/environment.tar.gz")


def blueprint(**config: Any) -> Blueprint:
    return Doubling.blueprint(config={name.replace("_", "."): value for name, value in config.items()})


def job(environment: Path | None = None, **config: Any) -> SparkJob:
    return spark_job(OPTIONS, (CODE, environment), "f00d", blueprint(**config), ("node7", 7000), b"secret")


@pytest.mark.parametrize(("config", "count"), [({}, DEFAULT_WORKERS), ({"topology_workers": 5}, 5)])
def test_a_topology_has_as_many_workers_as_it_says(config: dict[str, Any], count: int) -> None:
    assert worker_count(blueprint(**config), DEFAULT_WORKERS) == count


def test_workers_are_told_where_to_go_and_what_to_run() -> None:
    made = job()
    assert (made.master, made.name, made.entry) == ("spark://h1:7077", "pasps words", ENTRY)
    assert made.arguments == {
        "topology": "words",
        "address": ("node7", 7000),
        "secret": b"secret".hex(),
        "package": "package.zip",
        "sha256": "f00d",
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


def test_while_it_starts_it_says_what_is_there_already() -> None:
    text = starting_text(cast("SparkLauncher", Launcher(job(), 1)), 5, 2)
    assert text == "2 of 3 executors of Spark are there, 1 of 5 workers have come"


class StartingLauncher(Launcher):
    """One that finds so many executors, and room for so many workers, and so many come: a step further at each look."""

    def __init__(self, made: SparkJob, steps: list[tuple[int, int, int]], clock: FakeClock, late: int) -> None:
        super().__init__(made, 0)
        self._steps, self._clock, self._late = iter(steps), clock, late
        self._executors = self._found = 0

    def places_filled(self) -> int:
        return self._filled

    async def executors(self) -> int:
        self._go_on()
        return self._executors

    async def places_found(self) -> int:
        now = self._found
        if now < 2:
            self._go_on()
        return now

    async def failed_tasks(self) -> int:
        return 0

    def _go_on(self) -> None:
        self._executors, self._found, self._filled = next(self._steps)
        self._clock.advance(self._late)


def told_of(steps: list[tuple[int, int, int]], late: int) -> list[str]:
    """What is said of the start of two workers, so many seconds passing between two looks."""
    said: list[str] = []
    clock = FakeClock()
    launcher = StartingLauncher(job(), steps, clock, late)

    def say(state: str, detail: str) -> None:
        said.append(f"{state}: {detail}".partition(";")[0])

    asyncio.run(follow_places(cast("SparkLauncher", launcher), 2, say, News(), clock, look_seconds=0.0))
    return said


LAST = "starting: all 2 workers have come, make their components, and connect to each other"


def test_each_step_of_a_start_is_said_once() -> None:
    assert told_of([(0, 0, 0), (1, 2, 0), (1, 2, 1), (1, 2, 2)], 1) == [
        "starting: 0 of 1 executors of Spark are there, 0 of 2 workers have come",
        "starting: 1 of 1 executors of Spark are there, 0 of 2 workers have come",
        "starting: 1 of 1 executors of Spark are there, 1 of 2 workers have come",
        "starting: 1 of 1 executors of Spark are there, 2 of 2 workers have come",
        LAST,
    ]


def test_workers_that_have_room_and_take_long_wait_for_no_place() -> None:
    assert told_of([(1, 2, 0), (1, 2, 0), (1, 2, 2)], 8) == [
        "starting: 1 of 1 executors of Spark are there, 0 of 2 workers have come",
        "starting: 1 of 1 executors of Spark are there, 2 of 2 workers have come",
        LAST,
    ]


def test_those_without_room_do() -> None:
    said = told_of([(0, 0, 0), (1, 2, 2)], 20)
    assert [line.partition(":")[0] for line in said] == ["starting", "waiting", "starting"]
    assert said[-1] == LAST
