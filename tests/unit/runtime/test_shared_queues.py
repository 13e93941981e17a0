"""What is queued belongs to the bolt: idle replicas take it, in their worker and from other workers, whoever it was sent to."""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random
from typing import Any

import pytest

from pasps import Bolt, Grouping, Spout, Topology, TopologyContext, Tuple
from pasps.api.groupings import GroupingSpec
from pasps.metrics import ReplicaCounts
from pasps.runtime.hosting import ReplicaState
from pasps.runtime.snapshot import activity, take_counts
from pasps.testing import PAUSE, StepOptions, StepRun

SECONDS = 0.01
MANY = 800
FEW = 200


class Numbers(Spout):
    outputs = ["number"]

    def next_tuple(self) -> float | None:
        return None


class Waits(Bolt):
    outputs = ["number", "replica"]
    slow: int | None = None

    async def process(self, tup: Tuple) -> None:  # type: ignore[override]
        await asyncio.sleep(SECONDS * (10 if self.ctx.task_index == self.slow else 1))
        self.emit([tup[0], self.ctx.task_index])


class Computes(Bolt):
    outputs = ["number", "replica"]

    def process(self, tup: Tuple) -> None:
        self.emit([tup[0], self.ctx.task_index])


def waiting(kind: type[Bolt] = Waits, par: int = 1, pool: int = 16, grouping: GroupingSpec = Grouping.LOAD_AWARE) -> type[Topology]:
    class Line(Topology):
        config = {"topology.max.spout.pending": 10_000}
        numbers = Numbers.spec()
        waits = kind.spec(inputs={numbers: grouping}, par=par, pool=pool)

    return Line


def rows(count: int) -> list[Any]:
    return [[number] for number in range(count)]


def shares(run: StepRun) -> Counter[int]:
    return Counter(replica for _, replica in run.emitted["waits"]["default"])


def counted(run: StepRun) -> list[ReplicaCounts]:
    return [replica for worker in run.workers.values() for replica in take_counts(worker, 1).replicas if replica.component == "waits"]


def until_done(run: StepRun, count: int = MANY) -> float:
    begun = run.clock.peek()
    while len(run.emitted.get("waits", {}).get("default", [])) < count:
        run.advance(SECONDS / 2)
        assert run.clock.peek() - begun < 100
    return run.clock.peek() - begun


FREE = [Grouping.LOAD_AWARE, Grouping.SHUFFLE, Grouping.LOCAL_OR_SHUFFLE, Grouping.NONE]


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("grouping", FREE, ids=str)
def test_what_waits_for_one_replica_is_done_by_all_once_they_are_active(workers: int, grouping: GroupingSpec) -> None:
    with StepRun(waiting(grouping=grouping), workers, inputs={"numbers": rows(MANY)}) as run:
        run.advance(0.1)
        run.set_active("waits", 16)
        # alone it takes 8 s; sixteen take half a second, and other workers hear of the load first
        assert until_done(run) < 0.7
        assert sorted(row[0] for row in run.emitted["waits"]["default"]) == list(range(MANY))
        assert min(shares(run)[replica] for replica in range(16)) > 20
        run.run_to_end()
        assert sorted(run.verdicts.acked["numbers"]) == list(range(MANY))
        assert run.verdicts.failed["numbers"] == []


@pytest.mark.parametrize("grouping", [Grouping.LOAD_AWARE_PAPER, Grouping.fields("number"), Grouping.GLOBAL], ids=str)
def test_a_grouping_that_names_a_replica_or_task_is_obeyed(grouping: GroupingSpec) -> None:
    with StepRun(waiting(Computes, 4, 4, grouping), 1, inputs={"numbers": rows(100)}) as run:
        run.run_to_end()
        executed = {replica.replica: sum(replica.executed.values()) for replica in counted(run)}
        received = {replica.replica: sum(replica.received.values()) for replica in counted(run)}
        assert executed == received
        assert sum(executed.values()) == 100


