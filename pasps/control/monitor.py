"""Monitor: complete snapshots in, one interval's numbers and the input of each second out. Pure; the loop calls it.

Counters are cumulative, so an interval is the difference of two snapshots, and a second's input lies on the line between two.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from pasps.api.blueprint import Blueprint, ComponentPlan
from pasps.api.bolt import Step
from pasps.config import merged
from pasps.control.policies.policy import MOST_SAMPLES
from pasps.control.situation import (
    BoltInterval,
    BoltSecond,
    BoltShape,
    Interval,
    ReplicaInterval,
    Second,
    SpoutInterval,
    TopologyShape,
    WorkerInterval,
)
from pasps.metrics import ComponentStats, Stats

SAMPLES = MOST_SAMPLES
"""One-second samples that are kept: the window of the paper's predictors."""
_SLACK = 0.25
"""An interval may begin this share of a second late: snapshots are not taken on the dot."""
_ROUNDING = 1e-6
_EARLY = 0.1
"""A second of the history may end so early: snapshots are not taken on the dot."""
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
    most = plan.kind.useful_replicas(merged(blueprint.config, plan.config)) if issubclass(plan.kind, Step) else None
    return plan.pool if most is None else max(1, min(plan.pool, most))


@dataclass(frozen=True, slots=True)
class Machine:
    """What the topology runs on, as of a snapshot. `busy_seconds` and `all_seconds` are cumulative CPU times; None: not known.

    `hosts` of the workers and the `host_cores` of each host, where somebody asks for them.
    """

    workers: int
    cores: int
    busy_seconds: float | None = None
    all_seconds: float | None = None
    hosts: Mapping[str, str] = field(default_factory=dict)
    host_cores: Mapping[str, int] = field(default_factory=dict)


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
    """`take` gets every snapshot, in order. What became due never falls: a dead worker's last counts may be missing for good.

    Nobody knows what became due while a spout's worker ended: its counters say again what it emits again. So the time from the last
    snapshot before that to the first one after it belongs to no second and to no interval.
    """

    def __init__(self, shape: TopologyShape, history_seconds: int = 0) -> None:
        """`history_seconds`: of how many seconds `history` tells."""
        self.shape = shape
        self.history: deque[Second] = deque(maxlen=history_seconds)
        """The numbers of each of the last seconds, newest last; what is left out is in none of them."""
        self._mark: _Seen | None = None
        """Where the newest second of the history ended, or the first one begins."""
        self._mark_at = 0.0
        """When the next one ends."""
        self._snapshots: deque[_Seen] = deque()
        self._course: deque[tuple[float, float]] = deque()
        self._offsets = dict.fromkeys(shape.spouts, 0.0)
        self._intervals = 0
        self._left_out_seconds = 0.0
        self._left_out: tuple[float, str] = (0.0, "")
        """When intervals could begin again, and why not before."""

    def take(self, stats: Stats, machine: Machine, keep_seconds: float) -> str:
        """Use a snapshot: returns why what it adds says nothing of the input, or nothing. Keeps those of the last `keep_seconds`."""
        problem = self._problem(stats)
        if problem:
            return problem
        again = self._goes_on_again(stats)
        seen = _Seen(stats, machine, {name: self._due(name, stats, grows=not again) for name in self.shape.spouts})
        if again:
            since = self._snapshots[-1].uptime
            self._left_out_seconds += seen.uptime - since
            self._left_out = (seen.uptime, again)
            self._snapshots.clear()
            self._mark = None
            problem = f"the input since {since:.1f} s is left out: {again}"
        if len(self._snapshots) > 1 and self._snapshots[-1].uptime - self._snapshots[-2].uptime < keep_seconds / _KEPT:
            self._snapshots.pop()  # a long interval needs no begin for each of its seconds, and a snapshot of large pools is large
        self._snapshots.append(seen)
        self._follow(seen)
        self._add_second(seen)
        oldest = seen.uptime - keep_seconds - 1.0
        while len(self._snapshots) > 2 and self._snapshots[1].uptime <= oldest:
            self._snapshots.popleft()
        return problem

    def _problem(self, stats: Stats) -> str:
        if not stats.complete:
            return "the snapshot is incomplete: a live worker did not answer"
        if self._snapshots and stats.uptime_seconds - self._snapshots[-1].uptime < _PATIENCE_SECONDS:
            before = self._snapshots[-1].stats
            for name in self.shape.spouts:
                if _lost(stats.components[name]) and not _lost(before.components[name]):
                    return f"the snapshot is incomplete: the worker of spout {name!r} died"
                if before.components[name].knows_backlog and not stats.components[name].knows_backlog:
                    return f"the snapshot is incomplete: spout {name!r} did not tell its backlog"
        return ""

    def _goes_on_again(self, stats: Stats) -> str:
        """Whether a spout's task took over from a dead one since the last snapshot, in words; else nothing."""
        for name in self.shape.spouts if self._snapshots else ():
            if stats.components[name].restarts > self._snapshots[-1].stats.components[name].restarts:
                return f"spout {name!r} goes on after its worker ended, and what it emits again is no new input"
        return ""

    def _due(self, name: str, stats: Stats, *, grows: bool) -> float:
        """What became due at a spout so far, by its counters; a fall is waited out, and a jump is none unless it `grows`."""
        now = stats.components[name]
        if not self._snapshots:
            return float(now.due)
        before = self._snapshots[-1]
        then, so_far = before.stats.components[name], before.due[name]
        if now.knows_backlog != then.knows_backlog:  # a backlog that comes into view, or leaves it, did not become due now
            self._offsets[name] = so_far + max(0, now.emitted_first - then.emitted_first) - now.due
        if not grows:
            self._offsets[name] = min(self._offsets[name], so_far - now.due)
        return max(so_far, now.due + self._offsets[name])

    def _follow(self, now: _Seen) -> None:
        """One more point of the line on which samples lie."""
        course, end = self._course, now.uptime - self._left_out_seconds
        course.append((end, sum(now.due.values())))
        while len(course) > 1 and course[1][0] <= end - SAMPLES:
            course.popleft()

    def samples(self, most: int = SAMPLES) -> tuple[float, ...]:
        """Events that became due in each of the last seconds before the newest snapshot, at most so many, newest last.

        The line through all snapshots is cut at each whole second before the newest.
        """
        if not self._course:
            return ()
        end = self._course[-1][0]
        seconds = min(most, int(end - self._course[0][0] + _ROUNDING))
        at = _read_back(reversed(self._course), [end - back for back in range(seconds + 1)])
        return tuple(max(0.0, after - before) for after, before in pairwise(at))[::-1]

    @property
    def course(self) -> tuple[float, float]:
        """When the newest snapshot was, on a clock without what is left out, and what had become due by then. There must be one."""
        return self._course[-1]

    @property
    def kept(self) -> int:
        """How many snapshots it holds."""
        return len(self._snapshots)

    def interval(self, seconds: float) -> Interval | None:
        """The last `seconds`, or as much as there was; None before the second snapshot."""
        if len(self._snapshots) < 2:
            return None
        self._intervals += 1
        begin, end = self._ends(seconds)
        again, why = self._left_out
        return _interval(self.shape, begin, end, self._intervals, why if begin.uptime == again else "")

    def _ends(self, seconds: float) -> tuple[_Seen, _Seen]:
        end = self._snapshots[-1]
        begin = self._snapshots[0]
        for snapshot in self._snapshots:
            if snapshot.uptime > end.uptime - seconds + _SLACK or snapshot is end:
                break
            begin = snapshot
        return begin, end

    def replicas(self, seconds: float) -> dict[str, dict[int, ReplicaInterval]]:
        """Of each bolt its replicas in the same interval; there must be one."""
        begin, end = self._ends(seconds)
        old, new = begin.stats.components, end.stats.components
        return {bolt.id: _replica_intervals(bolt, old[bolt.id], new[bolt.id]) for bolt in self.shape.bolts}

    def workers(self, seconds: float) -> dict[str, WorkerInterval]:
        """The live workers in the same interval; there must be one."""
        begin, end = self._ends(seconds)
        old, new, machine = begin.stats.cpu_seconds, end.stats.cpu_seconds, end.machine
        found = {}
        for worker in sorted({*new, *machine.hosts}):
            host = machine.hosts.get(worker)
            # of a process that began within the interval, or took over another's place, all of it is of the interval
            used = None if worker not in new else new[worker] - (old.get(worker, 0.0) if old.get(worker, 0.0) <= new[worker] else 0.0)
            found[worker] = WorkerInterval(host, None if host is None else machine.host_cores.get(host), used)
        return found

    def _add_second(self, seen: _Seen) -> None:
        """One more second of the history, when the snapshot ends it."""
        if not self.history.maxlen:
            return
        if self._mark is None:
            self._mark, self._mark_at = seen, seen.uptime + 1.0
        elif seen.uptime >= self._mark_at - _EARLY:
            self.history.append(_second(self.shape, self._mark, seen))
            self._mark = seen
            self._mark_at += int(seen.uptime + _EARLY - self._mark_at) + 1.0


