"""What became due, told through crashes: a spout whose backlog holds again what its dead worker had emitted."""

from __future__ import annotations

import asyncio
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from pasps import Bolt, EndOfInput, Spout, Topology, TopologyContext, Tuple
from pasps.activation import first_table
from pasps.assignment import Need, place
from pasps.control.monitor import Machine, Monitor, shape_of
from pasps.control.statistics import stats_of
from pasps.metrics import ComponentStats, ReplicaCounts, Stats, WorkerCounts
from pasps.runtime.snapshot import take_counts
from pasps.testing import StepRun
from tests.unit.runtime.parts import add_one


class Log(Spout):
    """`due` events of a log that outlives it; emits ten at a time while it is told to."""

    outputs = ["offset"]
    due = 0
    gate = 0

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.next = ctx.position or 0
        self.open: dict[int, None] = {}
        self.again: list[int] = []

    def next_tuple(self) -> float | None:
        if type(self).gate and self.next < type(self).due:
            type(self).gate -= 1
            offsets = list(range(self.next, min(self.next + 10, type(self).due)))
            self.next = offsets[-1] + 1
            self.open |= dict.fromkeys(offsets)
            self.emit_batch([(offset,) for offset in offsets], offsets)
        return 0.001

    def backlog(self) -> int:
        return type(self).due - self.next

    def ack(self, offset: int) -> None:
        self.open.pop(offset)
        low = next(iter(self.open), self.next)
        self.save_position(low)


class Thirds(Bolt):
    """Keeps every third tuple for ever, so that the position stays far behind what is acked."""

    auto_ack = False

    def process(self, tup: Tuple) -> None:
        if tup[0] % 3 != 2 or tup[0] < 30:
            self.ack(tup)


class Reading(Topology):
    log = Log.spec()
    thirds = Thirds.spec(inputs=[log], par=2)


class Census:
    """Cuts of a step run, and the last ones of workers that were killed."""

    def __init__(self, run: StepRun) -> None:
        self.run = run
        self.dead: list[WorkerCounts] = []
        self.monitor = Monitor(shape_of(run.blueprint))
        self.seconds = 0.0

    def cut(self) -> dict[str, WorkerCounts]:
        workers = self.run.controller.table.workers
        return {name: take_counts(worker, workers[name]) for name, worker in self.run.workers.items() if name in workers}

    def stats(self, uptime: float = 0.0) -> Stats:
        return stats_of(self.run.blueprint, self.run.controller.table, self.cut(), self.dead, uptime)

    def log(self) -> ComponentStats:
        return self.stats().components["log"]

    def problem(self) -> str:
        """What the control loop makes of the counters a second later."""
        self.seconds += 1.0
        return self.monitor.take(self.stats(self.seconds), Machine(2, 2), 30.0)

    def arrived(self) -> float:
        """What it takes for the input of that second."""
        before = sum(self.monitor.samples())
        assert self.problem() == ""
        return sum(self.monitor.samples()) - before

    def kill_the_spout(self) -> None:
        name = self.log().replicas[0].worker
        self.dead.append(self.cut()[name])
        self.dead[-1].died()
        self.run.kill(name)
        self.run.restart(name)


def emit(run: StepRun, times: int) -> None:
    Log.gate = times
    for _ in range(times + 2):
        run.advance(0.001)
    assert Log.gate == 0


def test_a_spout_that_lost_its_worker_twice_never_makes_due_events_input_again() -> None:
    Log.due, Log.gate = 200, 0
    with StepRun(Reading, 2) as run:
        census = Census(run)
        emit(run, 15)
        assert (census.log().due, census.log().emitted_first) == (200, 150)
        assert census.arrived() == 0.0
        census.kill_the_spout()
        assert not census.log().knows_backlog
        assert census.problem() == "the snapshot is incomplete: the worker of spout 'log' died"
        run.advance(0.001)
        log = census.log()
        assert (log.backlog, log.knows_backlog, log.restarts) == (200 - 32, True, 1)
        assert log.due > 200, "what was done and is behind the position comes again"
        assert "spout 'log' goes on after its worker ended" in census.problem()
        emit(run, 5)  # 50 of the 118 that come again
        Log.due = 210
        assert census.arrived() == 10.0
        census.kill_the_spout()
        run.advance(0.001)
        assert census.log().restarts == 2
        assert "spout 'log' goes on after its worker ended" in census.problem()
        emit(run, 12)
        assert census.arrived() == 0.0
        Log.due = 217
        emit(run, 7)
        assert (census.arrived(), census.log().backlog) == (7.0, 0)


class Eager(Spout):
    outputs = ["number"]

    def next_tuple(self) -> float | None:
        self.emit([1], tup_id=object())
        return None


