"""Whether the aim is reached: `pasps`, over its target utilisation, below every point of the papers' policies. Pure.

A point is a run's saved resources and its mean latency. The curve goes through the points of `pasps` in the order of what they
save, straight from one to the next. It is judged at what the other policy saves:

- within the curve: the curve's latency there must be lower;
- less than the curve's first point saves: that point's latency must be lower, for it saves more as well;
- more than its last point saves: not reached, however low the last point's latency is, for nothing of `pasps` saves as much.

Runs that find their utilisation themselves, for a latency that is to be kept, are no points of the curve. Who knows what comes is told
apart, by mean and by p99: the aim there is to be level.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from benchmarks.elasticity.outcomes import Numbers
from pasps.simulation.forecasters import CLAIRVOYANT

STEADY = "static-8"
"""The whole pool all the time: the latency to approach."""
PAPERS = ("presps", "pa-sps")
_OURS = "pasps"


@dataclass(frozen=True, slots=True)
class Row:
    """A run, or the mean of its repetitions."""

    name: str
    policy: str
    numbers: Numbers
    repeats: int = 1
    margins: Mapping[str, float] = field(default_factory=dict)
    """Half of the 95% interval of a mean, of those that have one."""
    kind: str = ""
    detail: str = ""
    """What it is, in words: a detail of a kind."""
    pace_seconds: float | None = None
    """How often one of the papers' policies decides."""
    latency_target: float | None = None
    kept: tuple[int, int] | None = None
    """Minutes in which p95 was within `latency_target`, of those in which it was in the run of `STEADY` of the same round."""

    @property
    def words(self) -> str:
        """All of it, for people; the name where nobody said more."""
        return f"{self.kind}, {self.detail}" if self.kind else self.name


@dataclass(frozen=True, slots=True)
class Judged:
    """A point of another policy against the curve: `curve` is its latency there, None when it does not save as much.

    `latency` is the mean, unless `what` says p99.
    """

    name: str
    saved: float
    latency: float
    curve: float | None
    what: str = "mean"

    @property
    def below(self) -> bool:
        """Whether the curve lies below it."""
        return self.curve is not None and self.curve < self.latency


@dataclass(frozen=True, slots=True)
class Verdict:
    """`runs` are ours, `ratios` their mean latencies over that of `STEADY`, `incomplete` those that did not process everything."""

    runs: tuple[str, ...]
    judged: tuple[Judged, ...]
    ratios: Mapping[str, float]
    incomplete: tuple[str, ...]
    beside: tuple[Judged, ...] = ()
    """The curve beside who knows what comes."""

    @property
    def reached(self) -> bool | None:
        """The whole aim; None while there is nothing to compare."""
        if not self.judged or not self.runs:
            return None
        return not self.incomplete and all(judged.below for judged in self.judged)


def verdict_of(rows: Sequence[Row]) -> Verdict:
    """Judge a comparison."""
    curve = curve_of(rows)
    judged = [
        Judged(row.name, *point, latency_at(curve, point[0])) for row in rows if row.policy in PAPERS and (point := _point(row)) is not None
    ]
    steady = next((row.numbers.mean for row in rows if row.name == STEADY), None)
    ours = [row for row in rows if row.policy == _OURS]
    ratios = {row.name: row.numbers.mean / steady for row in ours if steady and row.numbers.mean is not None}
    incomplete = tuple(row.name for row in ours if row.numbers.processed < 1 or row.numbers.lost)
    beside = tuple(
        Judged(row.name, *point, latency_at(curve_of(rows, what), point[0]), what)
        for row in rows
        if row.policy == CLAIRVOYANT
        for what in ("mean", "p99")
        if (point := _point(row, what)) is not None
    )
    return Verdict(tuple(row.name for row in ours), tuple(judged), ratios, incomplete, beside)


def curve_of(rows: Sequence[Row], what: str = "mean") -> list[tuple[float, float]]:
    """What `pasps` saves and its latency, mean or p99, over its target utilisation."""
    swept = [row for row in rows if row.policy == _OURS and row.latency_target is None]
    return sorted(point for row in swept if (point := _point(row, what)) is not None)


def latency_at(curve: Sequence[tuple[float, float]], saved: float) -> float | None:
    """The latency of a curve, given by points in order, at what is saved; None beyond its last point."""
    if not curve or saved > curve[-1][0]:
        return None
    if saved <= curve[0][0]:
        return curve[0][1]
    for (low, first), (high, second) in pairwise(curve):
        if low <= saved <= high and low < high:
            return first + (second - first) * (saved - low) / (high - low)
    return curve[-1][1]


def _point(row: Row, what: str = "mean") -> tuple[float, float] | None:
    saved, latency = row.numbers.saved, row.numbers.mean if what == "mean" else row.numbers.p99
    return None if saved is None or latency is None else (saved, latency)
