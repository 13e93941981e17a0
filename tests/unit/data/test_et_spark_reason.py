"""Why a pass was not done, found in what Spark says of its job."""

from __future__ import annotations

import pytest

from pasps.data.et_spark import reason_in

JOB = "An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collectAndServe.\n: org.apache.spark.SparkException: Job"
STACK = "\n\tat org.apache.spark.scheduler.Task.run(Task.scala:141)\n"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            f"{JOB} aborted: An exception was thrown from the Python worker:\nTraceback (most recent call last):\n"
            f"  File \"shop.py\", line 3, in process\n    sys.exit(3)\nModuleNotFoundError: No module named 'shop'\n{STACK}",
            "ModuleNotFoundError: No module named 'shop'",
        ),
        (
            f"{JOB} aborted: Python worker exited unexpectedly (crashed). Consider setting this.{STACK}Caused by: java.io.EOFException",
            "Python worker exited unexpectedly (crashed); what it wrote to stderr may say why",
        ),
        (
            f"{JOB} aborted{STACK}ExecutorLostFailure (executor 0 exited)\nCaused by: java.io.IOException: gone",
            "ExecutorLostFailure (executor 0 exited); Caused by: java.io.IOException: gone",
        ),
        ("something else", "something else"),
    ],
)
def test_the_reason_is_one_line_without_stack_traces(text: str, reason: str) -> None:
    assert reason_in(text) == reason