def _read_back(course: Iterable[tuple[float, float]], times: Iterable[float]) -> list[float]:
    """The values at these times on the line through the points: both newest first, and no time outside of it."""
    points = iter(course)
    (right, high) = (left, low) = next(points)
    found = []
    for time in times:
        while left > time:
            (right, high), (left, low) = (left, low), next(points, (time, low))
        found.append(low + (high - low) * (time - left) / (right - left) if right > left else high)
    return found


def _lost(spout: ComponentStats) -> bool:
    return any(task.state == "LOST" for task in spout.replicas.values())


def _interval(shape: TopologyShape, begin: _Seen, end: _Seen, number: int, left_out: str) -> Interval:
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
        left_out,
    )


def _spout(old: ComponentStats, new: ComponentStats, due: float) -> SpoutInterval:
    held_back = new.held_back > old.held_back
    return SpoutInterval(due, max(0, new.emitted - old.emitted), new.backlog or 0, held_back and not new.knows_backlog)


def _bolt(old: ComponentStats, new: ComponentStats) -> BoltInterval:
    received: dict[str, int] = {}
    for before, after in zip(old.edges, new.edges, strict=True):
        came, source = after.received - before.received, after.source
        received[source] = received.get(source, 0) + (max(0, came))
    processed = new.executed - old.executed
    seconds = 0.0
    if processed > 0:
        seconds = max(0.0, new.execute_seconds * new.executed - old.execute_seconds * old.executed)
    else:
        processed = 0
    return BoltInterval(received, processed, new.queued, new.active, seconds, _replicas(old, new), new.blocks)


