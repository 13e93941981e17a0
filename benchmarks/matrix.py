"""The subjects, and the runs each of them gets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import Literal

from benchmarks.measure import Measurement
from benchmarks.options import Options

Mode = Literal["full", "half", "2000/s"]
MODES: tuple[Mode, ...] = ("full", "half", "2000/s")
FIXED_RATE = 2_000.0


@dataclass(frozen=True, slots=True)
class Subject:
    """One column of the comparison: a program with its number of workers; `foreign` ones run in an environment of their own.

    `only` is the workload that it was written for, if it is not for all.
    """

    peer: str
    workers: int = 1
    tracked: bool = False
    foreign: bool = False
    only: str = ""

    @property
    def name(self) -> str:
        """How it is called in the table and by `--only`."""
        return f"{self.peer}-tracked" if self.tracked else self.peer

    @property
    def module(self) -> str:
        """The program."""
        return f"benchmarks.subjects.{self.peer.replace('-', '_')}"


SUBJECTS: tuple[Subject, ...] = (
    Subject("plain"),
    Subject("mp-lists", 1),
    Subject("mp-lists", 2),
    Subject("bytewax", 1, foreign=True),
    Subject("bytewax", 2, foreign=True),
    Subject("bytewax-batch", 1, foreign=True),
    Subject("plain-numpy", only="w4"),
    Subject("bytewax-numpy", 1, foreign=True, only="w4"),
    *(Subject("pasps-columns", workers, tracked, only="w4") for workers in (1, 2) for tracked in (False, True)),
    *(Subject(f"pasps-{bolts}", workers, tracked) for bolts in ("functions", "classes") for workers in (1, 2) for tracked in (False, True)),
)


@dataclass(frozen=True, slots=True)
class Run:
    """One measurement and what it is of."""

    subject: Subject
    workload: str
    mode: Mode
    round: int
    rate: float
    result: Measurement


def selected(only: Iterable[str], workers: Iterable[int]) -> list[Subject]:
    """The subjects whose name starts with one of `only`, with one of these numbers of workers; all where none is given."""
    starts, counts = tuple(only), set(workers)
    return [s for s in SUBJECTS if (not starts or s.name.startswith(starts)) and (not counts or s.workers in counts)]


def options_for(subject: Subject, workload: str, rate: float, seconds: float, events: int) -> Options:
    """What the subject is told."""
    return Options(workload, subject.workers, events, seconds, rate, subject.tracked)


def maximum(runs: Iterable[Run], subject: Subject, workload: str) -> float:
    """The subject's own maximum throughput, the median of what was measured; 0 when nothing was."""
    rates = [run.result.events_per_second for run in runs if (run.subject, run.workload, run.mode) == (subject, workload, "full")]
    return median(rates) if rates else 0.0
