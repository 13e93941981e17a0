"""What a driver asks of Spark: how many places, with what, and how it says that there are not enough."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pasps.api.blueprint import Blueprint
from pasps.clock import Clock, Deadline
from pasps.cluster.driver.options import DriverOptions
from pasps.cluster.launch.spark_java import kept_archive
from pasps.cluster.launch.spark_job import SparkJob, settings
from pasps.cluster.launch.spark_launcher import SparkLauncher
from pasps.cluster.package.layout import ENVIRONMENT_DIRECTORY
from pasps.control.news import News

DEFAULT_WORKERS = 2
"""Of a topology that does not say how many."""
ENTRY = "pasps.worker.spark_task"
_SPARK = "spark."
_SAY_WAITING_SECONDS = 10.0
_LOOK_SECONDS = 0.2
Parts = tuple[Path, Path | None]
"""The package without its environment, and the environment's archive; see `package.parts`."""


def spark_job(options: DriverOptions, parts: Parts, sha256: str, blueprint: Blueprint, address: tuple[str, int], secret: bytes) -> SparkJob:
    """The job whose tasks are the workers; `sha256` is the package's. Keys of the topology's configuration that begin with `spark.` are
    Spark's."""
    code, environment = parts
    arguments: Mapping[str, Any] = {
        "topology": options.topology,
        "address": address,
        "secret": secret.hex(),
        "package": code.name,
        "sha256": sha256,
        "environment": ENVIRONMENT_DIRECTORY if environment is not None else None,
    }
    return SparkJob(
        master=options.spark,
        name=f"pasps {options.topology}",
        entry=ENTRY,
        arguments=arguments,
        files=(str(code),),
        archives=(f"{environment}#{ENVIRONMENT_DIRECTORY}",) if environment is not None else (),
        conf={key: str(value) for key, value in blueprint.config.items() if key.startswith(_SPARK)},
        host=options.bind,
        advertise=options.advertise,
        java_archive=kept_archive(),
    )


def starting_text(launcher: SparkLauncher, workers: int, executors: int) -> str:
    """What is there of what it needs."""
    wanted = settings(launcher.job, workers)["spark.executor.instances"]
    return f"{executors} of {wanted} executors of Spark are there, {launcher.places_filled()} of {workers} workers have come"


def waiting_text(launcher: SparkLauncher, workers: int, failed: int) -> str:
    """What it waits for; `failed` tasks of its workers have failed before they came."""
    if failed:
        return (
            f"{launcher.places_filled()} of {workers} workers have a place; {failed} times one failed before it reached this driver: "
            "see the standard error of the executors, in the web page of Spark or in the work directories of its workers"
        )
    asked = settings(launcher.job, workers)
    return (
        f"{launcher.places_filled()} of {workers} workers have a place; it waits for Spark, which was asked for "
        f"{asked['spark.executor.instances']} executors of {asked['spark.executor.cores']} cores with "
        f"{asked['spark.executor.memory']} each; add workers to Spark, or end another topology"
    )


async def follow_places(
    launcher: SparkLauncher, workers: int, say: Callable[[str, str], None], news: News, clock: Clock, look_seconds: float = _LOOK_SECONDS
) -> None:
    """Say state and detail whenever they change, until all workers have come; `news` tells of each.

    When Spark has not found room for all of them after some seconds, the topology is one that waits for places.
    """
    late, said = Deadline(clock, _SAY_WAITING_SECONDS), ("", "")
    while (filled := launcher.places_filled()) < workers:
        failed = await launcher.failed_tasks() if late.expired() else 0
        if failed or (late.expired() and await launcher.places_found() < workers):
            now = "waiting", waiting_text(launcher, workers, failed)
        else:
            now = "starting", starting_text(launcher, workers, await launcher.executors())
        if now != said:
            say(*now)
        said, pause = now, _SAY_WAITING_SECONDS if now[0] == "waiting" else look_seconds
        await news.wait_until(lambda filled=filled: launcher.places_filled() != filled, pause)  # type: ignore[misc]
    say("starting", f"all {workers} workers have come, make their components, and connect to each other")
