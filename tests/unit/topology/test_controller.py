"""The controller of a topology with real workers, in virtual time: starts, losses, repairs, ends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from pasps.activation import ActivationTable
from pasps.api import Grouping
from pasps.api.blueprint import Blueprint
from pasps.api.bolt import Bolt
from pasps.api.context import TopologyContext
from pasps.api.spout import Spout
from pasps.api.topology import Topology
from pasps.api.tuples import Tuple
from pasps.control.settings import ElasticSettings
from pasps.errors import BrokenError, ClosedError, ComponentStartError, CrashLoopError, InvalidError, UnmovableError, WorkerStartError
from pasps.topology.elastic import ElasticConfig
from pasps.topology.lives import MOST_DEATHS
from pasps.worker.messages import Awake, Fence
from tests.unit.in_process import InProcessTopology, rounds


class Feed(Spout):
    """Emits what `ready` has, and once more what failed."""

    outputs = ("n",)
    ready: ClassVar[list[int]] = []
    failed: ClassVar[list[int]] = []
    acked: ClassVar[list[int]] = []

    def next_tuple(self) -> None:
        if Feed.ready:
            number = Feed.ready.pop(0)
            self.emit([number], tup_id=number)

    def ack(self, tup_id: int) -> None:
        Feed.acked.append(tup_id)

    def fail(self, tup_id: int) -> None:
        if tup_id not in Feed.failed:
            Feed.ready.append(tup_id)
        Feed.failed.append(tup_id)


class Held(Bolt):
    """Is done with what it has when `go` is set, and says where it was."""

    go: ClassVar[asyncio.Event]
    seen: ClassVar[list[tuple[str, int]]] = []

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.worker = ctx.worker_id

    async def process(self, tup: Tuple) -> None:
        Held.seen.append((self.worker, tup["n"]))
        await Held.go.wait()


class Plain(Bolt):
    def process(self, tup: Tuple) -> None:
        pass


class Locked(Plain):
    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.lock = threading.Lock()


class Broken(Bolt):
    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        raise RuntimeError("no luck today")

    def process(self, tup: Tuple) -> None:
        pass


class Raising(Bolt):
    def process(self, tup: Tuple) -> None:
        raise ValueError(f"not {tup['n']}")


class Flow(Topology):
    feed = Feed.spec()
    held = Held.spec(inputs=[feed], par=2, pool=4)
    counted = Plain.spec(inputs={feed: Grouping.fields("n")}, par=2, pool=4)


class Failing(Topology):
    feed = Feed.spec()
    broken = Broken.spec(inputs=[feed])


class Complaining(Topology):
    feed = Feed.spec()
    raising = Raising.spec(inputs=[feed])


class Stuck(Topology):
    feed = Feed.spec()
    locked = Locked.spec(inputs={feed: Grouping.fields("n")}, par=2, pool=4)


class Bench(InProcessTopology):
    """A topology that runs."""

    def __init__(self, workers: int = 3, blueprint: Blueprint | None = None, *, elastic: bool = False, start: bool = True) -> None:
        Feed.ready, Feed.failed, Feed.acked, Held.seen, Held.go = [], [], [], [], asyncio.Event()
        settings = ElasticSettings.from_config({"pasps.predictor": "none"})
        config = ElasticConfig(settings, "pasps") if elastic else None
        super().__init__(blueprint or Flow.blueprint(), workers, control=config)
        if start:
            self.started(awake=True)

    @property
    def table(self) -> ActivationTable:
        return self.controller.publisher.table

    def active(self) -> dict[str, int]:
        return {name: len(routing.active) for name, routing in self.table.components.items()}

    def alive(self) -> set[str]:
        """Whose processes run."""
        return {name for name, worker in self.launcher.workers.items() if worker.reap() is None}

    def fences(self) -> int:
        """How often workers were told to fail what is under way."""
        return sum(isinstance(heard, Fence) for worker in self.launcher.workers.values() for heard in worker.heard)


@pytest.fixture(autouse=True)
def _all_end() -> Iterator[None]:
    yield
    Bench.close_all()


# ---- starts


def test_all_workers_are_told_the_same_table_and_are_connected_in_pairs() -> None:
    bench = Bench()
    workers = bench.launcher.workers
    assert [worker.launch.table for worker in workers.values() if worker.launch is not None] == [bench.table] * 3
    assert {name: worker.peers for name, worker in workers.items()} == {"w0": set(), "w1": {"w0"}, "w2": {"w0", "w1"}}
    assert [(info.id, info.incarnation) for info in bench.controller.workers()] == [("w0", 1), ("w1", 1), ("w2", 1)]
    assert bench.controller.state == "RUNNING"
    assert all(Awake(True) in worker.heard for worker in workers.values())


def test_what_does_not_initialize_is_told_in_its_words_and_nothing_runs_on() -> None:
    bench = Bench(2, Failing.blueprint(), start=False)
    with pytest.raises(ComponentStartError, match="no luck today"):
        bench.run(bench.controller.start())
    assert (bench.controller.state, bench.alive()) == ("CLOSED", set())


def test_when_one_has_no_place_those_that_have_one_end() -> None:
    bench = Bench(2, start=False)
    bench.launcher.faults["place", "w1"] = WorkerStartError("worker w1: no memory")
    with pytest.raises(WorkerStartError, match="no memory"):
        bench.run(bench.controller.start())
    assert bench.alive() == set()


def test_one_that_waits_for_others_and_dies_meanwhile_is_a_failed_start() -> None:
    bench = Bench(2, start=False)
    bench.launcher.faults["introduce", "w1"] = "dies"
    with pytest.raises(WorkerStartError, match="ended before it was ready"):
        bench.run(bench.controller.start())
    assert bench.alive() == set()


# ---- a worker is lost


def test_what_a_lost_worker_ran_goes_elsewhere_at_once_and_home_when_it_is_back() -> None:
    bench = Bench()
    first = bench.table
    bench.launcher.place_seconds = 5.0
    bench.run(bench.die("w1"))
    assert bench.table.workers == {"w0": 1, "w2": 1}
    assert all(routing.places[replica] != "w1" for routing in bench.table.components.values() for replica in routing.active)
    assert bench.active() == {"feed": 1, "held": 2, "counted": 2}
    bench.run(asyncio.sleep(4.0))
    assert "w1" not in bench.table.workers
    bench.run(asyncio.sleep(2.0))
    assert bench.table.workers == {"w0": 1, "w1": 2, "w2": 1}
    assert bench.table.components == first.components
    assert bench.controller.publisher.confirmed(bench.table.version)
    assert bench.launcher.workers["w1"].peers == {"w0", "w2"}


def test_what_was_pending_is_failed_when_nobody_sends_to_the_dead_any_more_and_comes_again() -> None:
    bench = Bench()
    Feed.ready.extend(range(8))
    bench.run(asyncio.sleep(1.0))
    spout = bench.table.components["feed"].worker_of(0)
    lost = next(worker for worker, _ in Held.seen if worker != spout)
    seen = len(Held.seen)
    assert sorted(Feed.acked + Feed.failed) == []
    bench.run(bench.die(lost))
    Held.go.set()
    bench.run(asyncio.sleep(2.0))
    assert sorted(Feed.failed) == list(range(8)), "everything that was pending, wherever it was"
    assert sorted(Feed.acked) == list(range(8))
    assert {number for _, number in Held.seen[seen:]} == set(range(8))
    stats = bench.run(bench.controller.stats())
    assert (stats.emitted_first, stats.acked, stats.replayed, stats.pending) == (8, 8, 8, 0)


def test_two_that_die_together_come_back_and_are_connected_with_each_other() -> None:
    bench = Bench()

    async def both() -> None:
        for name in ("w1", "w2"):
            bench.launcher.workers[name].die()
        for name in ("w1", "w2"):
            await bench.wait_lives(name)
        await asyncio.sleep(1.0)

    bench.run(both())
    assert bench.table.workers == {"w0": 1, "w1": 2, "w2": 2}
    peers = {name: worker.peers for name, worker in bench.launcher.workers.items()}
    assert ("w2" in peers["w1"]) is not ("w1" in peers["w2"]), "one of them dialled"
    assert "w0" in peers["w1"] & peers["w2"]
    assert not bench.controller.errors


def test_one_that_somebody_killed_is_a_loss_and_no_error_and_one_that_ended_by_itself_is_both() -> None:
    bench = Bench()
    bench.run(bench.die("w1"))
    bench.run(bench.wait_lives("w1"))
    assert (bench.controller.lost, list(bench.controller.errors)) == (1, [])
    bench.run(bench.die("w1", 7))
    bench.run(bench.wait_lives("w1"))
    (error,) = bench.controller.errors
    assert error.text == "worker w1 died: its process ended with status 7, as by os._exit in user code"
    assert error.where == "a worker"
    assert bench.controller.lost == 2
    assert [loss.text.partition(":")[0] for loss in bench.controller.losses] == ["worker w1 died"] * 2


def test_one_that_does_not_answer_is_given_up_after_three_beats() -> None:
    bench = Bench()
    bench.launcher.workers["w2"].silent = True
    bench.run(asyncio.sleep(3.5))
    assert bench.controller.lost == 0
    bench.run(asyncio.sleep(2.0))
    assert bench.controller.lost == 1
    assert "it did not answer for 3 s" in bench.controller.losses[0].text
    bench.run(bench.wait_lives("w2"))


def test_one_that_dies_before_it_has_joined_is_tried_again_and_was_never_a_member() -> None:
    bench = Bench()
    bench.launcher.faults["connect", "w1"] = "dies"
    bench.run(bench.die("w1"))
    bench.run(bench.wait_lives("w1"))
    assert bench.table.workers["w1"] == 3
    assert bench.controller.lost == 2, "both deaths are told of"


def test_one_that_cannot_live_is_told_once_and_is_a_reason_to_stop_waiting() -> None:
    bench = Bench()
    bench.run(bench.crash("w1", MOST_DEATHS + 2))
    (trouble,) = bench.controller.troubles()
    assert trouble.startswith(f"worker w1 cannot live: it died {MOST_DEATHS + 2} times within a minute")
    assert sum("cannot live" in error.text for error in bench.controller.errors) == 1
    with pytest.raises(CrashLoopError, match="worker w1 cannot live"):
        bench.run(bench.controller.wait_finished(100.0))
    assert not bench.run(bench.controller.wait_finished(1.0, heed=False)), "who does not heed it waits on"
    bench.run(asyncio.sleep(61.0))
    assert bench.controller.troubles() == [], "it has lived for a minute"


def test_while_nobody_lives_bolts_cannot_be_set_and_the_reason_is_said() -> None:
    bench = Bench(1)
    bench.run(bench.crash("w0"))
    bench.launcher.faults["place", "w0"] = "never"
    bench.run(bench.die("w0", 7))
    began = bench.clock.now()
    with pytest.raises(BrokenError, match="no worker of topology 'flow' is alive: worker w0 cannot live"):
        bench.run(bench.controller.set_active("held", 3))
    assert bench.clock.now() - began == pytest.approx(10.0)


# ---- a connection is lost


def test_two_that_lose_their_connection_are_connected_again_and_what_was_under_way_is_failed() -> None:
    bench = Bench(2)
    Feed.ready.append(1)
    bench.run(asyncio.sleep(1.0))
    before, fences = bench.table, bench.fences()
    bench.launcher.workers["w1"].connections[0].abort("broken by the test")
    bench.run(asyncio.sleep(1.0))
    assert bench.controller.lost == 0
    assert (bench.table.workers, bench.table.components) == (before.workers, before.components)
    assert bench.table.version == before.version + 1, "the same again, so that everyone marks it"
    assert bench.fences() == fences + 2
    assert Feed.failed == [1]
    assert len(bench.launcher.workers["w1"].connections) == 2


def test_when_they_cannot_be_connected_again_one_of_them_is_started_anew() -> None:
    bench = Bench(2)
    bench.launcher.faults["connect", "w1"] = BrokenError("refused")
    bench.launcher.workers["w1"].connections[0].abort("broken by the test")
    bench.run(asyncio.sleep(1.0))
    assert "it could not be connected with worker w1 again" in bench.controller.losses[0].text
    bench.run(bench.wait_lives("w0"))
    assert bench.table.workers == {"w0": 2, "w1": 1}


# ---- what users ask for


def test_bolts_are_set_and_the_workers_that_live_then_route_by_it() -> None:
    bench = Bench()
    version = bench.run(bench.controller.set_active("held", 4))
    assert (version, bench.active()["held"]) == (2, 4)
    assert bench.controller.publisher.confirmed(version)
    assert bench.run(bench.controller.set_active("held", 4)) == 2, "nothing has changed"
    for component, count in (("feed", 1), ("held", 5), ("held", 0), ("nobody", 1)):
        with pytest.raises(InvalidError):
            bench.run(bench.controller.set_active(component, count))


def test_what_is_refused_leaves_a_policy_as_free_as_it_was() -> None:
    bench = Bench(3, Stuck.blueprint(), elastic=True)
    assert bench.controller.elastic is not None
    with pytest.raises(UnmovableError):
        bench.run(bench.controller.set_active("locked", 3))
    assert bench.controller.elastic.view().held == {}
    with pytest.raises(InvalidError, match="expected the id of a bolt"):
        bench.controller.release("feed")


def test_without_a_policy_nothing_can_be_released() -> None:
    with pytest.raises(InvalidError, match="nobody else decides"):
        Bench().controller.release("held")


def test_what_user_code_raises_is_kept_with_its_place() -> None:
    bench = Bench(1, Complaining.blueprint())
    Feed.ready.append(5)
    bench.run(asyncio.sleep(0.1))
    error = bench.controller.errors[0]
    assert error.where == "component 'raising', task 2"
    assert "ValueError: not 5" in error.text


# ---- ends


def test_at_its_end_workers_are_closed_and_nothing_is_a_loss() -> None:
    bench = Bench()
    bench.run(bench.controller.close())
    assert (sorted(bench.launcher.closed), bench.alive()) == (["w0", "w1", "w2"], set())
    assert (bench.controller.state, bench.controller.lost) == ("CLOSED", 0)
    for asked in (bench.controller.stats(), bench.controller.set_active("held", 1), bench.controller.drain(1.0)):
        with pytest.raises(ClosedError, match="topology 'flow' is closed"):
            bench.run(asked)


def test_one_that_does_not_come_to_its_end_is_ended_after_five_seconds() -> None:
    bench = Bench()
    bench.launcher.close_seconds = 100.0
    began = bench.clock.now()
    bench.run(bench.controller.close())
    assert bench.alive() == set()
    assert bench.clock.now() - began == pytest.approx(5.0)


def test_an_end_that_has_begun_is_done_although_nobody_waits_for_it() -> None:
    bench = Bench()
    bench.launcher.close_seconds = 2.0

    async def impatient() -> None:
        closing = asyncio.create_task(bench.controller.close())
        await asyncio.sleep(1.0)
        closing.cancel()
        await rounds()
        assert closing.cancelled()
        await bench.controller.close()

    bench.run(impatient())
    assert (bench.controller.state, bench.alive()) == ("CLOSED", set())


def test_one_that_is_being_started_again_does_not_outlive_the_end() -> None:
    bench = Bench()
    bench.launcher.introduce_seconds = 5.0
    bench.run(bench.die("w1"))
    bench.run(asyncio.sleep(1.0))
    assert "w1" in bench.alive()
    bench.run(bench.controller.close())
    assert bench.alive() == set()


def test_who_kills_it_drains_it_first_for_as_long_as_is_said(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    Feed.ready.append(1)
    bench.run(asyncio.sleep(1.0))
    began = bench.clock.now()
    bench.run(bench.controller.kill(7.0))
    assert bench.clock.now() - began == pytest.approx(7.0, abs=0.1)
    assert bench.launcher.spouts[-1][1] is False
    assert [record.message for record in caplog.records if record.message.startswith("killed before it was drained")]
    assert bench.alive() == set()