def test_each_replica_has_its_own_queue_where_that_is_asked_for() -> None:
    with StepRun(waiting(), 1, inputs={"numbers": rows(100)}, config={"pasps.shared.queues": False}) as run:
        run.advance(0.1)
        run.set_active("waits", 16)
        run.run_to_end()
        assert shares(run) == {0: 100}


@pytest.mark.parametrize("workers", [1, 2])
def test_a_slow_replica_gets_what_it_can_do_in_time(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Waits, "slow", 3)
    # half of what seven can do: nothing need ever wait for the slow one
    numbers: list[Any] = [each for row in rows(MANY) for each in (row, PAUSE(SECONDS / 3.5))]
    with StepRun(waiting(par=8, pool=8), workers, inputs={"numbers": numbers}) as run:
        run.run_to_end()
        assert 0 < shares(run)[3] < MANY / 50
        assert sorted(run.verdicts.acked["numbers"]) == list(range(MANY))


@pytest.mark.parametrize("slow", [0, 1])
def test_a_slow_replica_beside_the_spout_sends_tuples_elsewhere_before_they_queue(slow: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Waits, "slow", slow)
    # as much as the four of one worker could do, were none of them slow
    numbers = [each for row in rows(2 * MANY) for each in (row, PAUSE(SECONDS / 4))]
    with StepRun(waiting(par=8, pool=8), 2, inputs={"numbers": numbers}) as run:
        most = 0
        while not run.finished():
            run.advance(SECONDS / 2)
            most = max([most, *(worker.residents.inboxes["waits"].count for worker in run.workers.values())])
        assert most < 15
        assert shares(run)[slow] < MANY / 50
        assert sorted(run.verdicts.acked["numbers"]) == list(range(2 * MANY))


def test_a_slow_replica_that_has_become_quick_is_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Waits, "slow", 3)
    numbers: list[Any] = [each for row in rows(2 * MANY) for each in (row, PAUSE(SECONDS / 3.5))]
    with StepRun(waiting(par=4, pool=4), 1, inputs={"numbers": numbers}) as run:
        until_done(run, MANY)
        monkeypatch.setattr(Waits, "slow", None)
        before = shares(run)
        run.run_to_end()
        assert (shares(run) - before)[3] > MANY / 8


class HangsAtLast(Waits):
    """Its first replica is the quick one."""

    concurrency = 1

    async def process(self, tup: Tuple) -> None:  # type: ignore[override]
        quick = self.ctx.task_index == 0
        await asyncio.sleep(100_000 if quick and tup[0] >= 50 else SECONDS if quick else 10 * SECONDS)
        self.emit([tup[0], self.ctx.task_index])


@pytest.mark.parametrize("more", [1, 5, 15])
def test_a_slow_replica_does_what_is_left_when_the_quick_one_hangs(more: int) -> None:
    config = {"topology.message.timeout.secs": 1_000_000}
    numbers: list[Any] = [
        [0],
        [1],
        *(each for row in rows(50)[2:] for each in (row, PAUSE(2 * SECONDS))),
        *([number] for number in range(50, 51 + more)),
    ]
    with StepRun(waiting(HangsAtLast, 2, 2), 1, inputs={"numbers": numbers}, config=config) as run:
        run.advance(10)
        assert shares(run)[1] >= more
        assert run.left() == {"numbers": 1, "waits": 1}


class HangsAtFirst(Waits):
    concurrency = 1

    async def process(self, tup: Tuple) -> None:  # type: ignore[override]
        await asyncio.sleep(100_000 if tup[0] == 0 else SECONDS)
        self.emit([tup[0], self.ctx.task_index])