def _second(shape: TopologyShape, begin: _Seen, end: _Seen) -> Second:
    bolts = {}
    for bolt in shape.bolts:
        did = _bolt(begin.stats.components[bolt.id], end.stats.components[bolt.id])
        cpu = None if bolt.waits or did.blocks else did.seconds
        bolts[bolt.id] = BoltSecond(sum(did.received.values()), did.processed, did.queued, did.active, did.seconds, cpu)
    due = sum(end.due.values()) - sum(begin.due.values())
    backlog = {name: held for name in shape.spouts if (held := end.stats.components[name].backlog)}
    latency = end.stats.latency.since(begin.stats.latency).buckets
    return Second(end.uptime, end.uptime - begin.uptime, due, bolts, backlog, latency)


def _replica_intervals(bolt: BoltShape, old: ComponentStats, new: ComponentStats) -> dict[int, ReplicaInterval]:
    did = _replicas(old, new)
    waits = bolt.waits or new.blocks
    found = {}
    for index, replica in new.replicas.items():
        processed, seconds = did.get(index, (0, 0.0))
        cpu = None if waits else seconds
        found[index] = ReplicaInterval(replica.worker, replica.state, processed, seconds, cpu, replica.queued)
    return found


def _replicas(old: ComponentStats, new: ComponentStats) -> dict[int, tuple[int, float]]:
    found, known = {}, old.replicas
    for index, after in new.replicas.items():
        before = known.get(index)
        if after is before:
            continue
        then = 0 if before is None else before.executed
        executed = after.executed - then
        if executed > 0:
            seconds = after.execute_seconds * after.executed - (0.0 if before is None else before.execute_seconds * then)
            found[index] = (executed, max(0.0, seconds))
    return found


def busy_share(old: Machine, new: Machine) -> float | None:
    """The share of all cores' time that anybody used between two moments; None: not known."""
    if old.busy_seconds is None or new.busy_seconds is None or old.all_seconds is None or new.all_seconds is None:
        return None
    whole = new.all_seconds - old.all_seconds
    return min(1.0, max(0.0, new.busy_seconds - old.busy_seconds) / whole) if whole > 0 else None
