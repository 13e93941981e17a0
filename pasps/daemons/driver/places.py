"""What a driver asks of Spark: how many places, with what, and how it says that there are not enough."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pasps.api.blueprint import Blueprint
from pasps.cluster.package_layout import ENVIRONMENT_DIRECTORY
from pasps.cluster.spark_job import SparkJob, settings
from pasps.cluster.spark_launcher import SparkLauncher
from pasps.daemons.driver.options import DriverOptions

DEFAULT_WORKERS = 2
"""Of a topology that does not say how many."""
ENTRY = "pasps.daemons.spark_worker:work"
_SPARK = "spark."
Parts = tuple[Path, Path | None]
"""The package without its environment, and the environment's archive; see `package_parts`."""


def worker_count(blueprint: Blueprint) -> int:
    """How many workers the topology gets."""
    return int(blueprint.config.get("topology.workers") or DEFAULT_WORKERS)


def spark_job(options: DriverOptions, parts: Parts, blueprint: Blueprint, address: tuple[str, int], secret: bytes) -> SparkJob:
    """The job whose tasks are the workers. Keys of the topology's configuration that begin with `spark.` are Spark's."""
    code, environment = parts
    arguments: Mapping[str, Any] = {
        "topology": options.topology,
        "address": address,
        "secret": secret,
        "package": code.name,
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
    )


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
