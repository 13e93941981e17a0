"""Replicas that are not needed: when they come to rest with what they keep, and what is left of them when they live elsewhere."""

from __future__ import annotations

import threading
from typing import Any, ClassVar

import pytest

from pasps import Bolt, Grouping, Topology, Tuple
from pasps.control.statistics import stats_of
from pasps.metrics import ComponentStats
from pasps.runtime.hosting import ReplicaState
from pasps.runtime.snapshot import take_counts
from pasps.testing import PAUSE, FakeClock, StepRun
from tests.unit.runtime.parts import Numbers, add_one, rows

TIMEOUT = 30
CONFIG = {"topology.message.timeout.secs": TIMEOUT}


def stats(run: StepRun, component: str) -> ComponentStats:
    living = {name: take_counts(worker, 1) for name, worker in run.workers.items()}
    return stats_of(run.blueprint, run.controller.table, living, [], 1.0).components[component]


# ---- what a bolt keeps


class Keeps(Bolt):
    """Acks nothing until it is let go, and then at the next tick."""

    auto_ack = False
    config: ClassVar[dict[str, Any]] = {"topology.tick.tuple.freq.secs": 1}
    let_go: ClassVar[bool] = False
    ticked: ClassVar[dict[int, int]] = {}

    def initialize(self, conf: dict[str, Any], ctx: Any) -> None:
        self.kept: list[Tuple] = []

    def process(self, tup: Tuple) -> None:
        self.kept.append(tup)

    def process_tick(self, tup: Tuple) -> None:
        self.ticked[self.ctx.task_index] = self.ticked.get(self.ctx.task_index, 0) + 1
        while self.let_go and self.kept:
            self.ack(self.kept.pop())


class KeepsOnAThread(Keeps):
    execution = "thread"


class KeepsAsync(Keeps):
    async def process(self, tup: Tuple) -> None:  # type: ignore[override]
        self.kept.append(tup)


def keeping(kind: type[Bolt], grouping: Any = Grouping.SHUFFLE) -> type[Topology]:
    class Kept(Topology):
        numbers = Numbers.spec()
        keeps = kind.spec(inputs={numbers: grouping}, par=2, pool=2)

    return Kept


KINDS = [Keeps, KeepsOnAThread, KeepsAsync]


@pytest.fixture(autouse=True)
def _hold() -> None:
    Keeps.let_go = False
    Keeps.ticked.clear()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("workers", [1, 2])
def test_what_a_bolt_keeps_is_told_apart_from_what_queues(kind: type[Bolt], workers: int) -> None:
    with StepRun(keeping(kind), workers, inputs={"numbers": [*rows(10), PAUSE(100)]}, config=CONFIG) as run:
        run.run_until_idle()
        now = stats(run, "keeps")
        assert (now.kept, now.queued, now.executed, now.acked) == (10, 0, 10, 0)
        assert sum(replica.kept for replica in now.replicas.values()) == 10
        Keeps.let_go = True
        run.advance(1.5)
        now = stats(run, "keeps")
        assert (now.kept, now.acked) == (0, 10)


def out_of(run: StepRun) -> int:
    """The replica that is not active."""
    return next(replica for replica in (0, 1) if replica not in run.controller.table.components["keeps"].active)


def parked(run: StepRun) -> list[int]:
    return [report.index for report in run.journal.of("parked")]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tracked", [True, False])
def test_a_replica_that_never_acks_parks_when_all_it_keeps_has_timed_out(kind: type[Bolt], tracked: bool) -> None:
    lines = [*rows(10), PAUSE(1000)]
    with StepRun(keeping(kind), 2, inputs={"numbers": lines}, config=CONFIG) as run:
        for script in run.scripts["numbers"]:
            script.tracked = tracked
        run.run_until_idle()
        run.set_active("keeps", 1)
        out = out_of(run)
        run.advance(2 * TIMEOUT - 5)
        assert parked(run) == [], "what it keeps may still be acked"
        assert Keeps.ticked[out] >= TIMEOUT
        run.advance(10)
        assert parked(run) == [out]
        ticked = Keeps.ticked[out]
        run.advance(10)
        assert Keeps.ticked[out] == ticked
        assert sorted(run.verdicts.failed["numbers"]) == (list(range(10)) if tracked else [])


def test_it_takes_up_its_work_again_and_may_park_again() -> None:
    # a failure ends the first pause
    lines = [*rows(10), PAUSE(200), PAUSE(200), *[[n] for n in range(10, 30)], PAUSE(1000)]
    with StepRun(keeping(Keeps), 2, inputs={"numbers": lines}, config=CONFIG) as run:
        run.run_until_idle()
        run.set_active("keeps", 1)
        out = out_of(run)
        run.advance(150)
        run.set_active("keeps", 2)
        Keeps.let_go = True
        run.advance(150)
        assert stats(run, "keeps").kept == 0
        assert sorted(run.verdicts.acked["numbers"]) == list(range(10, 30))
        run.set_active("keeps", 1)
        run.advance(1)
        assert parked(run) == [out, out_of(run)]


def test_without_time_outs_what_is_kept_is_never_given_up() -> None:
    config = {**CONFIG, "topology.enable.message.timeouts": False}
    with StepRun(keeping(Keeps), 2, inputs={"numbers": [*rows(10), PAUSE(1000)]}, config=config) as run:
        run.run_until_idle()
        run.set_active("keeps", 1)
        run.advance(300)
        assert parked(run) == []
        Keeps.let_go = True
        run.advance(1.5)
        assert parked(run) == [out_of(run)]
        assert len(run.verdicts.acked["numbers"]) == 10


