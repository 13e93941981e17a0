"""What a topology asks of Spark: a job, and the configuration that makes it what a topology needs. Pure."""

from __future__ import annotations

import json
import string
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pasps.cluster.launch.java import QUICK_JAVA, archive_options
from pasps.cluster.store.tokens import SECRET_VARIABLES
from pasps.errors import InvalidError

WORKERS_PER_EXECUTOR = 2
AUTHENTICATED = {"spark.authenticate": "true", "spark.network.crypto.enabled": "true"}
"""Who has no secret takes no part in an application, and what its processes say to each other is encrypted."""
_PLAIN = frozenset(string.ascii_letters + string.digits + "._-/")
_ALWAYS = "1000000000"
"""Spark counts failures of a task in an int, and gives up at the last one."""
_YARN_OVERHEAD = "1g"
"""YARN ends a container whose Python processes take more than was asked for beside the executor's own memory."""


@dataclass(frozen=True, slots=True)
class SparkJob:
    """What Spark is to run: `python -m entry` on every worker, which reads `arguments` and its place's name as JSON from its input.

    `files` and `archives` (`path#name`) are given to every executor; `conf` wins over what is set here.
    `java_archive` is one of Spark's classes, see `java_archive`, on every node.
    """

    master: str
    name: str
    entry: str
    arguments: Mapping[str, Any]
    files: tuple[str, ...] = ()
    archives: tuple[str, ...] = ()
    conf: Mapping[str, str] = field(default_factory=dict)
    host: str = "127.0.0.1"
    advertise: str = ""
    java_archive: str | None = None


def settings(job: SparkJob, workers: int) -> dict[str, str]:
    """Spark's configuration for so many workers. Pure. Raises InvalidError for numbers that cannot be.

    An executor takes `spark.executor.cores` of them, and there are as many whole executors as that needs, so that workers spread
    over executors and so over hosts: left alone, all jobs go to the executor that registers first.
    """
    per_task = _count(job, "spark.task.cpus", 1)
    per_executor = _count(job, "spark.executor.cores", min(WORKERS_PER_EXECUTOR, workers) * per_task)
    if per_executor < per_task:
        raise InvalidError(f"spark.executor.cores: expected at least the {per_task} of spark.task.cpus, got {per_executor}")
    executors = -(-workers // (per_executor // per_task))
    java = [*QUICK_JAVA, *([] if job.java_archive is None else archive_options(job.java_archive))]
    wanted = {
        "spark.master": job.master,
        "spark.app.name": job.name,
        "spark.executor.cores": str(per_executor),
        "spark.cores.max": str(executors * per_executor),
        "spark.executor.instances": str(executors),
        "spark.dynamicAllocation.enabled": "false",
        "spark.executor.memory": "512m",
        "spark.driver.memory": "512m",
        "spark.task.maxFailures": _ALWAYS,
        "spark.executor.maxNumFailures": _ALWAYS,
        "spark.stage.maxConsecutiveAttempts": _ALWAYS,
        "spark.speculation": "false",
        "spark.excludeOnFailure.enabled": "false",
        "spark.locality.wait": "0s",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": job.advertise or job.host,
        "spark.driver.bindAddress": job.host,
        "spark.submit.deployMode": "client",
        # executors only hold workers: what matters is that they are there soon
        "spark.executor.extraJavaOptions": " ".join(java),
        "spark.driver.extraJavaOptions": " ".join(java),
    }
    if job.java_archive is not None:
        # no archive fits a class path with a directory of files in it; there is none of this name, and executors are told their settings
        wanted["spark.executorEnv.SPARK_CONF_DIR"] = f"{job.java_archive}.conf"
    if job.master == "yarn":
        wanted["spark.executor.memoryOverhead"] = _YARN_OVERHEAD
        # YARN makes a secret for each application and brings it to its executors; the shuffle service has none, and nothing is shuffled
        wanted |= {**AUTHENTICATED, "spark.shuffle.service.enabled": "false"}
    found = {**wanted, **job.conf}
    for key, own in (("spark.archives", job.archives), ("spark.files", job.files)):
        if own:
            found[key] = ",".join([*own, *filter(None, job.conf.get(key, "").split(","))])
    return found


PYTHON_KEY = "spark.pyspark.python"
_THREADS = "OMP_NUM_THREADS"


def command(job: SparkJob) -> list[str]:
    """The command line of a worker, on whatever machine Spark runs it. Pure."""
    return [job.conf.get(PYTHON_KEY, sys.executable), "-m", job.entry]


def environment(job: SparkJob) -> dict[str, str]:
    """What a worker's environment has besides its executor's. Pure.

    Secrets that an executor was started with are empty there: what a process begins with stays readable in /proc, whatever it drops.
    As PySpark has it, a worker that is one of several on a machine computes with as many threads as Spark counts for it.
    """
    threads = {} if f"spark.executorEnv.{_THREADS}" in job.conf else {_THREADS: job.conf.get("spark.task.cpus", "1")}
    return dict.fromkeys(SECRET_VARIABLES, "") | threads


def told(job: SparkJob, place: str) -> str:
    """What the worker of a place is told, in one line of JSON. Pure."""
    return json.dumps({**job.arguments, "place": place})


def properties_text(wanted: Mapping[str, str]) -> str:
    """A file of Java properties, as Spark reads it. Pure."""
    return "".join(f"{_escaped(key)}={_escaped(value)}\n" for key, value in wanted.items())


def _escaped(text: str) -> str:
    """All but plain characters as Java's UTF-16 has them, so that none of them means anything to who reads it."""
    units = memoryview(text.encode("utf-16-be", "surrogatepass"))
    numbers = (int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2))
    return "".join(chr(number) if chr(number) in _PLAIN else f"\\u{number:04x}" for number in numbers)


def _count(job: SparkJob, key: str, usual: int) -> int:
    text = job.conf.get(key, str(usual))
    if not text.isdecimal() or int(text) < 1:
        raise InvalidError(f"{key}: expected a whole number of at least 1, got {text!r}")
    return int(text)
