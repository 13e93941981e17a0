"""Monitor: complete snapshots in, one interval's numbers and the input of each second out. Pure; the loop calls it.

Counters are cumulative, so an interval is the difference of two snapshots, and a second's input lies on the line between two.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from pasps.api.blueprint import Blueprint, ComponentPlan
from pasps.api.bolt import Bolt
from pasps.config import merged
from pasps.control.situation import BoltInterval, BoltShape, Interval, SpoutInterval, TopologyShape
from pasps.metrics import ComponentStats, Stats

SAMPLES = 100
"""One-second samples that are kept: the window of the paper's predictors."""
_SLACK = 0.25
"""An interval may begin this share of a second late: snapshots are not taken on the dot."""
_ROUNDING = 1e-6
_KEPT = 100
"""Snapshots that are kept of an interval, about."""
_PATIENCE_SECONDS = 10.0
"""So long a backlog that is not told any more is waited for: its worker may have died, and its spout goes on elsewhere."""


def shape_of(blueprint: Blueprint) -> TopologyShape:
    """What the control loop needs to know of a topology."""
    plans = blueprint.components.values()
    return TopologyShape(
        tuple(plan.id for plan in plans if plan.is_spout),
        tuple(
            BoltShape(
                plan.id,
                _useful(plan, blueprint),
                tuple(dict.fromkeys(edge.source for edge in plan.inputs)),
                plan.execution != "inline",
                plan.concurrency,
                plan.keyed,
            )
            for plan in plans
            if not plan.is_spout
        ),
    )


def _useful(plan: ComponentPlan, blueprint: Blueprint) -> int:
    """Its pool, or less where more replicas would bring nothing."""
    most = plan.kind.useful_replicas(merged(blueprint.config, plan.config)) if issubclass(plan.kind, Bolt) else None
    return plan.pool if most is None else max(1, min(plan.pool, most))


@dataclass(frozen=True, slots=True)
class Machine:
    """What the topology runs on, as of a snapshot. `busy_seconds` and `all_seconds` are cumulative CPU times; None: not known."""

    workers: int
    cores: int
    busy_seconds: float | None = None
    all_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class _Seen:
    """A snapshot that was used. `due` is what became due by spout, and never falls."""

    stats: Stats
    machine: Machine
    due: Mapping[str, float]

    @property
    def uptime(self) -> float:
        return self.stats.uptime_seconds


class Monitor:
    """`take` gets every snapshot, in order. What became due never falls: a dead worker's last counts may be missing for good."""

    def __init__(self, shape: TopologyShape) -> None:
        self.shape = shape
        self._snapshots: deque[_Seen] = deque()
        self._course: deque[tuple[float, float]] = deque()
        self._samples: tuple[float, ...] = ()
        self._offsets = dict.fromkeys(shape.spouts, 0.0)
        self._intervals = 0

    def take(self, stats: Stats, machine: Machine, keep_seconds: float) -> str:
        """Use a snapshot, unless it is not whole: returns why not, or nothing. Keeps those of the last `keep_seconds`."""
        problem = self._problem(stats)
        if problem:
            return problem
        seen = _Seen(stats, machine, {name: self._due(name, stats) for name in self.shape.spouts})
        if len(self._snapshots) > 1 and self._snapshots[-1].uptime - self._snapshots[-2].uptime < keep_seconds / _KEPT:
            self._snapshots.pop()  # a long interval needs no begin for each of its seconds, and a snapshot of large pools is large
        self._snapshots.append(seen)
        self._samples = self._sampled(seen)
        oldest = seen.uptime - keep_seconds - 1.0
        while len(self._snapshots) > 2 and self._snapshots[1].uptime <= oldest:
            self._snapshots.popleft()
        return ""

    def _problem(self, stats: Stats) -> str:
        if not stats.complete:
            return "the snapshot is incomplete: a live worker did not answer"
        if self._snapshots and stats.uptime_seconds - self._snapshots[-1].uptime < _PATIENCE_SECONDS:
            before = self._snapshots[-1].stats
            for name in self.shape.spouts:
                if before.components[name].knows_backlog and not stats.components[name].knows_backlog:
                    return f"the snapshot is incomplete: spout {name!r} did not tell its backlog"
        return ""

    def _due(self, name: str, stats: Stats) -> float:
        """What became due at a spout so far, by its counters; a fall is waited out."""
        now = stats.components[name]
        if not self._snapshots:
            return float(now.due)
        before = self._snapshots[-1]
        then, so_far = before.stats.components[name], before.due[name]
        if now.knows_backlog != then.knows_backlog:  # a backlog that comes into view, or leaves it, did not become due now
            self._offsets[name] = so_far + max(0, now.emitted_first - then.emitted_first) - now.due
        return max(so_far, now.due + self._offsets[name])

    def _sampled(self, now: _Seen) -> tuple[float, ...]:
        """Cut the line through all snapshots at each whole second before this one."""
        course = self._course
        course.append((now.uptime, sum(now.due.values())))
        while len(course) > 1 and course[1][0] <= now.uptime - SAMPLES:
            course.popleft()
        seconds = min(SAMPLES, int(now.uptime - course[0][0] + _ROUNDING))
        at = _read_off(course, [now.uptime - back for back in range(seconds, -1, -1)])
        return tuple(max(0.0, after - before) for before, after in pairwise(at))

    def samples(self) -> tuple[float, ...]:
        """Events that became due in each of the last seconds before the newest snapshot, at most 100, newest last."""
        return self._samples

    @property
    def kept(self) -> int:
        """How many snapshots it holds."""
        return len(self._snapshots)

    def interval(self, seconds: float) -> Interval | None:
        """The last `seconds`, or as much as there was; None before the second snapshot."""
        if len(self._snapshots) < 2:
            return None
        self._intervals += 1
        end = self._snapshots[-1]
        begin = self._snapshots[0]
        for snapshot in self._snapshots:
            if snapshot.uptime > end.uptime - seconds + _SLACK or snapshot is end:
                break
            begin = snapshot
        return _interval(self.shape, begin, end, self._intervals)