class Wait(Bolt):
    async def process(self, tup: Tuple) -> None:
        await asyncio.sleep(3600)


@pytest.mark.parametrize("config", [{"topology.max.spout.pending": 5}, {"topology.executor.receive.buffer.size": 16}])
def test_a_spout_without_room_is_held_back_at_every_cut(config: dict[str, Any]) -> None:
    class Flood(Topology):
        eager = Eager.spec()
        wait = Wait.spec(inputs=[eager])

    with StepRun(Flood, 1, config=config) as run:
        run.advance(1)
        cuts = [take_counts(run.workers["w0"], 1).replicas for _ in range(3)]
        held = [replica.held_back for replicas in cuts for replica in replicas if replica.component == "eager"]
        assert 0 < held[0] < held[1] < held[2]


def test_a_spout_that_waits_or_has_ended_is_not_held_back() -> None:
    class Ended(Spout):
        outputs = ["number"]

        def next_tuple(self) -> float | None:
            raise EndOfInput

    class Quiet(Topology):
        ended = Ended.spec()
        log = Log.spec()
        done = add_one.spec(inputs=[ended, log])

    Log.due, Log.gate = 100, 5
    with StepRun(Quiet, 1) as run:
        run.advance(0.1)
        assert [r.held_back for r in take_counts(run.workers["w0"], 1).replicas] == [0] * 3


# ---- a model of one task with lost counts


BLUEPRINT = Reading.blueprint()
NEEDS = {name: Need(plan.pool, plan.par, plan.keyed, plan.pinned) for name, plan in BLUEPRINT.components.items()}
TABLE = first_table(place(NEEDS, ["w0"]), {"w0": 1})


class CrashingSpout(RuleBasedStateMachine):
    """A log, a spout that dies at any moment, and counters of it that arrive now and then, which a monitor makes input of."""

    @initialize()
    def start(self) -> None:
        self.monitor = Monitor(shape_of(BLUEPRINT))
        self.kept = self.due = self.incarnation = 0
        self.uptime = 0.0
        self.dead: list[WorkerCounts] = []
        self.told: WorkerCounts | None = None
        self.known: tuple[int, int] | None = None
        self.input = 0.0
        self.begin()

    def begin(self) -> None:
        self.first = self.next = self.saved = self.kept
        self.acked: set[int] = set()
        self.failed: list[int] = []
        self.emitted = self.replayed = 0
        self.incarnation += 1

    @rule(count=st.integers(1, 20))
    def become_due(self, count: int) -> None:
        self.due += count

    @rule(count=st.integers(1, 12))
    def emit(self, count: int) -> None:
        until = min(self.due, self.next + count)
        self.emitted += len(self.failed) + max(0, until - self.next)
        self.replayed += len(self.failed)
        self.next, self.failed = max(self.next, until), []

    @precondition(lambda self: self.next > self.first)
    @rule(data=st.data())
    def ack_or_fail(self, data: st.DataObject) -> None:
        open_ones = sorted({*range(self.first, self.next)} - self.acked - {*self.failed})
        for number in data.draw(st.lists(st.sampled_from(open_ones), unique=True, max_size=6)) if open_ones else []:
            (self.acked.add if data.draw(st.booleans()) else self.failed.append)(number)

    @rule()
    def save(self) -> None:
        self.saved = next(number for number in range(self.first, self.next + 1) if number not in self.acked)

    @rule()
    def cut(self) -> None:
        pending = self.next - self.first - len(self.acked) - len(self.failed)
        counts = ReplicaCounts("log", 0, "w0", emitted={"default": self.emitted}, replayed=self.replayed, backlog=self.due - self.next)
        counts.pending = pending
        self.told = WorkerCounts("w0", self.incarnation, 1, [counts], [], {}, {}, {}, 0.0)
        self.kept = self.saved
        self.uptime += 1.0
        table = first_table(TABLE.components, {"w0": self.incarnation})
        problem = self.monitor.take(stats_of(BLUEPRINT, table, {"w0": self.told}, self.dead, self.uptime), Machine(2, 2), 30.0)
        arrived = sum(self.monitor.samples()) - self.input
        self.input += arrived
        if self.known is not None:
            incarnation, due = self.known
            dead = incarnation != self.incarnation
            assert bool(problem) == dead, "the seconds in which it died are left out, and no others"
            assert arrived == (0 if dead else self.due - due)
        self.known = (self.incarnation, self.due)

    @rule()
    def crash(self) -> None:
        if self.told is not None:
            self.told.died()
            self.dead.append(self.told)
            self.told = None
        self.begin()


TestCrashingSpout = CrashingSpout.TestCase
TestCrashingSpout.settings = settings(max_examples=80, stateful_step_count=40, deadline=None)
