"""Opens a Spark session that is quiet, counts in UTC, and leaves nothing behind; all jobs of pasps.data run in one.

pyspark is optional, so what knows it (spark_process) is imported when the first session is opened.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING

from pasps.cluster.launch.java import MissingSparkError, find_java, spark_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NO_CONF: Mapping[str, str] = MappingProxyType({})
SESSION_CONF: Mapping[str, str] = MappingProxyType(
    {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.ansi.enabled": "true",
        # else a time that an older Spark could have read ends the job instead of being no time
        "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    }
)
"""What every session of ours has, whoever started Spark."""

_APPLICATION_CONF = MappingProxyType({"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"})
_LOCAL_CONF = MappingProxyType({"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"})
_PROCESS = "pasps.data.spark_process"


@contextmanager
def spark_session(name: str, master: str = "local[*]", conf: Mapping[str, str] = NO_CONF) -> Iterator[SparkSession]:
    """A session for one job; on return Spark is stopped, and its process ended.

    When Spark runs in this process already, that is used, in a session of our own, and not stopped: name, master, and what of `conf`
    is not of a session, are those of whoever started it.

    Args:
        name: of the application, as a cluster's pages show it.
        master: `local[N]`, `local[*]`, `spark://HOST:PORT`, `yarn`.
        conf: Spark's properties; they win over ours.

    Raises:
        MissingJavaError, MissingSparkError: not on this machine; says what to do.
        BrokenError: Spark does not start, or what runs in the session fails in Spark, in one line.
        InvalidError: Spark was given something that is not there, such as a path.
    """
    properties = settings(name, master, conf)
    if "pyspark" in sys.modules and (process := importlib.import_module(_PROCESS)).is_running():
        with process.shared_session(properties) as session:
            yield session
        return
    find_java()
    spark_home()
    try:
        process = importlib.import_module(_PROCESS)
    except ImportError as error:
        raise MissingSparkError(f"pyspark cannot be imported ({error}); install it with `pip install 'pasps[spark]'`") from error
    with process.own_session(properties) as session:
        yield session


def settings(name: str, master: str, conf: Mapping[str, str]) -> dict[str, str]:
    """Spark's properties for an application. Pure."""
    local = _LOCAL_CONF if is_local(master) else NO_CONF
    return {"spark.master": master, "spark.app.name": name, **_APPLICATION_CONF, **SESSION_CONF, **local, **conf}


def is_local(master: str) -> bool:
    """Whether all of Spark is in one process, on this machine. Pure."""
    return master == "local" or master.startswith("local[")
