"""Runs one of the three as a process of its own, with its address space capped when asked; what it took, and what it found."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from benchmarks.process_tree import TreeSampler

_SAMPLE_SECONDS = 0.2
_LAST_LINES = 3


@dataclass(frozen=True, slots=True)
class Count:
    """One run. `seconds` from start to end of its process, `rss_mb` the most its processes had together.

    `trace` is a hash of the lines it wrote, "" when it did not get that far; `problem` says why.
    """

    subject: str
    seconds: float
    rss_mb: float
    trace: str
    problem: str = ""


def commands(records: Path, out: Path, cores: int) -> Mapping[str, tuple[Sequence[str], Path]]:
    """The three, each with the file that it writes."""
    python = [sys.executable, "-m"]
    module = "benchmarks.trace_counts"
    pasps = ["pasps", "traces", "build", str(records), "--format", "csv", "--time-column", "time", "--out", str(out / "pasps")]
    return {
        "pasps": ([*python, *pasps, "--master", f"local[{cores}]", "--quiet"], out / "pasps" / "trace.csv"),
        "duckdb": ([*python, f"{module}.by_duckdb", str(records), str(out / "duckdb.csv"), str(cores)], out / "duckdb.csv"),
        "pandas": ([*python, f"{module}.by_pandas", str(records), str(out / "pandas.csv")], out / "pandas.csv"),
    }


def counted(subject: str, records: Path, cores: int, cap_bytes: int | None = None) -> Count:
    """Run it once. `cap_bytes`: each of its processes may have so much address space (RLIMIT_AS)."""
    with tempfile.TemporaryDirectory(prefix="bench-traces-") as scratch:
        command, written = commands(records, Path(scratch), cores)[subject]
        with (Path(scratch) / "said").open("w+") as said:
            begin = time.monotonic()
            process = subprocess.Popen([*_capped(cap_bytes), *command], stdin=subprocess.DEVNULL, stdout=said, stderr=said)
            sampler = TreeSampler(process.pid)
            try:
                while process.poll() is None:
                    sampler.sample()
                    time.sleep(_SAMPLE_SECONDS)
                seconds = time.monotonic() - begin
            finally:
                sampler.kill_leftovers()
            said.seek(0)
            problem = _problem(process.returncode, said.read())
        trace = "" if problem or not written.exists() else sha256(written.read_bytes().replace(b"\r\n", b"\n")).hexdigest()
    most = max((rss for _, rss in sampler.rss_bytes), default=0.0)
    return Count(subject, seconds, most / 1e6, trace, problem)


def _capped(cap_bytes: int | None) -> Sequence[str]:
    """What a command is put behind, so that it and all it starts have so much address space each."""
    return [] if cap_bytes is None else ["sh", "-c", f'ulimit -v {cap_bytes // 1024} && exec "$@"', "sh"]


def _problem(code: int, said: str) -> str:
    if not code:
        return ""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return f"exit code {code}: {'; '.join(lines[-_LAST_LINES:])[-300:]}"
