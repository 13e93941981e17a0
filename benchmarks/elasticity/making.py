"""Makes runs, one after the other or some beside each other, and tells on stderr how it goes on; each kind of comparison calls it."""

from __future__ import annotations

import math
import signal
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import NoReturn

from benchmarks.elasticity.comparison import SETTLE_SECONDS, Comparison, Turn
from benchmarks.elasticity.outcomes import Result

INTERRUPTED = 130
_START_SECONDS = 5.0
"""About what a run takes beside its trace."""


@dataclass(frozen=True, slots=True)
class Job:
    """A run that is to be made, and of which comparison."""

    comparison: Comparison
    turn: Turn


def make(jobs: Sequence[Job], beside: int = 1) -> list[Result]:
    """What came of each, in order; so many at a time. Blocks for as long as they take; what is interrupted leaves no result."""
    if not jobs:
        return []
    return _one_by_one(jobs) if beside == 1 else _together(jobs, beside)


def seconds_for(jobs: Sequence[Job], beside: int = 1) -> float:
    """About how long they take, when each ends as soon as its trace does."""
    each = [job.comparison.prepared.seconds + SETTLE_SECONDS + _START_SECONDS for job in jobs]
    return sum(each) if beside == 1 else math.ceil(len(each) / beside) * max(each, default=0.0)


def interrupt_on_sigterm() -> None:
    """From now on SIGTERM is what Ctrl-C is: no run stays behind."""
    signal.signal(signal.SIGTERM, _interrupt)


def tell_interrupted() -> int:
    """Say that it can be gone on with; the exit code for that."""
    print("\ninterrupted; the same command goes on with the run that was under way", file=sys.stderr)
    return INTERRUPTED


def span(seconds: float) -> str:
    """For people."""
    minutes = round(seconds / 60)
    return f"{seconds:.0f} s" if seconds < 90 else f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"


def _one_by_one(jobs: Sequence[Job]) -> list[Result]:
    found = []
    for number, job in enumerate(jobs):
        left = seconds_for(jobs[number:])
        line = f"[{number + 1}/{len(jobs)}] {job.turn.name}"
        _say(f"{line}: {span(left)} to go")
        found.append(job.comparison.make(job.turn, partial(_progress, line, left)))
        _say(f"{line}: {_outcome(found[-1])}")
    return found


def _together(jobs: Sequence[Job], beside: int) -> list[Result]:
    """What else goes on is then the same for all that are compared."""
    found, stopped = list[Result](), threading.Event()
    _say(f"{len(jobs)} runs, {beside} at a time: {span(seconds_for(jobs, beside))} to go")

    def make_one(job: Job) -> Result:
        return job.comparison.make(job.turn, lambda seconds: None, stopped.is_set)

    with ThreadPoolExecutor(beside) as pool:
        try:
            for job, result in zip(jobs, pool.map(make_one, jobs), strict=True):
                found.append(result)
                _say(f"[{len(found)}/{len(jobs)}] {job.turn.name}: {_outcome(result)}")
        except BaseException:
            stopped.set()
            pool.shutdown(cancel_futures=True)
            raise
    return found


def _outcome(result: Result) -> str:
    numbers = result.numbers
    if numbers is None:
        return f"FAILED, {result.problem}"
    mean = "not known" if numbers.mean is None else f"{numbers.mean * 1000:,.0f} ms"
    return f"saved {numbers.saved or 0.0:.1%}, mean latency {mean}, processed {numbers.processed:.2%}, after {result.seconds:g} s"


def _progress(line: str, left: float, seconds: float) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{line}: {seconds:.0f} s, {span(max(0.0, left - seconds))} to go", end="", file=sys.stderr, flush=True)


def _say(line: str) -> None:
    print(f"\r\x1b[K{line}" if sys.stderr.isatty() else line, file=sys.stderr, flush=True)


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
