"""Spark's side of a driver, a Java process: started before anybody knows what it is for, while the topology is read.

Spark's own scripts start a Java process only to find out how to start the second one, and wait for it in steps of a tenth of a second.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import Any

from pasps.cluster.launch.java import QUICK_JAVA, archive_options, java_path
from pasps.cluster.launch.spark_daemons import SparkInstallation, find_spark, java_command
from pasps.errors import BrokenError

DRIVER_MEMORY = "512m"
ARCHIVE_VARIABLE = "PASPS_JAVA_ARCHIVE"
"""Of a cluster on one machine: where Java keeps Spark's classes, or is to keep them."""
_MAIN = "org.apache.spark.api.python.PythonGatewayServer"
_OWN_WORDS = (
    *("HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_DIST_CLASSPATH", "SPARK_SUBMIT_OPTS", "SPARK_PREPEND_CLASSES"),
    *("PYSPARK_SUBMIT_ARGS", "PYSPARK_GATEWAY_PORT"),
)
"""Variables that only Spark's scripts understand."""
_OWN_FILES = ("spark-env.sh", "log4j2.properties")
_LATER = (
    *("spark.authenticate", "spark.cores.", "spark.executor.", "spark.executorEnv."),
    *("spark.network.", "spark.rpc.", "spark.task."),
)
"""How keys begin that an application may have after its Java process has begun."""
_LOOK_SECONDS = 0.01


class SparkJava:
    """One process, begun by `begin_java`. `gateway` is called once, or `end`; before that perhaps `warm`."""

    def __init__(self, process: subprocess.Popen[bytes], directory: Path, defaults: Path | None) -> None:
        self._process, self._directory, self._defaults = process, directory, defaults
        self._gateway: Any = None

    @property
    def ended(self) -> bool:
        """Whether it is gone, however long ago."""
        return self._process.poll() is not None

    def warm(self) -> None:
        """Wait until it listens, and have it load and compile what an application needs, by one that reaches nobody. Blocks for seconds.

        That one listens too, on this machine: only who has a secret of its own, which goes with it, is heard.

        Raises:
            BrokenError: it has ended.
            Exception: what py4j raises.
        """
        self._gateway = self.gateway()
        take_no_arrays(self._gateway)
        java = self._gateway.jvm
        conf = java.SparkConf(False).setMaster("local[1]").setAppName("ready").set("spark.ui.enabled", "false")
        conf = conf.set("spark.authenticate", "true")
        for key in ("spark.driver.host", "spark.driver.bindAddress"):
            conf = conf.set(key, "127.0.0.1")
        context = java.JavaSparkContext(conf)
        rows = java.java.util.ArrayList()
        rows.add(0)
        context.parallelize(rows, 1).count()
        context.stop()
        # Spark has put the secret it drew into the user's credentials, where the next application would find it before its own
        java.org.apache.hadoop.security.UserGroupInformation.setLoginUser(None)

    def gateway(self) -> Any:
        """What `pyspark.java_gateway.launch_gateway` returns, once it listens. Blocks.

        Raises:
            BrokenError: it has ended.
        """
        if self._gateway is not None:
            return self._gateway
        from pyspark.java_gateway import launch_gateway  # noqa: PLC0415 - Java has begun before Python's side is loaded

        said, pause = self._directory / "gateway", Event()
        while not said.exists():
            if self._process.poll() is not None:
                self.end()
                raise BrokenError(f"Spark's process {self._process.pid} ended with status {self._process.returncode}")
            pause.wait(_LOOK_SECONDS)
        content = said.read_bytes()  # a port and a secret, each of them as Java's DataOutputStream writes it
        shutil.rmtree(self._directory, ignore_errors=True)
        os.environ["PYSPARK_GATEWAY_PORT"] = str(int.from_bytes(content[:4]))
        os.environ["PYSPARK_GATEWAY_SECRET"] = content[8:].decode()
        try:
            gateway = launch_gateway()  # type: ignore[no-untyped-call]
        finally:
            for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"):
                os.environ.pop(name, None)
        gateway.proc = self._process
        if self._defaults is not None and self._defaults.exists():
            # its scripts do so; they become properties of the process, and every configuration in it begins with those
            gateway.jvm.org.apache.spark.util.Utils.loadDefaultSparkProperties(gateway.jvm.SparkConf(False), str(self._defaults))
        return gateway

    def end(self) -> None:
        """It is not needed."""
        with self._process as process:
            process.kill()
        shutil.rmtree(self._directory, ignore_errors=True)


