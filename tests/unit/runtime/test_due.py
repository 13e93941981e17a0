"""What became due, told through crashes: a spout whose backlog holds again what its dead worker had emitted."""

from __future__ import annotations

import asyncio
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from pasps import Bolt, EndOfInput, Spout, Topology, TopologyContext, Tuple
from pasps.activation import first_table
from pasps.assignment import Need, place
from pasps.control.statistics import stats_of
from pasps.daemons.progress import Progress
from pasps.metrics import ComponentStats, ReplicaCounts, SpoutProgress, WorkerCounts
from pasps.runtime.ack_ledger import ReplayTracker
from pasps.runtime.snapshot import take_counts
from pasps.testing import StepRun
from tests.unit.runtime.parts import add_one


class Log(Spout):
    """`due` events of a log that outlives it; emits ten at a time while it is told to."""

    outputs = ["offset"]
    due = 0
    gate = 0

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.first = self.next = ctx.position or 0
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
        self.save_position(low, low - self.first)


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

    def cut(self) -> dict[str, WorkerCounts]:
        workers = self.run.controller.table.workers
        return {name: take_counts(worker, workers[name]) for name, worker in self.run.workers.items() if name in workers}

    def log(self) -> ComponentStats:
        return stats_of(self.run.blueprint, self.run.controller.table, self.cut(), self.dead, 0.0).components["log"]

    def kill_the_spout(self) -> None:
        name = self.log().replicas[0].worker
        self.dead.append(self.cut()[name])
        self.run.kill(name)
        self.run.restart(name)


def emit(run: StepRun, times: int) -> None:
    Log.gate = times
    for _ in range(times + 2):
        run.advance(0.001)
    assert Log.gate == 0


def test_a_spout_that_lost_its_worker_twice_never_makes_due_events_due_again() -> None:
    Log.due, Log.gate = 200, 0
    with StepRun(Reading, 2) as run:
        census = Census(run)
        emit(run, 15)
        assert (census.log().due, census.log().emitted_first) == (200, 150)
        census.kill_the_spout()
        assert not census.log().knows_backlog
        run.advance(0.001)
        log = census.log()
        assert (log.due, log.backlog, log.knows_backlog) == (200, 200 - 32, True)
        emit(run, 5)  # 50 of the 118 that come again
        Log.due = 210
        assert (census.log().due, census.log().emitted_first, census.log().replayed) == (210, 150, 50)
        census.kill_the_spout()
        run.advance(0.001)
        assert (census.log().due, census.log().backlog) == (210, 210 - 32)
        emit(run, 12)
        log = census.log()
        assert (log.due, log.emitted_first, log.replayed) == (210, 152, 50 + 118)
        emit(run, 6)
        assert (census.log().due, census.log().emitted_first, census.log().backlog) == (210, 210, 0)


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
    """A log, a spout that dies at any moment, and counters of it that arrive now and then; `due` is the log's at every cut."""

    @initialize()
    def start(self) -> None:
        self.progress = Progress()
        self.due = self.incarnation = 0
        self.dead: list[WorkerCounts] = []
        self.told: WorkerCounts | None = None
        self.begin()

    def begin(self) -> None:
        starts = self.progress.starts([1])
        debt = starts[1].debt if 1 in starts else 0
        position = int(starts[1].position or b"0") if 1 in starts else 0
        until = starts[1].until if 1 in starts else None
        self.tracker, self.owed = ReplayTracker(debt, until), debt
        self.first = self.next = position
        self.acked: set[int] = set()
        self.failed: list[int] = []
        self.emitted = self.replayed = 0
        self.saved: tuple[int, int] | None = None
        self.incarnation += 1

    @rule(count=st.integers(1, 20))
    def become_due(self, count: int) -> None:
        self.due += count

    @rule(count=st.integers(1, 12))
    def emit(self, count: int) -> None:
        again, self.failed = self.failed, []
        until = min(self.due, self.next + count)
        numbers = [*again, *range(self.next, until)]
        self.next = max(self.next, until)
        if numbers:
            self.emitted += len(numbers)
            self.replayed += self.tracker.count([str(number).encode() for number in numbers])

    @precondition(lambda self: self.next > self.first)
    @rule(data=st.data())
    def ack_or_fail(self, data: st.DataObject) -> None:
        open_ones = sorted({*range(self.first, self.next)} - self.acked - {*self.failed})
        for number in data.draw(st.lists(st.sampled_from(open_ones), unique=True, max_size=6)) if open_ones else []:
            if data.draw(st.booleans()):
                self.acked.add(number)
            else:
                self.failed.append(number)
                self.tracker.failed([str(number).encode()])

    @rule()
    def save(self) -> None:
        low = next(number for number in range(self.first, self.next + 1) if number not in self.acked)
        self.saved = (low, low - self.first - self.owed)

    @rule()
    def cut(self) -> None:
        counts = ReplicaCounts("log", 0, "w0", emitted={"default": self.emitted}, replayed=self.replayed, backlog=self.due - self.next)
        counts.debt = self.tracker.debt
        position, covered = (None, 0) if self.saved is None else (str(self.saved[0]).encode(), self.saved[1])
        progress = SpoutProgress(1, 0, self.emitted - self.replayed, position, covered, self.tracker.last_id)
        self.told = WorkerCounts("w0", self.incarnation, 1, [counts], [], {}, [progress], {}, 0.0)
        self.progress.take(self.told)
        log = stats_of(BLUEPRINT, TABLE, {"w0": self.told}, self.dead, 1.0).components["log"]
        assert (log.due, log.knows_backlog) == (self.due, True)
        assert log.emitted_first <= self.due

    @rule()
    def crash(self) -> None:
        if self.told is not None:
            self.dead.append(self.told)
            self.progress.died(self.told)
            self.told = None
        self.begin()

    @invariant()
    def debts_are_paid_once(self) -> None:
        assert not hasattr(self, "tracker") or 0 <= self.tracker.debt <= self.owed


TestCrashingSpout = CrashingSpout.TestCase
TestCrashingSpout.settings = settings(max_examples=80, stateful_step_count=40, deadline=None)
