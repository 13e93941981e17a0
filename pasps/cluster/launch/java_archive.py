"""Spark's classes as Java has them once they are loaded, in a file that its next processes map: a third less to do at their start.

`python -m pasps.cluster.launch.java_archive` makes it, once for a Java and a Spark, and is back at once where it is. Java itself sees to it
that an archive which fits no more is not used.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

from pyspark import SparkConf, SparkContext

from pasps.cluster.launch.java import java_path
from pasps.cluster.launch.spark_daemons import HOST, SparkInstallation, find_spark
from pasps.cluster.launch.spark_java import archive_of, started_java
from pasps.errors import BrokenError

_NICE = 19
_SCRATCH = ".java-"
_USED_LATER = (
    "org.apache.spark.deploy.client.StandaloneAppClient",
    "org.apache.spark.executor.CoarseGrainedExecutorBackend",
    "org.apache.spark.scheduler.cluster.StandaloneSchedulerBackend",
)
"""What an application on one machine needs beside what one in one process does."""


def make_archive(java: str, spark: SparkInstallation, archive: Path) -> None:
    """Run a small application of Spark, and keep what it has loaded; nothing happens while another process does. Blocks.

    It takes some ten seconds of a processor.

    Raises:
        BrokenError: Java did not make one.
        OSError: it cannot be written.
    """
    archive.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (archive.parent / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        for left in archive.parent.glob(f"{_SCRATCH}*"):  # by one that was killed
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=archive.parent) as scratch:
            made = Path(scratch) / archive.name
            _application(java, spark, [f"-XX:ArchiveClassesAtExit={made}", "-Xlog:cds=off", "-Xlog:cds+dynamic=off"])
            if not made.is_file():
                raise BrokenError(f"{java} made no archive of Spark's classes; topologies start without it, only later")
            made.replace(archive)


def _application(java: str, spark: SparkInstallation, options: list[str]) -> None:
    conf = SparkConf(loadDefaults=False)
    settings = {"spark.master": "local[1]", "spark.app.name": "archive", "spark.ui.enabled": "false"}
    for key, value in {**settings, "spark.driver.host": HOST, "spark.driver.bindAddress": HOST}.items():
        conf.set(key, value)
    gateway = started_java(java, spark, os.environ, options).gateway()
    context, jvm = SparkContext(gateway=gateway, conf=conf), gateway.jvm
    rows = jvm.java.util.ArrayList()
    rows.add("")
    context._jsc.parallelize(rows, 1).pipe(["true"], {}).count()  # noqa: SLF001 - as `spark_launcher` does
    for name in _USED_LATER:
        jvm.java.lang.Class.forName(name)
    context.stop()
    gateway.proc.stdin.close()  # it ends with it, and writes the archive
    gateway.proc.wait()


def main() -> None:
    """Entry point of the process: makes it, unless it is there."""
    os.nice(_NICE)  # nobody waits for it
    java, spark = java_path(), find_spark()
    if java is not None and not (archive := archive_of(java, spark)).is_file():
        make_archive(java, spark, archive)


if __name__ == "__main__":
    main()