@pytest.mark.parametrize("before", [0, 1, 2, 20])
def test_other_workers_do_all_that_waits_behind_one_that_hangs(before: int) -> None:
    config = {"topology.message.timeout.secs": 1_000_000}
    numbers: list[Any] = [*rows(FEW)[1 : before + 1], [0], *rows(FEW)[before + 1 :]]
    with StepRun(waiting(HangsAtFirst, 3, 3), 3, inputs={"numbers": numbers}, config=config) as run:
        run.advance(FEW * SECONDS)
        assert len(run.emitted["waits"]["default"]) == FEW - 1
        assert run.left() == {"numbers": 1, "waits": 1}


class SlowOnOne(Bolt):
    outputs = ["number", "replica"]
    concurrency = 1

    async def process(self, tup: Tuple) -> None:  # type: ignore[override]
        await asyncio.sleep(200 * SECONDS if self.ctx.worker_id == "w2" else SECONDS)
        self.emit([tup[0], self.ctx.task_index])


def test_a_worker_with_a_long_call_and_nothing_queued_hides_no_other_that_has_much() -> None:
    numbers = [each for row in rows(FEW) for each in [row] * 20 + [PAUSE(20 * SECONDS / 1.8)]]
    line = waiting(SlowOnOne, 3, 3, Grouping.LOCAL_OR_SHUFFLE)
    with StepRun(line, 3, inputs={"numbers": numbers}, config={"topology.message.timeout.secs": 1_000_000}) as run:
        run.advance(FEW * 20 * SECONDS / 1.8)
        on = Counter({"w0": 0, "w1": 0, "w2": 0})
        for name, worker in run.workers.items():
            on[name] = sum(sum(replica.executed.values()) for replica in take_counts(worker, 1).replicas if replica.component == "waits")
        assert on["w0"] + on["w1"] > 0.95 * FEW * 20, on
        assert min(on["w0"], on["w1"]) > 0.4 * FEW * 20, on


def test_a_slow_worker_is_given_only_what_it_does_while_the_others_do_the_rest() -> None:
    config = {"topology.message.timeout.secs": 1_000_000}
    line = waiting(SlowOnOne, 3, 3, Grouping.LOCAL_OR_SHUFFLE)
    # first some by which each worker learns how long it takes
    with StepRun(line, 3, inputs={"numbers": [*rows(30), PAUSE(100), *rows(FEW)]}, config=config) as run:
        run.advance(100)
        most = 0
        for _ in range(10):
            run.advance(SECONDS)
            most = max(most, run.workers["w2"].residents.inboxes["waits"].count)
        assert most < FEW / 20


def test_replicas_that_compute_take_turns() -> None:
    numbers: list[Any] = [each for row in rows(90) for each in (row, PAUSE(0.01))]
    with StepRun(waiting(Computes, 3, 6), 1, inputs={"numbers": numbers}) as run:
        run.run_to_end()
        assert shares(run) == {0: 30, 1: 30, 2: 30}


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("tracked", [True, False])
def test_what_is_given_to_other_workers_is_neither_lost_nor_doubled(seed: int, tracked: bool) -> None:
    options = StepOptions(tracked=tracked, seed=seed, delays=True, creep=2e-5)
    with StepRun(waiting(par=1, pool=9), 3, inputs={"numbers": rows(300)}, options=options) as run:
        for step in range(60):
            if step % 3 == 0:
                run.set_active("waits", 1 + (seed * 7 + step * 5) % 9, wait=False)
            run.advance(SECONDS)
        run.run_to_end()
        assert sorted(row[0] for row in run.emitted["waits"]["default"]) == list(range(300))
        assert len(shares(run)) > 3
        found = counted(run)
        assert sum(sum(replica.received.values()) for replica in found) == 300
        assert sum(sum(replica.executed.values()) for replica in found) == 300


