"""What a policy decides from: the topology's shape, one interval's numbers, what was learned so far, and the forecast.

Immutable, and all of it JSON, so that a decision can be written down and made again. Pure.
What there is of each bolt are structs, as in `plan`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from msgspec import Struct
from msgspec import field as struct_field

from pasps.control.plan import Reconfigure

Moment = Literal["cycle", "correction", "timetable"]
"""A decision at the end of an interval td, one in between, or a step that the last plan laid down and no policy is asked for."""

INPUT: Final = ""
"""The series of what becomes due at all spouts together; a bolt's series, what it receives, has the bolt's name."""


@dataclass(frozen=True, slots=True)
class BoltShape:
    """What of a bolt stays as it is while it runs. `waits`: it runs on threads or awaits, so its replicas need no core each."""

    id: str
    pool: int
    sources: tuple[str, ...]
    waits: bool = False
    concurrency: int = 1
    keyed: bool = False


@dataclass(frozen=True, slots=True)
class TopologyShape:
    """The spouts, and the bolts in topological order."""

    spouts: tuple[str, ...]
    bolts: tuple[BoltShape, ...]


@dataclass(frozen=True, slots=True)
class SpoutInterval:
    """A spout in one interval. `backlog` at its end; `lower_bound`: it was held back and cannot tell what became due."""

    due: float
    emitted: int
    backlog: int = 0
    lower_bound: bool = False


class BoltInterval(Struct, frozen=True):
    """A bolt in one interval: λ_i^p by source, μ_i, q_i at its end, and the seconds its replicas spent on μ_i.

    `replicas` has for each replica that finished something: μ_ij and its seconds. `blocks`: it waits on the loops of its workers,
    and those seconds are wall time.
    """

    received: Mapping[str, int]
    processed: int
    queued: int
    active: int
    seconds: float = 0.0
    replicas: Mapping[int, tuple[int, float]] = struct_field(default_factory=dict)
    blocks: bool = False


@dataclass(frozen=True, slots=True)
class Interval:
    """The difference of two complete snapshots. Times are the topology's uptime in seconds; `versions` those of the table.

    `busy` is the share of all cores' time that anybody used; None: not known. `left_out` says why what was before it is not
    known, where it could begin no earlier.
    """

    number: int
    began: float
    ended: float
    spouts: Mapping[str, SpoutInterval]
    bolts: Mapping[str, BoltInterval]
    versions: tuple[int, int] = (1, 1)
    workers: int = 1
    cores: int = 1
    busy: float | None = None
    left_out: str = ""

    @property
    def seconds(self) -> float:
        """How long it was."""
        return self.ended - self.began

    @property
    def due(self) -> float:
        """λ_G: the events that became due."""
        return sum(spout.due for spout in self.spouts.values())

    @property
    def lower_bound(self) -> bool:
        """Whether λ_G may have been more than was seen."""
        return any(spout.lower_bound for spout in self.spouts.values())


class BoltSecond(Struct, frozen=True):
    """A bolt in one second: what it received and finished, what was queued and how many replicas were active at its end.

    `seconds` are those that its replicas spent; `cpu` the same as CPU time, None where they wait: then nobody can tell.
    """

    received: int
    processed: int
    queued: int
    active: int
    seconds: float = 0.0
    cpu: float | None = None


@dataclass(frozen=True, slots=True)
class Second:
    """One second of the run: when it ended, how long it really was (a snapshot may come late), and what it brought.

    `backlog` is what was held back at its end, by spout; who has none is not in it.
    `latency` are the tracked events that were done in it, as a `Histogram`'s buckets of seconds since they were due.
    """

    ended: float
    seconds: float
    due: float
    bolts: Mapping[str, BoltSecond]
    backlog: Mapping[str, int] = field(default_factory=dict)
    latency: Mapping[int, int] = field(default_factory=dict)


class ReplicaInterval(Struct, frozen=True):
    """A replica in the interval: where it is, what it finished, the seconds and CPU seconds (None: not known) of that, its queue."""

    worker: str
    state: str
    processed: int
    seconds: float
    cpu: float | None
    queued: int


@dataclass(frozen=True, slots=True)
class WorkerInterval:
    """A worker's process in the interval: its host, the cores that it may use there, and the CPU seconds it used; None: not known."""

    host: str | None
    cores: int | None
    cpu: float | None


class ExecutionTime(Struct, frozen=True):
    """et_i, and where it comes from: the benchmark's file, this interval (live), an earlier one (last), or nowhere."""

    seconds: float | None
    source: Literal["file", "live", "last", "unknown"]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Estimates:
    """What was learned so far. `selectivity` is θ_i^p by bolt and source, `share` θ_i by component, spouts included.

    `active`: how many replicas of all bolts were active when each execution time was measured.
    """

    selectivity: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    share: Mapping[str, float] = field(default_factory=dict)
    execution: Mapping[str, ExecutionTime] = field(default_factory=dict)
    active: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Player:
    """A model in a tournament: what a forecast of it cost of late, in events, and how much of the forecast is its."""

    name: str
    cost: float
    weight: float