def test_what_a_keyed_task_keeps_moves_with_it() -> None:
    with StepRun(keeping(Keeps, Grouping.fields("number")), 2, inputs={"numbers": [*rows(20), PAUSE(1000)]}, config=CONFIG) as run:
        run.run_until_idle()
        run.set_active("keeps", 1)
        assert stats(run, "keeps").kept == 20
        Keeps.let_go = True
        run.advance(1.5)
        assert stats(run, "keeps").kept == 0
        assert len(run.verdicts.acked["numbers"]) == 20


class CostlyKeeps(Keeps):
    clock: ClassVar[FakeClock]

    def process(self, tup: Tuple) -> None:
        self.clock.advance(0.1)
        super().process(tup)


def test_what_is_kept_is_no_load() -> None:
    """Else a window's replica would get less the more it has in its window."""
    with StepRun(keeping(CostlyKeeps), 1, inputs={"numbers": [*rows(10), PAUSE(1000)]}, config=CONFIG) as run:
        CostlyKeeps.clock = run.clock
        run.run_until_idle()
        loads = run.workers["w0"].keeper.loads["keeps"]
        assert stats(run, "keeps").kept == 10
        assert loads.each == [pytest.approx(0.1)] * 2
        assert max(loads.waiting(replica, run.clock.peek()) for replica in (0, 1)) == 0.0


# ---- replicas that live elsewhere


class Closes(Bolt):
    outputs = ("number",)
    closed: ClassVar[list[tuple[str, int]]] = []

    def process(self, tup: Tuple) -> None:
        self.emit(tup.values)

    def close(self) -> None:
        self.closed.append((self.ctx.worker_id, self.ctx.task_index))


class ClosesOnAThread(Closes):
    execution = "thread"


def closing(kind: type[Bolt], par: int) -> type[Topology]:
    class Closing(Topology):
        numbers = Numbers.spec()
        closes = kind.spec(inputs={numbers: Grouping.SHUFFLE}, par=par, pool=2)

    return Closing


@pytest.mark.parametrize("kind", [Closes, ClosesOnAThread])
@pytest.mark.parametrize("active", [True, False])
def test_a_replica_that_goes_home_leaves_nothing_behind_but_what_it_did(kind: type[Bolt], active: bool) -> None:
    Closes.closed.clear()
    lines = [PAUSE(10), *rows(20), PAUSE(10), *[[n] for n in range(20, 40)], PAUSE(1000)]
    with StepRun(closing(kind, 2), 2, inputs={"numbers": lines}) as run:
        home = run.controller.table.components
        here = home["numbers"].places[0]
        away = next(worker for worker in run.workers if worker != here)
        run.run_until_idle()
        run.kill(away)
        run.settle()
        assert set(run.controller.table.components["closes"].places) == {here}
        run.advance(15)
        if not active:
            run.set_active("closes", 1)
        assert run.counts()["closes"].executed == 20
        before = threading.enumerate()
        run.restart(away)
        run.settle()
        run.run_until_idle()
        gone = [replica for replica, worker in enumerate(run.controller.table.components["closes"].places) if worker == away]
        for thread in before:
            if thread.name == f"closes[{gone[0]}]":
                thread.join(10)
                assert not thread.is_alive()
        assert Closes.closed == [(here, replica) for replica in gone]
        assert [key for key in run.workers[here].residents.executors if key[0] == "closes"] == [("closes", 1 - gone[0])]
        assert run.counts()["closes"].executed == 20
        now = stats(run, "closes")
        assert (now.executed, now.emitted, now.acked) == (20, 20, 20)
        assert {replica: each.worker for replica, each in now.replicas.items()} == {gone[0]: away, 1 - gone[0]: here}
        assert run.workers[here].pool.states.keys() == {("closes", 1 - gone[0])}
        assert ReplicaState.DRAINING not in run.workers[here].pool.states.values()
        run.advance(20)
        assert stats(run, "closes").executed == 40


class SaysItsLastSlowly(ClosesOnAThread):
    begun: ClassVar[threading.Event] = threading.Event()
    gate: ClassVar[threading.Event] = threading.Event()

    def finish(self) -> None:
        self.begun.set()
        self.gate.wait(10)
        self.emit([-1])


def test_an_inactive_replica_that_goes_home_is_closed_when_it_has_said_its_last() -> None:
    class OneBetween(Topology):
        numbers = Numbers.spec()
        between = add_one.spec(inputs=[numbers])
        closes = SaysItsLastSlowly.spec(inputs={between: Grouping.SHUFFLE}, par=2)

    lines = [PAUSE(10), *rows(20), PAUSE(1000)]
    with StepRun(OneBetween, 2, inputs={"numbers": lines}) as run:
        home = run.controller.table.components
        here = home["numbers"].places[0]
        away = next(worker for worker in run.workers if worker != here)
        run.kill(away)
        run.settle()
        run.advance(15)
        run.set_active("closes", 1)
        run.restart(away)
        while not SaysItsLastSlowly.begun.is_set():
            run.step()
        for _ in range(10):  # every mark is in before it is done
            run.step()
        SaysItsLastSlowly.gate.set()
        run.settle()
        run.run_until_idle()
        assert (-1,) in run.emitted["closes"]["default"]
        at_home = [("closes", replica) for replica, worker in enumerate(run.controller.table.components["closes"].places) if worker == here]
        assert sorted(key for key in run.workers[here].residents.executors if key[0] == "closes") == at_home