@pytest.mark.parametrize("seed", range(8))
def test_a_worker_that_dies_with_what_it_was_given_loses_nothing_that_is_tracked(seed: int) -> None:
    options = StepOptions(seed=seed, delays=True, replays=5)
    with StepRun(waiting(par=1, pool=9), 3, inputs={"numbers": rows(300)}, options=options) as run:
        run.advance(0.05)
        run.set_active("waits", 9, wait=False)
        run.advance(0.02 + 0.005 * seed)
        # not the one with the spout
        run.kill(next(name for name, worker in run.workers.items() if not worker.residents.spouts))
        run.settle()
        run.run_to_end()
        assert set(run.verdicts.acked["numbers"]) == set(range(300))
        assert {row[0] for row in run.emitted["waits"]["default"]} == set(range(300))


def test_what_found_no_room_goes_to_whoever_has_some() -> None:
    with StepRun(waiting(par=2, pool=2), 2, inputs={"numbers": rows(300)}) as run:
        run.advance(0.05)
        with_spout = next(worker for worker in run.workers.values() if worker.residents.spouts)
        assert not any(spout.emitter.parked for spout in with_spout.residents.spouts.values())
        assert until_done(run, 300) < 300 * SECONDS / 2 * 1.1


class AsksWhereItGoes(Bolt):
    outputs = ["number"]
    concurrency = 16

    async def process(self, tup: Tuple) -> None:  # type: ignore[override]
        self.emit([tup[0]], need_task_ids=True)
        await asyncio.sleep(0.5)


@pytest.mark.parametrize("tracked", [True, False])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_what_was_chosen_in_a_call_and_parked_before_its_end_gets_nothing(workers: int, shared: bool, tracked: bool) -> None:
    class Line(Topology):
        config = {"pasps.shared.queues": shared}
        numbers = Numbers.spec()
        asks = AsksWhereItGoes.spec(inputs={numbers: Grouping.SHUFFLE})
        computes = Computes.spec(inputs={asks: Grouping.SHUFFLE}, par=4)

    with StepRun(Line, workers, inputs={"numbers": rows(12)}, options=StepOptions(tracked=tracked)) as run:
        run.advance(0.2)
        run.set_active("computes", 1)
        run.advance(0.1)
        assert len(run.journal.of("parked")) == 3
        run.run_to_end()
        done = run.emitted["computes"]["default"]
        assert sorted(number for number, _ in done) == list(range(12))
        assert {replica for _, replica in done} == set(run.controller.table.components["computes"].active)


class Repeats(Bolt):
    outputs = ["key", "number"]

    def process(self, tup: Tuple) -> None:
        for _ in range(40 if tup[0] == 1 else 1):
            self.emit([tup[0], tup[0]])


class HangsAtOne(Bolt):
    outputs = ["number"]

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.calls = 0

    async def process(self, tup: Tuple) -> None:  # type: ignore[override]
        self.calls += 1
        await asyncio.sleep(10_000 if tup["key"] == 1 and self.calls > 3 else SECONDS)
        self.emit([tup["number"]])


@pytest.mark.parametrize("steps", range(6))
def test_an_idle_replica_takes_what_comes_while_another_finds_no_room(steps: int) -> None:
    class Line(Topology):
        config = {"topology.executor.receive.buffer.size": 8, "topology.message.timeout.secs": 50_000}
        numbers = Numbers.spec()
        repeats = Repeats.spec(inputs={numbers: Grouping.SHUFFLE}, par=2)
        hangs = HangsAtOne.spec(inputs={repeats: Grouping.fields("key")}, par=8)

    # it comes at about the moment when one row more of the one that holds back finds room
    numbers: list[Any] = [[1], PAUSE(SECONDS), *[PAUSE(0)] * steps, [2], PAUSE(10_000)]
    with StepRun(Line, 1, inputs={"numbers": numbers}) as run:
        run.advance(1)
        assert [row[0] for row in run.emitted["hangs"]["default"]].count(2) == 1


class StartsLate(Computes):
    waits_for_it: bool

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        if ctx.restarted and self.waits_for_it:
            raise ConnectionError("not there yet")