@dataclass(frozen=True, slots=True)
class Forecast:
    """Events expected in each step of `step_seconds` after `made_at` (the topology's uptime). `why` it is not the predictor's own.

    `quantiles`, of the running sum: at 0.9, step by step, what so many steps together exceed in one case of ten. Those of single
    steps could not be added up. Empty: nobody said how sure it is. `players`: what it was mixed from, the heaviest first, if anything.
    """

    made_at: float
    predictions: tuple[float, ...]
    model: str
    source: Literal["predictor", "last good", "basic"] = "predictor"
    why: str = ""
    step_seconds: float = 1.0
    quantiles: Mapping[float, tuple[float, ...]] = field(default_factory=dict)
    players: tuple[Player, ...] = ()

    @property
    def mean(self) -> tuple[float, ...]:
        """What is expected of each step: `predictions`."""
        return self.predictions

    def total(self, now: float, seconds: float) -> float:
        """Events expected in the `seconds` after `now`. What lies beyond the predictions is as their mean."""
        if not self.predictions:
            return 0.0
        begin = max(0.0, now - self.made_at) / self.step_seconds
        end, last = begin + seconds / self.step_seconds, float(len(self.predictions))
        first, stop = int(min(begin, last)), math.ceil(min(end, last))
        within = self.predictions[first:stop]
        whole = sum(within)
        if within:
            whole -= within[0] * (begin - first) + within[-1] * (stop - min(end, last))
        beyond = end - max(begin, last)
        return whole + beyond * sum(self.predictions) / last if beyond > 0 else whole

    def total_at(self, quantile: float, now: float, seconds: float) -> float:
        """What the events of the `seconds` after `now` exceed with a probability of 1 - `quantile`; never below 0.

        Between the quantiles that are there it is on the line, outside of them as at the last one; without any it is `total`.
        When time has passed since it was made, it is off what is expected by as much as a sum of that length was then, or by the
        span's part of what the sum up to its end is, whichever is more.
        """
        expected = self.total(now, seconds)
        if not self.quantiles or not self.predictions or seconds <= 0:
            return expected
        end = max(0.0, now - self.made_at) + seconds
        offs = (self._off(quantile, seconds), self._off(quantile, end) * seconds / end)
        return max(0.0, expected + max(offs, key=abs))

    def _off(self, quantile: float, seconds: float) -> float:
        """By how much that quantile of the first `seconds` lies above what is expected of them."""
        known = sorted(self.quantiles)
        above = next((place for place, each in enumerate(known) if each >= quantile), len(known) - 1)
        high = known[above]
        low = known[above - 1] if above > 0 and high > quantile else high
        found = [_read_off(self.quantiles[each], seconds / self.step_seconds) for each in (low, high)]
        part = min(1.0, (quantile - low) / (high - low)) if high > low else 0.0
        steps = min(seconds, len(self.predictions) * self.step_seconds)
        off = found[0] + part * (found[1] - found[0]) - self.total(self.made_at, steps)
        return off * seconds / steps


def _read_off(sums: tuple[float, ...], steps: float) -> float:
    """The running sum after so many steps, between two of them on the line, beyond the last one as there."""
    whole = int(steps)
    if whole >= len(sums):
        return sums[-1]
    before = sums[whole - 1] if whole else 0.0
    return before + (sums[whole] - before) * (steps - whole)


@dataclass(frozen=True, slots=True)
class PolicySettings:
    """td and the guards. None: the policy's own choice. `drain_seconds`: the time within which a queue should be gone.

    `reconfigure` is how plans are carried out, whatever they say themselves.
    """

    interval_seconds: float = 30.0
    correction_seconds: float = 1.0
    queue_share: Literal["paper", "edge"] | None = None
    target_utilisation: float | None = None
    scale_down_plans: int | None = None
    drain_seconds: float | None = None
    static_replicas: int | None = None
    reconfigure: Reconfigure | None = None


@dataclass(frozen=True, slots=True)
class Situation:
    """All that a policy may look at.

    `interval` is the last whole td; in a correction, the last td seconds or as much as there was. `arrivals` are the events that
    became due in each of the last seconds, `recent` what the last decisions asked for by bolt before any delay; newest last.

    What follows is there for policies whose `Needs` ask for it. `history` are the last seconds, newest last; `bolt_forecasts` those
    of what each bolt receives; `replicas`, by bolt and index, and `workers` are of the interval. `memory` is what the policy's last
    plan left, as JSON reads it; None before the first.
    """

    moment: Moment
    shape: TopologyShape
    interval: Interval
    estimates: Estimates
    forecast: Forecast | None
    settings: PolicySettings = PolicySettings()
    arrivals: tuple[float, ...] = ()
    recent: tuple[Mapping[str, int], ...] = ()
    history: tuple[Second, ...] = ()
    bolt_forecasts: Mapping[str, Forecast] = field(default_factory=dict)
    replicas: Mapping[str, Mapping[int, ReplicaInterval]] = field(default_factory=dict)
    workers: Mapping[str, WorkerInterval] = field(default_factory=dict)
    memory: Any = None

    @property
    def forecasts(self) -> dict[str, Forecast]:
        """By series: that of the input, under `INPUT`, and those of the bolts."""
        return ({} if self.forecast is None else {INPUT: self.forecast}) | dict(self.bolt_forecasts)
