"""One run of the line as a process of its own, watched from outside and bounded in time."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.process_tree import TreeSampler, highest

ROOT = Path(__file__).resolve().parents[2]
LINE = Path(__file__).with_name("line.py")

GRACE_SECONDS = 60.0
"""What a run may take for its start and its end, beside its time."""
_LOOK_SECONDS = 1.0
_END_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Ending:
    """How a process ended. `problem` is empty when it ended by itself; `cores_used` is the mean of all of its processes."""

    exit_code: int | None
    seconds: float
    cores_used: float
    rss_mb: float
    problem: str


@dataclass(frozen=True, slots=True)
class Order:
    """What is run: what is not done by `seconds` after its start is left undone; `at_start` are active replicas by bolt.

    `topology` is a file with bolts as those of the line, and by their names.
    """

    run_directory: Path
    seconds: float
    workers: int
    options: Mapping[str, str]
    at_start: Mapping[str, int]
    topology: Path = LINE


def command_of(order: Order) -> list[str]:
    """`pasps run` of it."""
    words = [sys.executable, "-m", "pasps", "run", str(order.topology), "--run-dir", str(order.run_directory), "--json", "--no-tty"]
    words += ["--workers", str(order.workers), "--duration", f"{order.seconds:g}", "--drain-timeout", "0"]
    for bolt, count in order.at_start.items():
        words += ["--scale", f"{bolt}={count}"]
    for key, value in order.options.items():
        words += ["-o", f"{key}={value}"]
    return words


def run(
    command: list[str],
    directory: Path,
    seconds: float,
    progress: Callable[[float], None],
    stopped: Callable[[], bool] = lambda: False,
) -> Ending:
    """Run `command` to its end or until `stopped`, its output in `directory`; however this is left, nothing that it started stays.

    `progress` is told the seconds so far, about once a second.
    """
    with (directory / "stdout.jsonl").open("wb") as out, (directory / "stderr.txt").open("wb") as err:
        # of its own session: Ctrl-C here must not reach it twice, once from the terminal and once from us
        child = subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=err, start_new_session=True)
    began = time.monotonic()
    sampler = TreeSampler(child.pid)
    problem = ""
    try:
        while child.poll() is None and not problem:
            elapsed = time.monotonic() - began
            progress(elapsed)
            sampler.sample()
            if elapsed > seconds + GRACE_SECONDS:
                problem = f"did not end within {seconds + GRACE_SECONDS:g} s"
            elif stopped():
                problem = "was stopped"
            else:
                _wait(child, _LOOK_SECONDS)
    finally:
        if child.poll() is None:
            child.terminate()
            _wait(child, _END_SECONDS)
        left = sampler.kill_leftovers()
        _wait(child, _END_SECONDS)
    if left and not problem:
        problem = f"left {left} processes behind"
    return _ending(child, time.monotonic() - began, sampler, problem)


def _wait(child: subprocess.Popen[bytes], seconds: float) -> None:
    try:
        child.wait(seconds)
    except subprocess.TimeoutExpired:
        return


def _ending(child: subprocess.Popen[bytes], seconds: float, sampler: TreeSampler, problem: str) -> Ending:
    cpu = sampler.cpu_seconds
    span = cpu[-1][0] - cpu[0][0] if cpu else 0.0
    cores = (cpu[-1][1] - cpu[0][1]) / span if span > 0 else 0.0
    rss = highest(sampler.rss_bytes, float("-inf"), float("inf")) or 0.0
    return Ending(child.returncode, round(seconds, 1), round(cores, 3), round(rss / 2**20, 1), problem)
