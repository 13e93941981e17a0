"""A service under measurement: started, asked, its CPU counted, ended."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator

import psutil

from benchmarks.measure import ROOT
from benchmarks.process_tree import idle_percent

COMMANDS = {
    "pasps": ["-m", "predictor_service", "--port", "0", "--end-with-stdin"],
    "flask": ["-m", "benchmarks.predictor_subjects.flask_service"],
}
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
_READY_SECONDS = 60.0
_QUIET_PERCENT = 90.0


class Service:
    """A running service; `cpu_seconds` is of its whole tree of processes."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.port = port
        self._root = psutil.Process(process.pid)

    def cpu_seconds(self) -> float:
        """Used until now by the processes that live."""
        total = 0.0
        for process in [self._root, *self._root.children(recursive=True)]:
            with contextlib.suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                total += times.user + times.system
        return total


@contextlib.contextmanager
def running(name: str) -> Iterator[Service]:
    """The service, ready for its first request; ended with the block, and with this process."""
    process = subprocess.Popen([sys.executable, *COMMANDS[name]], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        port = int(line.rsplit(":", 1)[1])
        if name == "pasps":
            _wait_ready(port)
        yield Service(process, port)
    finally:
        process.terminate()
        process.wait(10)
        process.stdin.close()
        process.stdout.close()


def bare_fit_seconds(path: str, seconds: float, processes: int) -> float:
    """CPU seconds of one fit, mean over so many processes that fit at the same time: cores share caches and clock."""
    command = [sys.executable, "-m", "benchmarks.predictor_subjects.bare_fit", path, str(seconds)]
    environment = {**os.environ, **_ONE_THREAD}
    fitting = [subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(processes)]
    return sum(float(one.communicate()[0]) for one in fitting) / processes


def wait_until_quiet(seconds: float) -> float:
    """Wait so long at most for the machine to be 90% idle; how idle it was. Fits are niced: whatever else runs goes before them."""
    deadline = time.monotonic() + seconds
    while (idle := idle_percent(0.5)) < _QUIET_PERCENT and time.monotonic() < deadline:
        pass
    return idle


def _wait_ready(port: int) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    while True:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz") as answer:
            if json.load(answer)["status"] == "ready":
                return
        if time.monotonic() > deadline:
            raise RuntimeError(f"the service was not ready after {_READY_SECONDS:g} s")
        time.sleep(0.05)
