"""Spark's daemon for Python processes, from which workers are forked, with all that a worker needs loaded before: a worker that
was killed is back the sooner. Spark runs it by `spark.python.daemon.module`, as it would run `pyspark.daemon`."""

from __future__ import annotations

import runpy

import pasps.daemons.spark_worker  # noqa: F401 - loaded here, so that no fork has to

if __name__ == "__main__":
    runpy.run_module("pyspark.daemon", run_name="__main__")
