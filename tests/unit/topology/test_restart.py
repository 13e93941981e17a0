"""A restart of all workers, in virtual time and without processes: its order, what it hands to whom, and what goes wrong on the way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from pasps.activation import with_active
from pasps.api import Grouping
from pasps.api.bolt import Bolt
from pasps.api.context import TopologyContext
from pasps.api.spout import Spout
from pasps.api.topology import Topology
from pasps.control.decision_log import Act, Outcome, Restarted, Restarts
from pasps.errors import BrokenError, EndOfInput, PaspsError, WorkerStartError
from pasps.metrics import ReplicaCounts, WorkerCounts
from pasps.topology import workforce as workforce_module
from pasps.topology.workforce import START_SECONDS
from tests.unit.in_process import InProcessTopology, rounds

CLOSE, PLACE, INTRODUCE = 0.5, 1.0, 2.0
"""What the workers take: all at once."""
NINETY = msgspec.msgpack.encode("ninety")


class Quiet(Spout):
    """Has nothing to say, and is at its end until it is started anew."""

    outputs = ("n",)

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.restarted = ctx.restarted

    def next_tuple(self) -> None:
        if not self.restarted:
            raise EndOfInput


class Plain(Bolt):
    def process(self, tup: Any) -> None:
        pass


class Chain(Topology):
    numbers = Quiet.spec()
    wide = Plain.spec(inputs=[numbers], par=1, pool=4)
    keyed = Plain.spec(inputs={numbers: Grouping.fields("n")}, par=1, pool=4)


class Bench(InProcessTopology):
    """A topology that runs, and what it says of its restarts. Its time begins at 0 when all its workers are there."""

    def __init__(self, wait: float = 30.0, silence: float = 0.0, workers: int = 2) -> None:
        config = {"pasps.restart.wait.secs": wait, "pasps.restart.silence.secs": silence}
        super().__init__(Chain.blueprint(config=config), workers)
        self.started(awake=True)
        self.launcher.place_seconds, self.launcher.introduce_seconds, self.launcher.close_seconds = PLACE, INTRODUCE, CLOSE
        self.said: list[tuple[float, str]] = []
        self.restart, self.publisher = self.controller.restarts, self.controller.publisher
        self.restart.tell = lambda text: self.said.append((round(self.clock.now(), 3), text))

    def restarted(self, wanted: Mapping[str, int], *beside: Callable[[], Awaitable[None]], held: Collection[str] = ()) -> Any:
        async def body() -> Any:
            others = [asyncio.ensure_future(other()) for other in beside]
            found = await self.restart.carry_out(wanted, held)
            await asyncio.gather(*others)
            return found

        found = self.run(body())
        self.run(rounds())
        return found

    def all_live(self) -> None:
        """Wait until all do, and see that whatever changes replicas can."""

        async def body() -> None:
            for worker in self.controller.workforce.ids:
                await self.wait_lives(worker)
            await asyncio.sleep(1.0)
            await self.controller.set_active("wide", 4)

        self.run(body())

    def active(self) -> dict[str, int]:
        return {name: len(routing.active) for name, routing in self.publisher.table.components.items()}

    def positions(self) -> list[dict[int, bytes]]:
        """Where spouts are to go on, as those workers were told that were started anew."""
        launches = [worker.launch for worker in self.launcher.workers.values()]
        return [launch.positions for launch in launches if launch is not None and launch.restarted]


@pytest.fixture(autouse=True)
def _all_end() -> Iterator[None]:
    yield
    Bench.close_all()


# ---- what it does when nothing goes wrong


def test_the_spouts_stop_it_waits_workers_end_and_begin_and_the_spouts_go_on() -> None:
    bench = Bench()
    acts, version, took = bench.restarted({"wide": 3})
    assert acts == {"wide": Act(1, 3, 3, Outcome.DONE)}
    assert took == Restarted(30.0, CLOSE + PLACE + INTRODUCE)
    assert bench.launcher.spouts == [(0.0, False), (33.5, True)]
    assert bench.launcher.closed == ["w0", "w1"]
    assert (version, bench.publisher.table.version) == (3, 3), "one without workers lay between"
    assert bench.publisher.table.workers == {"w0": 2, "w1": 2}
    assert bench.active() == {"numbers": 1, "wide": 3, "keyed": 1}


def test_spouts_that_were_at_their_end_have_begun_anew() -> None:
    bench = Bench()
    assert bench.run(bench.controller.wait_finished(5.0))
    bench.restarted({"wide": 3})
    assert not bench.run(bench.controller.wait_finished(5.0))


def test_all_are_made_by_the_table_that_then_holds_and_are_connected_in_pairs() -> None:
    bench = Bench(workers=3)
    bench.restarted({"wide": 2, "keyed": 2})
    workers = bench.launcher.workers.values()
    assert [worker.launch.table for worker in workers if worker.launch is not None] == [bench.publisher.table] * 3
    assert {worker.name: worker.peers for worker in workers} == {"w0": set(), "w1": {"w0"}, "w2": {"w0", "w1"}}
    assert bench.publisher.confirmed(bench.publisher.table.version)


def test_replicas_are_placed_as_at_the_beginning_whatever_scaling_had_made_of_it() -> None:
    bench = Bench()
    first = bench.publisher.table
    moved = with_active(with_active(first, "wide", 4), "wide", 1)
    bench.publisher.begin(moved.following(wide=replace(moved.components["wide"], active=(3,), places=("w0", "w0", "w0", "w0"))))
    bench.restarted({"wide": 2})
    assert {name: routing.places for name, routing in bench.publisher.table.components.items()} == {
        name: routing.places for name, routing in first.components.items()
    }
    assert bench.publisher.table.components["wide"].active == (0, 1)
    assert bench.publisher.table.version == 6


def test_bolts_that_are_not_in_the_plan_keep_their_number() -> None:
    bench = Bench()
    bench.publisher.begin(with_active(bench.publisher.table, "keyed", 3))
    bench.restarted({"wide": 2})
    assert bench.active() == {"numbers": 1, "wide": 2, "keyed": 3}


def test_a_silence_that_is_asked_for_is_kept_and_a_longer_one_is_not_shortened() -> None:
    assert Bench(wait=0.0, silence=9.0).restarted({"wide": 2})[2] == Restarted(0.0, 9.0)
    assert Bench(wait=0.0, silence=1.0).restarted({"wide": 2})[2] == Restarted(0.0, 3.5)


def test_it_says_what_it_does_for_as_long_as_it_does_it() -> None:
    bench = Bench(wait=5.0, silence=9.0)
    bench.restarted({"wide": 2})
    first = "all workers are to be started anew (wide 1 -> 2); before that the spouts are silent for 5 s"
    assert bench.said == [(0.0, first), (5.0, "all workers are being started anew (wide 1 -> 2)"), (14.0, "")]


def counts(worker: str, pending: int, queued: int, position: bytes) -> WorkerCounts:
    spout = ReplicaCounts("numbers", 0, worker, emitted={"default": 100}, acked=100 - pending, pending=pending)
    return WorkerCounts(worker, 1, 1, [spout, ReplicaCounts("wide", 0, worker, queued=queued)], [], {}, {1: position}, {}, 0.0)


def test_what_workers_say_at_their_end_is_what_was_under_way_and_where_spouts_go_on() -> None:
    bench = Bench()
    bench.launcher.last = {"w0": counts("w0", 7, 20, NINETY)}
    _, _, took = bench.restarted({"wide": 2})
    assert (took.replayed, took.dropped) == (7, 20)
    assert bench.positions() == [{1: NINETY}] * 2
    stats = bench.run(bench.controller.stats())
    assert (stats.emitted_first, stats.acked, stats.replayed, stats.pending) == (93, 93, 7, 0), "it counts as emitted when it comes again"


def test_restarts_add_up_and_what_was_dropped_is_lost_only_where_nothing_was_tracked() -> None:
    bench = Bench(wait=1.0)

    async def body() -> None:
        for number, (pending, queued) in enumerate(((7, 20), (0, 5), (0, 0))):
            bench.launcher.last = {"w0": counts("w0", pending, queued, NINETY)}
            await bench.restart.carry_out({"wide": 2 + number}, ())

    bench.run(body())
    assert bench.restart.so_far == Restarts(3, 3.0, 10.5, 7, 25, 5)


# ---- what is not to be restarted for


def test_nothing_is_restarted_for_what_is_so_already_or_held_by_hand() -> None:
    bench = Bench()
    assert bench.restarted({"wide": 1, "keyed": 3}, held={"keyed"}) == ({"keyed": Act(1, 3, 1, Outcome.HELD)}, 1, None)
    assert (bench.launcher.spouts, bench.clock.now()) == ([], 0.0)


def test_what_somebody_set_by_hand_while_it_waited_stays() -> None:
    held: set[str] = set()
    bench = Bench()

    async def by_hand() -> None:
        await asyncio.sleep(10.0)
        held.add("wide")
        await bench.publisher.change(lambda table: with_active(table, "wide", 4), 10.0)

    acts, _, took = bench.restarted({"wide": 2, "keyed": 2}, by_hand, held=held)
    assert acts == {"wide": Act(4, 2, 4, Outcome.HELD), "keyed": Act(1, 2, 2, Outcome.DONE)}
    assert took is not None
    assert bench.active() == {"numbers": 1, "wide": 4, "keyed": 2}


def test_when_nothing_is_left_to_change_after_the_wait_the_workers_live_on() -> None:
    held: set[str] = set()
    bench = Bench()

    async def by_hand() -> None:
        held.add("wide")

    acts, version, took = bench.restarted({"wide": 2}, by_hand, held=held)
    assert (acts, version, took) == ({"wide": Act(1, 2, 1, Outcome.HELD)}, 1, None)
    assert (bench.launcher.closed, bench.launcher.spouts) == ([], [(0.0, False), (30.0, True)])


def test_a_drain_calls_it_off_while_it_waits_and_not_any_more_when_workers_end() -> None:
    bench = Bench()

    async def drain() -> None:
        await asyncio.sleep(10.0)
        with bench.restart.withheld("the topology is drained"):
            pass  # it is not called off the less for a drain that is over at once

    assert bench.restarted({"wide": 2}, drain) == ({"wide": Act(1, 2, 1, Outcome.FAILED, "the topology is drained")}, 1, None)
    assert (bench.launcher.closed, bench.launcher.spouts) == ([], [(0.0, False), (10.0, True)])
    late = Bench(wait=9.75)
    assert late.restarted({"wide": 2}, lambda: _after(10.0, lambda: late.restart.withhold("too late")))[2] is not None


async def _after(seconds: float, act: Callable[[], None]) -> None:
    await asyncio.sleep(seconds)
    act()


def test_who_ends_the_topology_need_not_wait_until_a_silence_is_over() -> None:
    bench = Bench(wait=0.0, silence=60.0)
    acts, _, took = bench.restarted({"wide": 2}, lambda: _after(10.0, lambda: bench.restart.withhold("the topology is drained")))
    assert (acts["wide"].outcome, took) == (Outcome.DONE, Restarted(0.0, 10.0))
    assert bench.restart.so_far == Restarts(1, 0.0, 10.0)
    other = Bench(wait=0.0, silence=60.0)

    async def drain() -> None:
        await asyncio.sleep(10.0)
        with other.restart.withheld("the topology is drained"):
            pass

    assert other.restarted({"wide": 2}, drain)[2] == Restarted(0.0, 60.0), "it goes on after that drain"


def test_those_that_were_called_off_are_counted_and_those_that_never_began_are_not() -> None:
    bench = Bench()
    bench.restarted({"wide": 2}, lambda: _after(10.0, lambda: bench.restart.withhold("the topology is drained")))
    bench.restarted({"wide": 2})
    assert bench.restart.so_far == Restarts(called_off=1)


def test_none_begins_while_it_is_drained_and_the_next_one_after_that_does() -> None:
    bench = Bench(wait=1.0)
    with bench.restart.withheld("the topology is drained"):
        with bench.restart.withheld("the topology is drained"):
            pass  # two may drain at a time
        assert bench.restarted({"wide": 2}) == ({"wide": Act(1, 2, 1, Outcome.FAILED, "the topology is drained")}, 1, None)
    assert bench.launcher.spouts == []
    assert bench.restarted({"wide": 2})[2] == Restarted(1.0, 3.5)


def test_none_begins_any_more_once_it_is_withheld_for_good() -> None:
    bench = Bench(wait=1.0)
    bench.restart.withhold("the topology is drained")
    with bench.restart.withheld("the topology is drained"):
        pass
    assert bench.restarted({"wide": 2})[2] is None
    assert bench.launcher.closed == []


def test_a_second_one_meanwhile_is_refused_with_the_reason() -> None:
    bench = Bench()
    found = []

    async def second() -> None:
        await asyncio.sleep(31.0)
        found.append(await bench.restart.carry_out({"keyed": 4}, ()))

    bench.restarted({"wide": 2}, second)
    ((acts, _, took),) = found
    assert (took, acts["keyed"].outcome, acts["keyed"].after) == (None, Outcome.FAILED, 1)
    assert acts["keyed"].error == "a restart is under way: all workers are being started anew (wide 1 -> 2)"


def test_without_a_live_worker_there_is_nothing_to_restart() -> None:
    bench = Bench(workers=1)

    async def body() -> Any:
        await bench.die("w0")
        return await bench.restart.carry_out({"wide": 2}, ())

    acts, _, took = bench.run(body())
    assert (took, acts["wide"].error) == (None, "no worker is alive")


def test_when_all_died_while_it_waited_they_are_repaired_and_not_restarted() -> None:
    bench = Bench()

    async def die() -> None:
        await asyncio.sleep(10.0)
        for name in ("w0", "w1"):
            bench.launcher.faults["place", name] = 100.0
            await bench.die(name)

    acts, _, took = bench.restarted({"wide": 2}, die)
    assert (took, acts["wide"].outcome, acts["wide"].error) == (None, Outcome.FAILED, "no worker is alive")
    assert (bench.clock.now(), bench.restart.asleep) == (30.0, False)
    bench.all_live()
    assert (bench.launcher.spouts[-1][1], bench.launcher.closed) == (True, [])


def test_who_changes_replicas_meanwhile_waits_until_workers_live() -> None:
    bench = Bench(wait=0.0)

    async def change() -> None:
        await asyncio.sleep(1.0)
        await bench.restart.over()
        assert bench.publisher.table.workers == {"w0": 2, "w1": 2}
        await bench.publisher.change(lambda table: with_active(table, "keyed", 2), 10.0)

    bench.restarted({"wide": 2}, change)
    assert bench.active() == {"numbers": 1, "wide": 2, "keyed": 2}


# ---- what goes wrong


@pytest.mark.parametrize(
    ("what", "failure", "told"),
    [
        ("place", WorkerStartError("worker w1: no memory"), "worker w1: no memory"),
        ("introduce", BrokenError("no database"), "worker w1 could not start:\nno database"),
        ("connect", BrokenError("refused"), "worker w1: worker w0: not connected to its peers"),
    ],
)
def test_a_worker_that_does_not_come_up_is_repaired_and_the_others_go_on(
    what: str, failure: PaspsError, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    bench = Bench()
    bench.launcher.faults[what, "w1"] = failure
    bench.launcher.unreachable = {"w1"} if what == "connect" else set()
    acts, _, took = bench.restarted({"wide": 3, "keyed": 2})
    assert took is not None
    assert {act.outcome for act in acts.values()} == {Outcome.DONE}
    assert bench.publisher.table.workers == {"w0": 2}
    assert all(routing.places[replica] == "w0" for routing in bench.publisher.table.components.values() for replica in routing.active), (
        "all that is active is where somebody lives"
    )
    assert bench.active() == {"numbers": 1, "wide": 3, "keyed": 2}
    assert bench.launcher.spouts[-1][1]
    assert did_not_come_back(caplog) == [f"worker w1 did not come back: {told}"]
    bench.launcher.unreachable.clear()
    bench.all_live()
    assert bench.launcher.launched.count("w1") == (2 if what == "place" else 3)


def did_not_come_back(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if "did not come back" in record.message]


def test_a_place_that_is_not_found_is_not_waited_for_longer_than_a_worker_that_starts(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench(wait=0.0)
    bench.launcher.faults["place", "w0"] = "never"
    _, _, took = bench.restarted({"wide": 2})
    assert took == Restarted(0.0, CLOSE + START_SECONDS + INTRODUCE)
    assert bench.publisher.table.workers == {"w1": 2}
    assert "no place for it" in did_not_come_back(caplog)[0]
    bench.all_live()
    assert bench.publisher.table.components["wide"].places == ("w1", "w0", "w1", "w0"), "it was expected back"


@pytest.mark.parametrize("what", ["introduce", "connect"])
def test_a_worker_that_dies_before_all_live_is_lost_as_any_other(what: str) -> None:
    bench = Bench(workers=3)
    bench.launcher.faults[what, "w1"] = "dies"
    acts, _, _ = bench.restarted({"wide": 3})
    assert acts["wide"] == Act(1, 3, 3, Outcome.DONE)
    assert bench.publisher.table.workers == {"w0": 2, "w2": 2}
    assert bench.controller.lost == 1
    bench.all_live()
    assert bench.launcher.launched.count("w1") == 3, "it was started again when it died, and not once more for the restart"


def test_a_worker_that_died_before_it_was_dialled_keeps_the_others_from_nothing() -> None:
    bench = Bench()
    bench.launcher.faults["connect", "w1"] = BrokenError("w0: connection refused")
    bench.restarted({"wide": 2})
    assert bench.publisher.table.workers == {"w0": 2, "w1": 2}, "tried again"
    assert bench.launcher.workers["w1"].peers == {"w0"}


def test_a_loss_before_the_workers_end_is_repaired_as_ever_and_who_lives_then_is_started_anew() -> None:
    bench = Bench()
    bench.launcher.faults["place", "w0"] = 100.0
    _, _, took = bench.restarted({"wide": 2}, lambda: _dies(bench, 10.0, "w0"))
    assert took is not None
    assert bench.launcher.closed == ["w1"]
    assert bench.publisher.table.workers == {"w1": 2}
    assert bench.controller.lost == 1
    bench.all_live()
    assert sorted(bench.launcher.launched) == ["w0", "w0", "w1", "w1"]


async def _dies(bench: Bench, seconds: float, worker: str) -> None:
    await asyncio.sleep(seconds)
    await bench.die(worker)


def test_who_is_about_to_join_joins_before_or_after() -> None:
    """A worker that came back with a table of before must not be told of another one between two steps of its join."""
    bench = Bench(wait=5.0)
    bench.launcher.faults["connect", "w0"] = 20.0
    ended = []

    async def look() -> None:
        await asyncio.sleep(15.0)
        ended.append(len(bench.launcher.closed))

    bench.run(bench.die("w0"))
    _, _, took = bench.restarted({"wide": 2}, look)
    assert ended == [0]
    assert took is not None
    assert took.waited == pytest.approx(0.05 + PLACE + INTRODUCE + 20.0)
    assert sorted(bench.launcher.closed) == ["w0", "w1"], "it had joined"


def test_when_nobody_comes_back_the_act_failed_and_all_are_repaired() -> None:
    bench = Bench()
    for name in ("w0", "w1"):
        bench.launcher.faults["place", name] = WorkerStartError(f"worker {name}: no memory")
    acts, _, took = bench.restarted({"wide": 2})
    assert took is not None
    assert (acts["wide"].outcome, acts["wide"].error) == (Outcome.FAILED, "no worker has come back yet; they are started again")
    assert bench.publisher.table.workers == {}
    bench.all_live()
    assert bench.publisher.table.workers == {"w0": 3, "w1": 3}


@pytest.mark.parametrize("moment", [10.0, 30.2, 31.0, 32.0])
def test_who_gives_it_up_halfway_leaves_a_topology_that_is_repaired_and_hears_what_became_of_it(moment: float) -> None:
    bench = Bench()

    async def body() -> Any:
        task = asyncio.ensure_future(bench.restart.carry_out({"wide": 2}, ()))
        await asyncio.sleep(moment)
        task.cancel()
        return await task

    acts, version, took = bench.run(body())
    assert (bench.restart.under_way, bench.restart.asleep) == ("", False)
    assert not bench.publisher.lock.locked()
    assert bool(bench.publisher.table.workers) is (moment < 30.0)
    assert version == bench.publisher.table.version
    if moment < 30.0:
        assert (acts, took) == ({"wide": Act(1, 2, 1, Outcome.FAILED, "the topology ended before all workers were started anew")}, None)
        assert bench.restart.so_far == Restarts(called_off=1)
    else:
        assert (acts, took) == (
            {"wide": Act(1, 2, 1, Outcome.FAILED, "the topology ended before all workers were started anew")},
            Restarted(30.0, moment - 30.0),
        )
        assert bench.restart.so_far == Restarts(1, 30.0, moment - 30.0)
    bench.all_live()
    assert bench.launcher.spouts[-1][1]


def test_who_gives_it_up_in_the_silence_after_it_hears_that_it_was_done() -> None:
    bench = Bench(wait=0.0, silence=60.0)
    bench.launcher.last = {"w0": counts("w0", 7, 20, NINETY)}

    async def body() -> Any:
        task = asyncio.ensure_future(bench.restart.carry_out({"wide": 2}, ()))
        await asyncio.sleep(10.0)
        task.cancel()
        return await task

    acts, _, took = bench.run(body())
    assert (acts, took) == ({"wide": Act(1, 2, 2, Outcome.DONE)}, Restarted(0.0, 10.0, 7, 20))
    assert bench.restart.so_far == Restarts(1, 0.0, 10.0, 7, 20)


def test_what_was_under_way_when_it_was_given_up_between_workers_is_counted() -> None:
    bench = Bench(wait=0.0)
    bench.launcher.last = {"w0": counts("w0", 7, 20, NINETY)}

    async def body() -> Any:
        task = asyncio.ensure_future(bench.restart.carry_out({"wide": 2}, ()))
        await asyncio.sleep(CLOSE + 0.5)
        task.cancel()
        return await task

    assert bench.run(body())[2] == Restarted(0.0, 1.0, 7, 20)


def test_what_nobody_has_thought_of_leaves_one_too(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench()
    monkeypatch.setattr(workforce_module, "_those_done", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        bench.restarted({"wide": 2})
    assert bench.publisher.table.workers == {}
    bench.all_live()
    assert bench.launcher.spouts[-1][1]
