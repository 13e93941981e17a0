"""The line of bolts in virtual time: every event, every replica, no processes. For trying policies, not for results.

Exact but for what a machine adds: an event takes the same time everywhere, goes to the replica that is free first, and travels
in no time; a new table holds at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import nan

from benchmarks.elasticity.traces import Prepared
from pasps.control.situation import BoltShape, TopologyShape
from pasps.metrics import ComponentStats, EdgeStats, Latency, ReplicaStats, Stats

SPOUT = "trace"
Event = tuple[float, float]
"""When it is where it is said to be, and when it was due."""


class Stage:
    """One bolt. Replica j finishes what it was given at `free[j]`; the first `active` of them are given more."""

    def __init__(self, pool: int, wait_seconds: float, active: int) -> None:
        self.active = active
        self.received = 0
        self.executed = 0
        self.free = [0.0] * pool
        self._wait_seconds = wait_seconds
        self._taken: list[Event] = []

    def run(self, arrivals: Sequence[Event], until: float) -> list[Event]:
        """Take `arrivals`, in order; returns what is finished by `until`, in order."""
        free, active, wait, taken = self.free, self.active, self._wait_seconds, self._taken
        for at, due in arrivals:
            first = min(free[:active])
            replica = free.index(first)
            free[replica] = finish = max(first, at) + wait
            taken.append((finish, due))
        done = sorted(event for event in taken if event[0] <= until)
        self._taken = [event for event in taken if event[0] > until]
        self.received += len(arrivals)
        self.executed += len(done)
        return done

    def draining(self, now: float) -> int:
        """Replicas that are given no more and are not done with what they have."""
        return sum(at > now for at in self.free[self.active :])


class VirtualLine:
    """Bolts in a line under a spout that emits a prepared trace, each row's events evenly over it. `run` goes on to a time."""

    def __init__(self, prepared: Prepared, wait_seconds: float, pool: int = 8, active: int = 4, bolts: int = 4) -> None:
        self.wait_seconds, self.pool = wait_seconds, pool
        self.stages = {f"bolt{number}": Stage(pool, wait_seconds, active) for number in range(1, bolts + 1)}
        self.due = 0
        self.latencies: list[float] = []
        self.version = 1
        self._times = _due_times(prepared)

    @property
    def shape(self) -> TopologyShape:
        """As the control loop knows it."""
        sources = [SPOUT, *self.stages]
        bolts = (BoltShape(name, self.pool, (source,), waits=True) for source, name in zip(sources, self.stages, strict=False))
        return TopologyShape((SPOUT,), tuple(bolts))

    @property
    def done(self) -> bool:
        """Whether all was due and is processed."""
        return len(self.latencies) == len(self._times)

    def run(self, until: float) -> None:
        """Everything up to then, with the replicas that are active now."""
        begin = self.due
        while self.due < len(self._times) and self._times[self.due] <= until:
            self.due += 1
        events: list[Event] = [(at, at) for at in self._times[begin : self.due]]
        for stage in self.stages.values():
            events = stage.run(events, until)
        self.latencies += [at - due for at, due in events]

    def set_active(self, wanted: Mapping[str, int]) -> None:
        """From now on."""
        self.version += 1
        for name, count in wanted.items():
            self.stages[name].active = count

    def working(self, now: float) -> int:
        """Active and draining replicas of all bolts."""
        return sum(stage.active + stage.draining(now) for stage in self.stages.values())

    def stats(self, now: float) -> Stats:
        """A snapshot, as of the end of the last `run`."""
        sources = [SPOUT, *self.stages]
        counts = {SPOUT: _spout(self.due)} | {
            name: self._bolt(name, source, stage) for source, (name, stage) in zip(sources, self.stages.items(), strict=False)
        }
        done = len(self.latencies)
        nothing = Latency(0, nan, nan, nan, nan)
        return Stats(counts, nothing, self.due, 0, done, 0, self.due - done, self.version, True, now, due=self.due)

    def _bolt(self, name: str, source: str, stage: Stage) -> ComponentStats:
        edges = (EdgeStats(source, "default", stage.received, stage.executed),)
        queued = stage.received - stage.executed
        replicas: dict[int, ReplicaStats] = {}
        return ComponentStats(
            name, stage.executed, stage.executed, 0, 0, queued, stage.active, self.pool, self.wait_seconds, 0, replicas, edges
        )


def _spout(due: int) -> ComponentStats:
    return ComponentStats(SPOUT, due, 0, 0, 0, 0, 1, 1, 0.0, 0, {}, (), 0, emitted_first=due, due=due, knows_backlog=True)


def _due_times(prepared: Prepared) -> list[float]:
    times: list[float] = []
    for row, count in enumerate(prepared.counts):
        times += [(row + (event + 0.5) / count) * prepared.row_seconds for event in range(count)]
    return times
