"""Spark's standalone master and worker from PySpark's own jars, on loopback: their command lines, and what the master says of them.

Nothing is started here: whoever starts them keeps the processes. Spark's own scripts are not used, they would start a second Java
first, and read settings of other installations.
"""

from __future__ import annotations

import http.client
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pasps.cluster.launch.java import QUICK_JAVA, MissingSparkError, spark_home
from pasps.cluster.launch.spark_job import AUTHENTICATED, properties_text

HOST = "127.0.0.1"

_JVM = (*QUICK_JAVA, "-Xmx256m", "-XX:-UsePerfData")
_OPENED = (
    *("java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio", "java.util", "java.util.concurrent"),
    *("java.util.concurrent.atomic", "jdk.internal.ref", "sun.nio.ch", "sun.nio.cs", "sun.security.action", "sun.util.calendar"),
)
"""Packages of java.base that Spark reaches into; without them it fails on Java 17 and later."""
_COMMON = {
    # the port that was chosen or none: others are told that port
    "spark.port.maxRetries": 0,
    "spark.ui.killEnabled": "false",
}
_MASTER = {
    # an open port that runs whatever it is sent
    "spark.master.rest.enabled": "false",
    "spark.master.ui.decommission.allow.mode": "DENY",
    # a master that is started again knows the applications and takes them back, or they would get no executor any more
    "spark.deploy.recoveryMode": "FILESYSTEM",
    "spark.deploy.recoveryTimeout": 5,
}
_WORKER = {"spark.worker.cleanup.enabled": "true", "spark.worker.cleanup.interval": 600, "spark.worker.cleanup.appDataTtl": 3600}
_MEGABYTES_A_CORE = 1024
"""What a worker offers to executors for each of its cores; Spark only counts it, nobody takes it until an executor needs it."""


@dataclass(frozen=True, slots=True)
class SparkInstallation:
    """Where Spark is, and the version of Scala that it was built with."""

    home: Path
    scala: str

    @property
    def jars(self) -> str:
        """The class path, in the order of Spark's own scripts: an archive of classes fits no other."""
        directory = self.home / "jars"
        return os.pathsep.join(map(str, [*sorted(directory.glob("slf4j-api-*.jar")), directory / "*"]))


@dataclass(frozen=True, slots=True)
class SparkMaster:
    """A master to be started: its two ports, and the directory in which it keeps what it must know after a restart."""

    port: int
    ui_port: int
    recovery: Path

    @property
    def url(self) -> str:
        """What applications and workers are given."""
        return f"spark://{HOST}:{self.port}"


@dataclass(frozen=True, slots=True)
class SparkWorker:
    """A worker to be started: its two ports, how many cores (slots, not hardware) it offers, and the directory of its executors."""

    port: int
    ui_port: int
    cores: int
    directory: Path


@dataclass(frozen=True, slots=True)
class SparkView:
    """What a master says: whether it is the one that acts, and the ports of the workers that are alive."""

    alive: bool
    workers: frozenset[int]


def find_spark() -> SparkInstallation:
    """PySpark's own Spark, whatever SPARK_HOME says: workers must be of the version that topologies import.

    Raises:
        MissingSparkError: there is none.
    """
    home = spark_home({})
    core = next((home / "jars").glob("spark-core_*.jar"), None)
    if core is None:
        raise MissingSparkError(f"pyspark at {home} has no jars/spark-core_*.jar; install Spark 4 with `pip install 'pasps[spark]'`")
    return SparkInstallation(home, core.name.removeprefix("spark-core_").partition("-")[0])


def environment(spark: SparkInstallation, directory: Path, inherited: Mapping[str, str]) -> dict[str, str]:
    """What Spark's processes need, and what they and their Python processes then inherit: this Python, this `pasps`, loopback.

    Settings of another Spark in `inherited` are left out. `directory` takes what they write beside their own directories.
    """
    kept = {name: value for name, value in inherited.items() if not name.startswith(("SPARK_", "PYSPARK_", "_SPARK_"))}
    paths = [str(Path(__file__).parents[2]), *filter(None, inherited.get("PYTHONPATH", "").split(os.pathsep))]
    return {
        **kept,
        "SPARK_HOME": str(spark.home),
        "SPARK_SCALA_VERSION": spark.scala,
        "SPARK_CONF_DIR": str(directory / "conf"),
        "SPARK_LOCAL_DIRS": str(directory / "local"),
        "SPARK_LOCAL_IP": HOST,
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)),
    }


def defaults_text(secret: str) -> str:
    """Of `spark-defaults.conf` in SPARK_CONF_DIR: who does not have the secret is no worker, no application and no executor."""
    return properties_text({**AUTHENTICATED, "spark.authenticate.secret": secret})


def master_command(java: str, spark: SparkInstallation, master: SparkMaster) -> list[str]:
    """The command line of a standalone master."""
    settings = {**_COMMON, **_MASTER, "spark.deploy.recoveryDirectory": master.recovery}
    return [
        *java_command(java, spark, settings),
        "org.apache.spark.deploy.master.Master",
        *("--host", HOST, "--port", str(master.port), "--webui-port", str(master.ui_port)),
    ]


def worker_command(java: str, spark: SparkInstallation, worker: SparkWorker, master_url: str) -> list[str]:
    """The command line of a standalone worker."""
    return [
        *java_command(java, spark, {**_COMMON, **_WORKER}),
        "org.apache.spark.deploy.worker.Worker",
        *("--host", HOST, "--port", str(worker.port), "--webui-port", str(worker.ui_port)),
        *("--cores", str(worker.cores), "--memory", f"{_MEGABYTES_A_CORE * worker.cores}m"),
        *("--work-dir", str(worker.directory), master_url),
    ]


def ask_master(ui_port: int, timeout_seconds: float) -> SparkView:
    """Ask the master behind that web port. Blocks, `timeout_seconds` at most for each step.

    Raises:
        OSError: nobody answers there.
        ValueError: somebody else does.
    """
    connection = http.client.HTTPConnection(HOST, ui_port, timeout=timeout_seconds)
    try:
        connection.request("GET", "/json/")
        return view_of(json.loads(connection.getresponse().read()))
    except http.client.HTTPException as error:
        raise ValueError(f"not Spark's master: {error!r}") from error
    finally:
        connection.close()


def view_of(said: Any) -> SparkView:
    """Read a master's `/json/`.

    Raises:
        ValueError: no master says that.
    """
    try:
        ports = frozenset(int(worker["port"]) for worker in said["workers"] if worker["state"] == "ALIVE")
        return SparkView(alive=said["status"] == "ALIVE", workers=ports)
    except (KeyError, TypeError) as error:
        raise ValueError(f"not Spark's master: no {error}") from error


def java_command(java: str, spark: SparkInstallation, settings: Mapping[str, object], options: Sequence[str] = _JVM) -> list[str]:
    """The command line of one of Spark's processes, up to its class."""
    opened = (f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED)
    return [java, *options, *opened, "-cp", spark.jars, *(f"-D{key}={value}" for key, value in settings.items())]
