"""Runs one of the three as a process of its own, with its address space capped when asked; what it took, and what it found.

What a build says of itself tells how much of its time Java and Spark took to start: it says when it begins to count.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import IO

import psutil

from benchmarks.process_tree import TreeSampler

_SAMPLE_SECONDS = 0.2
_LAST_LINES = 3
_BEGINS = "counting\n"


@dataclass(frozen=True, slots=True)
class Count:
    """One run. `seconds` from start to end of its process, `start_seconds` of them before it began with the records.

    `cpu_seconds` are those of all its processes after that start: on a machine that others use they repeat where times do not.
    `rss_mb` is the most its processes had together. `trace` is a hash of the lines it wrote, "" when it did not get that far; `problem`
    says why.
    """

    subject: str
    seconds: float
    start_seconds: float
    cpu_seconds: float
    rss_mb: float
    trace: str
    problem: str = ""

    @property
    def work_seconds(self) -> float:
        """What the records took, their trace and the end of the process."""
        return self.seconds - self.start_seconds


class _Listener(threading.Thread):
    """Keeps what a process says, and what it had taken, after `begin`, when it said that it begins with the records."""

    def __init__(self, process: psutil.Process, stream: IO[str], begin: float) -> None:
        super().__init__(daemon=True)
        self._process, self._stream, self._begin = process, stream, begin
        self.lines: list[str] = []
        self.start_seconds = self.start_cpu_seconds = 0.0

    def run(self) -> None:
        """Until the process closes what it writes to."""
        for line in self._stream:
            if line == _BEGINS and not self.start_seconds:
                self.start_seconds = time.monotonic() - self._begin
                with suppress(psutil.Error):
                    tree = [self._process, *self._process.children(recursive=True)]
                    self.start_cpu_seconds = sum(sum(each.cpu_times()[:2]) for each in tree)
            self.lines.append(line)


def is_installed(subject: str) -> bool:
    """Whether this Python has it: DuckDB and pandas are peers, and no part of the project."""
    return find_spec(subject) is not None


def commands(records: Path, out: Path, cores: int) -> Mapping[str, tuple[Sequence[str], Path]]:
    """The three, each with the file that it writes."""
    python = [sys.executable, "-m"]
    module = "benchmarks.trace_counts"
    pasps = ["pasps", "traces", "build", str(records), "--format", "csv", "--time-column", "time", "--out", str(out / "pasps")]
    return {
        "pasps": ([*python, *pasps, "--master", f"local[{cores}]"], out / "pasps" / "trace.csv"),
        "duckdb": ([*python, f"{module}.by_duckdb", str(records), str(out / "duckdb.csv"), str(cores)], out / "duckdb.csv"),
        "pandas": ([*python, f"{module}.by_pandas", str(records), str(out / "pandas.csv")], out / "pandas.csv"),
    }


def counted(subject: str, records: Path, cores: int, cap_bytes: int | None = None) -> Count:
    """Run it once. `cap_bytes`: each of its processes may have so much address space (RLIMIT_AS)."""
    with tempfile.TemporaryDirectory(prefix="bench-traces-") as scratch:
        command, written = commands(records, Path(scratch), cores)[subject]
        begin, cpu_before = time.monotonic(), _cpu_of_children()
        process = psutil.Popen(
            [*_capped(cap_bytes), *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        listener = _Listener(process, process.stdout, begin)
        listener.start()
        sampler = TreeSampler(process.pid)
        try:
            while process.poll() is None:
                sampler.sample()
                time.sleep(_SAMPLE_SECONDS)
            seconds = time.monotonic() - begin
        finally:
            sampler.kill_leftovers()
        listener.join()
        problem = _problem(process.returncode, listener.lines)
        trace = "" if problem or not written.exists() else sha256(written.read_bytes().replace(b"\r\n", b"\n")).hexdigest()
    most = max((rss for _, rss in sampler.rss_bytes), default=0.0)
    cpu = _cpu_of_children() - cpu_before - listener.start_cpu_seconds
    return Count(subject, seconds, listener.start_seconds, cpu, most / 1e6, trace, problem)


def _cpu_of_children() -> float:
    """Of all that have ended, and of theirs that they have waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _capped(cap_bytes: int | None) -> Sequence[str]:
    """What a command is put behind, so that it and all it starts have so much address space each."""
    return [] if cap_bytes is None else ["sh", "-c", f'ulimit -v {cap_bytes // 1024} && exec "$@"', "sh"]


def _problem(code: int, said: Sequence[str]) -> str:
    if not code:
        return ""
    lines = [line.strip() for line in said if line.strip()]
    return f"exit code {code}: {'; '.join(lines[-_LAST_LINES:])[-300:]}"