def take_no_arrays(gateway: Any) -> None:
    """To see whether it is given an array it imports pandas, which takes as long as all else of a driver; nobody gives it any."""
    client = gateway._gateway_client  # noqa: SLF001 - there is no other way to say so
    client.converters = [one for one in client.converters or () if not type(one).__name__.startswith("Numpy")]


def begin_java(environment: Mapping[str, str] = os.environ) -> SparkJava | None:
    """Start it; None where only Spark's scripts know how: another Spark than pip's, or one with settings of its own."""
    java, spark = java_path(environment), find_spark()
    home = Path(environment.get("SPARK_HOME") or spark.home)
    settings = Path(environment.get("SPARK_CONF_DIR") or home / "conf")
    if java is None or home.resolve() != spark.home.resolve() or any(environment.get(name) for name in _OWN_WORDS):
        return None
    defaults = settings / "spark-defaults.conf"
    if any((settings / name).exists() for name in _OWN_FILES) or not fits(_keys(defaults)):
        return None
    archive = kept_archive(environment)
    try:
        return started_java(java, spark, environment, () if archive is None else archive_options(archive), defaults)
    except OSError:
        return None


def started_java(
    java: str, spark: SparkInstallation, environment: Mapping[str, str], options: Sequence[str], defaults: Path | None = None
) -> SparkJava:
    """Start it with these options of Java; `defaults` is a file with settings of Spark's, read if it is there.

    Raises:
        OSError: it cannot be started.
    """
    directory = Path(tempfile.mkdtemp(prefix="pasps-java-"))
    told = {"SPARK_HOME": str(spark.home), "SPARK_SCALA_VERSION": spark.scala, "SPARK_CONNECT_MODE": "0"}
    try:
        process = subprocess.Popen(
            driver_words(java, spark, options),
            stdin=subprocess.PIPE,  # it ends when this does
            env={**environment, **told, "_PYSPARK_DRIVER_CONN_INFO_PATH": str(directory / "gateway")},
        )
    except OSError:
        shutil.rmtree(directory, ignore_errors=True)
        raise
    return SparkJava(process, directory, defaults)


def archive_of(java: str, spark: SparkInstallation, environment: Mapping[str, str] = os.environ) -> Path:
    """Where `java_archive` keeps Spark's classes for them, if it does: among this user's caches."""
    cache = environment.get("XDG_CACHE_HOME", "")
    base = Path(cache if os.path.isabs(cache) else os.path.expanduser("~/.cache")) / "pasps"
    files = (Path(java).resolve(), (spark.home / "jars").resolve())
    said = "\n".join(f"{path}:{path.stat().st_mtime_ns if path.exists() else 0}" for path in files)
    said += f"\n{spark.jars}"
    return base / f"java-{hashlib.sha256(said.encode()).hexdigest()[:16]}.jsa"


def kept_archive(environment: Mapping[str, str] = os.environ) -> str | None:
    """The archive that a cluster's processes are told of, once it is there."""
    archive = environment.get(ARCHIVE_VARIABLE)
    return archive if archive and os.path.isfile(archive) else None


def fits(keys: Iterable[str]) -> bool:
    """Whether a process that has begun already is what an application with settings under these keys needs."""
    return all(key.startswith(_LATER) for key in keys)


def _keys(properties: Path) -> list[str]:
    """Of a file of Java properties, if it is there."""
    try:
        lines = properties.read_text(errors="replace").splitlines()
    except FileNotFoundError:
        return []
    except OSError:
        return [""]  # fits nothing
    return [re.split(r"[=:\s]", line.strip())[0] for line in lines if line.strip() and not line.strip().startswith(("#", "!"))]


def driver_words(java: str, spark: SparkInstallation, options: Sequence[str] = ()) -> list[str]:
    """The command line: nothing of an application is in it."""
    return [*java_command(java, spark, {}, (*QUICK_JAVA, *options, f"-Xmx{DRIVER_MEMORY}")), _MAIN]
