"""`pasps traces build` as a process of its own: it leaves nothing behind, however it ends."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from pyspark import SparkContext

from pasps.cli import exit_codes
from pasps.data import spark_process
from pasps.data.spark import settings
from tests.integration.running import as_in_a_terminal, until


@pytest.mark.parametrize("who", ["by Ctrl-C", "by the death of Java"])
def test_a_build_that_is_ended_leaves_nothing(tmp_path: Path, who: str) -> None:
    records = tmp_path / "records.log"
    records.write_text("230517 081530 17 INFO dfs.DataNode: x\n" * 100_000)
    said = tmp_path / "said"
    words = ["traces", "build", "--format", "hdfs", *[str(records)] * 300, "--out", str(tmp_path / "out")]
    with said.open("wb") as err:
        process = psutil.Popen([sys.executable, "-m", "pasps", *words], stderr=err, preexec_fn=as_in_a_terminal)
    try:
        until(lambda: "counting" in said.read_text() or process.poll() is not None, "the count to begin")
        java = process.children(recursive=True)
        assert java
        if who == "by Ctrl-C":
            process.send_signal(signal.SIGINT)
            assert process.wait(100) == 128 + signal.SIGINT
        else:
            for each in java:
                with suppress(psutil.NoSuchProcess):  # Spark's Python processes come and go
                    each.kill()
            assert process.wait(100) == exit_codes.BROKEN
    finally:
        if process.is_running():
            process.kill()
    assert not psutil.wait_procs(java, 60)[1]
    lines = [line for line in said.read_text().splitlines() if not re.search(r", \d:\d\d:\d\d$", line)]
    assert lines[:2] == ["starting Spark", "counting"]
    ended = "pasps traces: Spark's process has ended, and did not say why; was it killed?"
    assert lines[2:] == ([] if who == "by Ctrl-C" else [ended])
    assert {path.name for path in tmp_path.iterdir()} == {"records.log", "said"}


HANGS = """
import os, signal
from pasps.data import spark_process
from pasps.data.spark import settings

spark_process._END_SECONDS = 1.0
with spark_process.own_session(settings("test", "local[1]", {})) as session:
    os.kill(session.sparkContext._gateway.proc.pid, signal.SIGSTOP)
    raise KeyboardInterrupt
"""


def test_a_spark_that_hangs_is_ended_and_nothing_is_said_of_it() -> None:
    ended = subprocess.run([sys.executable, "-c", HANGS], check=False, capture_output=True, text=True, timeout=100)
    assert ended.stderr.splitlines()[-1] == "KeyboardInterrupt"
    assert "Warning" not in ended.stderr
    assert "Exception" not in ended.stderr


class Gateway:
    """A Java process as pyspark hands it out, which is none of Java's."""

    def __init__(self) -> None:
        self.proc = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def shutdown(self) -> None:
        """As py4j's."""


def test_ctrl_c_while_java_starts_waits_for_it_and_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Gateway] = []

    def launch(*_: Any) -> Gateway:
        os.kill(os.getpid(), signal.SIGINT)
        started.append(Gateway())
        return started[0]

    monkeypatch.setattr(spark_process, "launch_gateway", launch)
    for name in ("_gateway", "_jvm"):
        # those of the session that the tests share come back
        monkeypatch.setattr(SparkContext, name, None)
    # the tests may run where SIGINT is ignored, as in a background job of a shell
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), spark_process.own_session(settings("test", "local[1]", {})):
            pass
    finally:
        signal.signal(signal.SIGINT, before)
    assert started[0].proc.poll() is not None