def _read_off(course: Iterable[tuple[float, float]], times: Iterable[float]) -> list[float]:
    """The values at these times, in order and none after the last point, on the line through the points."""
    points = iter(course)
    (left, low) = (right, high) = next(points)
    found = []
    for time in times:
        while right < time:
            (left, low), (right, high) = (right, high), next(points)
        found.append(low + (high - low) * (time - left) / (right - left) if right > left else high)
    return found


def _interval(shape: TopologyShape, begin: _Seen, end: _Seen, number: int) -> Interval:
    old, new = begin.stats, end.stats
    return Interval(
        number,
        begin.uptime,
        end.uptime,
        {name: _spout(old.components[name], new.components[name], end.due[name] - begin.due[name]) for name in shape.spouts},
        {bolt.id: _bolt(old.components[bolt.id], new.components[bolt.id]) for bolt in shape.bolts},
        (old.table_version, new.table_version),
        end.machine.workers,
        end.machine.cores,
        busy_share(begin.machine, end.machine),
    )


def _spout(old: ComponentStats, new: ComponentStats, due: float) -> SpoutInterval:
    held_back = new.held_back > old.held_back
    return SpoutInterval(due, max(0, new.emitted - old.emitted), new.backlog or 0, held_back and not new.knows_backlog)


def _bolt(old: ComponentStats, new: ComponentStats) -> BoltInterval:
    received: dict[str, int] = {}
    for before, after in zip(old.edges, new.edges, strict=True):
        received[after.source] = received.get(after.source, 0) + max(0, after.received - before.received)
    processed = max(0, new.executed - old.executed)
    seconds = max(0.0, new.execute_seconds * new.executed - old.execute_seconds * old.executed)
    return BoltInterval(received, processed, new.queued, new.active, seconds if processed else 0.0, _replicas(old, new), new.blocks)


def _replicas(old: ComponentStats, new: ComponentStats) -> dict[int, tuple[int, float]]:
    found = {}
    for index, after in new.replicas.items():
        before = old.replicas.get(index)
        executed, seconds = after.executed, after.execute_seconds * after.executed
        if before is not None:
            executed -= before.executed
            seconds -= before.execute_seconds * before.executed
        if executed > 0:
            found[index] = (executed, max(0.0, seconds))
    return found


def busy_share(old: Machine, new: Machine) -> float | None:
    """The share of all cores' time that anybody used between two moments; None: not known."""
    if old.busy_seconds is None or new.busy_seconds is None or old.all_seconds is None or new.all_seconds is None:
        return None
    whole = new.all_seconds - old.all_seconds
    return min(1.0, max(0.0, new.busy_seconds - old.busy_seconds) / whole) if whole > 0 else None
