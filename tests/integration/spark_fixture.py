"""The Spark session that the tests of pasps.data share: import `spark` into a module whose tests take it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from pasps.data.spark import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONF = {
    # what tests give it is small: few partitions, and no time for the compiler's last optimizations
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
}


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Started once, whichever modules import it; what is called in this process and asks for a session shares it."""
    with spark_session("tests", "local[2]", CONF) as session:
        yield session
