"""What was measured here and in the cluster, one right after the other, and the ratios of the two. Pure.

A ratio is taken within a pair, so that what drifts on the machine drifts for both; more is better for the cluster in all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Literal

from benchmarks.matrix import FIXED_RATE, Mode, Subject
from benchmarks.measure import Measurement

Place = Literal["here", "cluster"]
AIM = 0.8
"""The least of `pasps run` that the cluster is to reach."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One round of one subject: `here` by `pasps run`, `cluster` submitted; `first` was measured first."""

    subject: Subject
    workload: str
    mode: Mode
    round: int
    rate: float
    first: Place
    here: Measurement
    cluster: Measurement

    @property
    def speed_ratio(self) -> float | None:
        """The cluster's events per second over those here."""
        return _ratio(self.cluster.events_per_second, self.here.events_per_second)

    @property
    def p50_ratio(self) -> float | None:
        """The median latency here over that in the cluster."""
        return _ratio(self.here.p50_ms, self.cluster.p50_ms)

    @property
    def p99_ratio(self) -> float | None:
        """The same of the 99th percentile."""
        return _ratio(self.here.p99_ms, self.cluster.p99_ms)

    @property
    def problems(self) -> list[str]:
        """What was wrong with one of the two."""
        name = f"{self.workload} {self.subject.name} x{self.subject.workers} {self.mode}, round {self.round + 1}"
        sides = (("pasps run", self.here), ("cluster", self.cluster))
        return [f"{name}, {side}: {result.problem}" for side, result in sides if result.problem]


def order(turn: int) -> tuple[Place, Place]:
    """Who is measured first takes turns."""
    return ("cluster", "here") if turn % 2 else ("here", "cluster")


def offered(mode: Mode, pairs: Iterable[Pair], subject: Subject, workload: str) -> float | None:
    """The rate for both: 0 is full speed; half is half of what the slower of the two can do. None: that was not measured."""
    if mode == "full":
        return 0.0
    if mode == "2000/s":
        return FIXED_RATE
    full = [pair for pair in pairs if (pair.subject, pair.workload, pair.mode) == (subject, workload, "full")]
    if not full:
        return None
    slower = min(median(pair.here.events_per_second for pair in full), median(pair.cluster.events_per_second for pair in full))
    return slower / 2 or None


def cells(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    """The pairs of each subject, workload and mode, in the order in which they were measured first."""
    found: dict[tuple[Subject, str, Mode], list[Pair]] = {}
    for pair in pairs:
        found.setdefault((pair.subject, pair.workload, pair.mode), []).append(pair)
    yield from found.values()


def middle(values: Iterable[float | None]) -> float | None:
    """The median of those that there are."""
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _ratio(above: float | None, below: float | None) -> float | None:
    return above / below if above and below else None