@pytest.mark.parametrize("tracked", [True, False])
def test_what_waits_for_a_replica_that_could_not_be_started_is_done_although_it_is_put_out(
    tracked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Line(Topology):
        numbers = Numbers.spec()
        first = Computes.spec(inputs={numbers: Grouping.SHUFFLE})
        second = StartsLate.spec(inputs={first: Grouping.SHUFFLE}, par=2)

    monkeypatch.setattr(StartsLate, "waits_for_it", True, raising=False)
    numbers: list[Any] = [PAUSE(1), *(each for row in rows(60) for each in (row, PAUSE(0.1)))]
    with StepRun(Line, 2, inputs={"numbers": numbers}, options=StepOptions(tracked=tracked)) as run:
        run.kill("w1")
        run.settle()
        run.restart("w1")
        run.advance(4)
        assert run.workers["w1"].pool.states["second", 1] is ReplicaState.ACTIVE
        run.set_active("second", 1)
        run.advance(1)
        monkeypatch.setattr(StartsLate, "waits_for_it", False)
        run.run_to_end()
        assert sorted(number for number, _ in run.emitted["second"]["default"]) == list(range(60))
        assert run.verdicts.failed["numbers"] == []
        assert [report.index for report in run.journal.of("parked") if report.component == "second"][-1] == 1


class TakesLong(Waits):
    concurrency = 1

    async def process(self, tup: Tuple) -> None:  # type: ignore[override]
        await asyncio.sleep(0.5)


@pytest.mark.parametrize("seed", [29, 34])
def test_no_count_changes_behind_an_unchanged_activity(seed: int) -> None:
    """Of a worker that dies the counts are those that it last told by itself, which it does when its activity has changed."""
    random = Random(seed)
    numbers: list[Any] = [each for row in rows(300) for each in (row, PAUSE(0.1 if random.random() < 0.1 else 0))]
    options = StepOptions(tracked=False, seed=seed, delays=True)
    with StepRun(waiting(TakesLong, 3, 3, Grouping.SHUFFLE), 3, inputs={"numbers": numbers}, options=options) as run:
        told: dict[str, tuple[Any, Any]] = {}
        for _ in range(200):
            run.advance(0.05)
            for name, worker in run.workers.items():
                now, counts = activity(worker), take_counts(worker, 1)
                before, last = told.get(name, (None, None))
                assert now != before or counts == last
                told[name] = now, counts


def test_what_is_left_where_a_replica_has_gone_home_is_nobody_elses_load() -> None:
    numbers: list[Any] = [PAUSE(1), *rows(50)]
    with StepRun(waiting(TakesLong, 2, 2, Grouping.SHUFFLE), 3, inputs={"numbers": numbers}, options=StepOptions(replays=9)) as run:
        run.kill("w1")
        run.settle()
        run.advance(4)
        away = run.controller.table.components["waits"].places[0]
        run.restart("w1")
        run.advance(2)
        assert run.controller.table.components["waits"].places[0] == "w1" != away
        assert run.workers[away].residents.inboxes["waits"].count > 5
        for _ in range(20):
            run.advance(0.1)
            home = run.workers["w1"]
            seen = home.keeper.loads["waits"].waiting(0, run.clock.peek())
            assert seen < (home.residents.inboxes["waits"].count + 3) * 0.5
        run.run_to_end()


@pytest.mark.parametrize("workers", [2, 3])
def test_a_queue_whose_last_replica_goes_home_is_reported_no_more(workers: int) -> None:
    numbers: list[Any] = [each for row in rows(300) for each in (row, PAUSE(0.01))]
    with StepRun(waiting(Computes, 1, 1), workers, inputs={"numbers": numbers}, options=StepOptions(replays=3)) as run:
        run.advance(0.5)
        home = next(name for name, worker in run.workers.items() if worker.residents.executors)
        run.kill(home)
        run.settle()
        run.advance(0.55)
        run.restart(home)
        run.settle()
        run.run_to_end()
        assert run.journal.of("error") == []
        assert {row[0] for row in run.emitted["waits"]["default"]} == set(range(300))
