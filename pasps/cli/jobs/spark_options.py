"""Options of the commands that run a job of Spark, and the session that they ask for."""

from __future__ import annotations

import argparse
import re
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from pasps.data.spark import is_local, spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MASTERS = ("spark://", "yarn", "k8s://")
_MASTER = "where Spark runs: local[*] is all cores of this machine, else spark://HOST:PORT or yarn (default: local[*])"
_CONF = "a property of Spark, such as spark.executor.memory=4g; may be given several times"
_MEMORY = "memory of Spark's process here, such as 4g; with a local master that is all there is (default: Spark's own, 1g)"


def add_spark_options(parser: argparse.ArgumentParser) -> None:
    """`--master`, `--conf` and `--driver-memory`."""
    group = parser.add_argument_group("Spark")
    group.add_argument("--master", metavar="URL", type=_master, default="local[*]", help=_MASTER)
    group.add_argument("--conf", metavar="KEY=VALUE", type=_property, action="append", default=[], help=_CONF)
    group.add_argument("--driver-memory", metavar="SIZE", type=_memory, help=_MEMORY)


def conf_of(options: argparse.Namespace) -> dict[str, str]:
    """Spark's properties that were asked for."""
    memory = {} if options.driver_memory is None else {"spark.driver.memory": options.driver_memory}
    return {**memory, **dict(options.conf)}


def asked_session(name: str, options: argparse.Namespace) -> AbstractContextManager[SparkSession]:
    """The session that the options ask for."""
    return spark_session(name, options.master, conf_of(options))


def _master(text: str) -> str:
    if is_local(text) or text.startswith(_MASTERS):
        return text
    raise argparse.ArgumentTypeError(f"expected local[*], local[N], spark://HOST:PORT or yarn, got {text!r}")


def _property(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.startswith("spark."):
        raise argparse.ArgumentTypeError(f"expected spark.KEY=VALUE, got {text!r}")
    return key, value


def _memory(text: str) -> str:
    if not re.fullmatch(r"[1-9]\d*[kmgt]", text.lower()):
        raise argparse.ArgumentTypeError(f"expected a size such as 512m or 4g, got {text!r}")
    return text.lower()
