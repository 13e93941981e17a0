"""Spark's daemon for Python processes, from which workers are forked, with all that a worker needs loaded before: a worker that
was killed is back the sooner. Spark runs it by `spark.python.daemon.module`, as it would run `pyspark.daemon`."""

from __future__ import annotations

import importlib
import os
import runpy
import sys
from collections.abc import Iterable
from pathlib import Path

from pasps.cluster.tokens import SECRET_VARIABLES

_ARCHIVES = "python/lib"


def without_archives(path: Iterable[str]) -> list[str]:
    """A `sys.path` without the zips of PySpark and Py4J that Spark puts first, where the same PySpark is installed unpacked.

    Nothing in a zip is compiled beforehand: whatever is loaded from it is compiled anew by every process.
    """
    entries = [*path]
    for entry in entries:
        if entry.endswith(f"/{_ARCHIVES}/pyspark.zip"):
            home = Path(entry).parents[2]
            if home.name == "pyspark" and (home / "__init__.py").is_file() and str(home.parent) in entries:
                return [one for one in entries if not (one.startswith(f"{home}/{_ARCHIVES}/") and one.endswith(".zip"))]
    return entries


def main() -> None:
    """Entry point of the process."""
    kept = {name: value for name, value in os.environ.items() if name not in SECRET_VARIABLES}
    if len(kept) < len(os.environ):
        # begun again, since what a process began with stays readable in /proc, whatever it drops: a standalone Spark gives its own
        # secret to executors, and what it was started with itself
        os.execve(sys.executable, sys.orig_argv, kept)
    sys.path[:] = without_archives(sys.path)
    # loaded here, so that no fork has to; not `pyspark.worker`, which may bring libraries that start threads, and those no fork has
    for name in ("pasps.daemons.spark_worker", "pasps.cluster.spark_launcher"):
        importlib.import_module(name)
    runpy.run_module("pyspark.daemon", run_name="__main__")


if __name__ == "__main__":
    main()
