"""A restart of all workers, in virtual time and without processes: its order, what it hands to whom, and what goes wrong on the way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from pasps.activation import ActivationTable, with_active
from pasps.api import Grouping
from pasps.api.bolt import Bolt
from pasps.api.topology import Topology
from pasps.control.decision_log import Act, Outcome, Restarted, Restarts
from pasps.control.publisher import TablePublisher
from pasps.control.settings import RestartSettings
from pasps.errors import BrokenError, ComponentStartError, PaspsError, WorkerStartError
from pasps.metrics import ReplicaCounts, WorkerCounts
from pasps.simulation.virtual_time import VirtualClock, run_virtually
from pasps.topology import restart as restart_module
from pasps.topology.census import Census
from pasps.topology.homes import Homes
from pasps.topology.keeper import NoKeeper, Resume
from pasps.topology.restart import Restart
from pasps.topology.workforce import START_SECONDS
from pasps.worker.messages import Counts
from tests.unit.cli.builders import Numbers

CLOSE, PLACE, INTRODUCE = 0.5, 1.0, 2.0
"""What the fakes take: all workers at once."""


class Plain(Bolt):
    def process(self, tup: Any) -> None:
        pass


class Chain(Topology):
    numbers = Numbers.spec()
    wide = Plain.spec(inputs=[numbers], par=1, pool=4)
    keyed = Plain.spec(inputs={numbers: Grouping.fields("n")}, par=1, pool=4)


@dataclass
class Link:
    """A worker as its controller knows it; the real one has a process."""

    worker: str
    incarnation: int
    where: tuple[str, ...] = ("here",)
    counts: WorkerCounts | None = None
    table: ActivationTable | None = None
    peers: set[str] = field(default_factory=set)


Fault = PaspsError | str
"""What is raised, or "never": it does not come back, or "dies": it is gone a moment later."""


class Workers:
    """As much of a `Workforce` as a restart uses. `faults` by what is asked and of whom: each once. Who is `unreachable` stays so."""

    def __init__(self, bench: Bench, names: Iterable[str]) -> None:
        self.links = {name: Link(name, 1) for name in names}
        self.faults: dict[tuple[str, str], Fault] = {}
        self.unreachable: set[str] = set()
        self.closed: list[Link] = []
        self.last: dict[str, WorkerCounts] = {}
        """What workers say at their end."""
        self._bench = bench

    async def close(self, links: Iterable[Link]) -> None:
        ending = list(links)
        self.closed += ending
        for link in ending:
            del self.links[link.worker]
        await asyncio.sleep(CLOSE)
        for link in ending:
            if link.worker in self.last:
                self._bench.census.take(cast("Any", link), Counts(0, self.last[link.worker]))

    async def place(self, worker: str) -> Link:
        await asyncio.sleep(PLACE)
        await self._fault("place", worker)
        link = Link(worker, self._bench.incarnations.setdefault(worker, 1) + 1)
        self._bench.incarnations[worker] += 1
        self.links[worker] = link
        return link

    async def introduce(self, link: Link, table: ActivationTable, positions: dict[int, bytes], *, restarted: bool) -> None:
        assert restarted
        await asyncio.sleep(INTRODUCE)
        await self._fault("introduce", link.worker)
        link.table = table
        self._bench.positions.append(dict(positions))

    async def connect(self, link: Link, peers: Collection[str]) -> None:
        await self._fault("connect", link.worker)
        if link.worker in self.unreachable:
            raise BrokenError(f"worker {link.worker}: not connected to its peers")
        link.peers |= set(peers)

    def hosts(self) -> dict[str, str]:
        return dict.fromkeys(self.links, "here")

    async def _fault(self, what: str, worker: str) -> None:
        fault = self.faults.pop((what, worker), None)
        if fault == "never":
            await asyncio.Event().wait()
        elif fault == "dies":
            self.die(worker)
        elif isinstance(fault, PaspsError):
            raise fault

    def die(self, worker: str) -> None:
        """Its control connection ends, and repair hears of it."""
        del self.links[worker]
        self._bench.dead.append(worker)
        self._bench.publisher.lose(worker)


class Bench:
    """A restart, and what is around it. `log` has what was said to the spouts, and when."""

    def __init__(self, wait: float = 30.0, silence: float = 0.0, workers: tuple[str, ...] = ("w0", "w1")) -> None:
        blueprint = Chain.blueprint()
        self.clock = VirtualClock()
        self.incarnations: dict[str, int] = {}
        self.positions: list[dict[int, bytes]] = []
        self.dead: list[str] = []
        self.revived: dict[str, PaspsError] = {}
        self.joining = asyncio.Lock()
        self.forgot = 0
        self.said: list[tuple[float, str]] = []
        self.spouts: list[tuple[float, bool]] = []
        self.workers = Workers(self, workers)
        self.homes = Homes(blueprint, Resume())
        self.publisher = TablePublisher(self.homes.settle(cast("Any", self.workers.links.values())), self._send)
        self.census: Any = Census(blueprint, self.clock)
        self.restart = Restart(
            RestartSettings(wait, silence),
            self.clock,
            cast("Any", self.workers),
            self.publisher,
            cast("Any", self),  # as much of a `Repair` as it uses: `joining` and `revive`
            self.homes,
            self.census,
            NoKeeper(),
            self._forget,
            lambda: self.spouts.append((round(self.clock.now(), 3), not self.restart.asleep)),
        )
        self.restart.tell = lambda text: self.said.append((round(self.clock.now(), 3), text))

    def _send(self, worker: str, table: ActivationTable) -> None:
        asyncio.get_running_loop().call_soon(self.publisher.applied, worker, table.version)

    def revive(self, worker: str, failure: PaspsError) -> None:
        if worker not in self.dead:
            self.revived[worker] = failure

    def _forget(self) -> None:
        self.forgot += 1

    def run(self, wanted: Mapping[str, int], *beside: Callable[[], Awaitable[None]], held: Collection[str] = ()) -> Any:
        async def body() -> Any:
            others = [asyncio.ensure_future(other()) for other in beside]
            found = await self.restart.carry_out(wanted, held)
            await asyncio.gather(*others)
            return found

        return run_virtually(self.clock, body())

    def active(self) -> dict[str, int]:
        return {name: len(routing.active) for name, routing in self.publisher.table.components.items()}


# ---- what it does when nothing goes wrong


def test_the_spouts_stop_it_waits_workers_end_and_begin_and_the_spouts_go_on() -> None:
    bench = Bench()
    acts, version, took = bench.run({"wide": 3})
    assert acts == {"wide": Act(1, 3, 3, Outcome.DONE)}
    assert took == Restarted(30.0, CLOSE + PLACE + INTRODUCE)
    assert bench.spouts == [(0.0, False), (33.5, True)]
    assert [link.worker for link in bench.workers.closed] == ["w0", "w1"]
    assert (version, bench.publisher.table.version) == (3, 3), "one without workers lay between"
    assert bench.publisher.table.workers == {"w0": 2, "w1": 2}
    assert bench.active() == {"numbers": 1, "wide": 3, "keyed": 1}
    assert bench.forgot == 1


def test_all_are_made_by_the_table_that_then_holds_and_are_connected_in_pairs() -> None:
    bench = Bench(workers=("w0", "w1", "w2"))
    bench.run({"wide": 2, "keyed": 2})
    assert [link.table for link in bench.workers.links.values()] == [bench.publisher.table] * 3
    assert {link.worker: link.peers for link in bench.workers.links.values()} == {"w0": set(), "w1": {"w0"}, "w2": {"w0", "w1"}}
    assert bench.publisher.confirmed(bench.publisher.table.version)


def test_replicas_are_placed_as_at_the_beginning_whatever_scaling_had_made_of_it() -> None:
    bench = Bench()
    first = bench.publisher.table
    moved = with_active(with_active(first, "wide", 4), "wide", 1)
    bench.publisher.begin(moved.following(wide=replace(moved.components["wide"], active=(3,), places=("w0", "w0", "w0", "w0"))))
    bench.run({"wide": 2})
    assert {name: routing.places for name, routing in bench.publisher.table.components.items()} == {
        name: routing.places for name, routing in first.components.items()
    }
    assert bench.publisher.table.components["wide"].active == (0, 1)
    assert bench.publisher.table.version == 6


def test_bolts_that_are_not_in_the_plan_keep_their_number() -> None:
    bench = Bench()
    bench.publisher.begin(with_active(bench.publisher.table, "keyed", 3))
    bench.run({"wide": 2})
    assert bench.active() == {"numbers": 1, "wide": 2, "keyed": 3}


def test_a_silence_that_is_asked_for_is_kept_and_a_longer_one_is_not_shortened() -> None:
    assert Bench(wait=0.0, silence=9.0).run({"wide": 2})[2] == Restarted(0.0, 9.0)
    assert Bench(wait=0.0, silence=1.0).run({"wide": 2})[2] == Restarted(0.0, 3.5)


def test_it_says_what_it_does_for_as_long_as_it_does_it() -> None:
    bench = Bench(wait=5.0, silence=9.0)
    bench.run({"wide": 2})
    first = "all workers are to be started anew (wide 1 -> 2); before that the spouts are silent for 5 s"
    assert bench.said == [(0.0, first), (5.0, "all workers are being started anew (wide 1 -> 2)"), (14.0, "")]


def counts(worker: str, pending: int, queued: int, position: bytes) -> WorkerCounts:
    spout = ReplicaCounts("numbers", 0, worker, emitted={"default": 100}, acked=100 - pending, pending=pending)
    return WorkerCounts(worker, 1, 1, [spout, ReplicaCounts("wide", 0, worker, queued=queued)], [], {}, {1: position}, {}, 0.0)


def test_what_workers_say_at_their_end_is_what_was_under_way_and_where_spouts_go_on() -> None:
    bench = Bench()
    bench.workers.last = {"w0": counts("w0", 7, 20, b"ninety")}
    _, _, took = bench.run({"wide": 2})
    assert (took.replayed, took.dropped) == (7, 20)
    assert bench.positions == [{1: b"ninety"}] * 2
    stats = run_virtually(bench.clock, bench.census.stats(lambda: bench.publisher.table, lambda worker, cut: None))
    assert (stats.emitted_first, stats.acked, stats.replayed, stats.pending) == (93, 93, 7, 0), "it counts as emitted when it comes again"


def test_restarts_add_up_and_what_was_dropped_is_lost_only_where_nothing_was_tracked() -> None:
    bench = Bench(wait=1.0)

    async def body() -> None:
        for number, (pending, queued) in enumerate(((7, 20), (0, 5), (0, 0))):
            bench.workers.last = {"w0": counts("w0", pending, queued, b"")}
            await bench.restart.carry_out({"wide": 2 + number}, ())

    run_virtually(bench.clock, body())
    assert bench.restart.so_far == Restarts(3, 3.0, 10.5, 7, 25, 5)


# ---- what is not to be restarted for


def test_nothing_is_restarted_for_what_is_so_already_or_held_by_hand() -> None:
    bench = Bench()
    assert bench.run({"wide": 1, "keyed": 3}, held={"keyed"}) == ({"keyed": Act(1, 3, 1, Outcome.HELD)}, 1, None)
    assert (bench.spouts, bench.clock.now()) == ([], 0.0)


def test_what_somebody_set_by_hand_while_it_waited_stays() -> None:
    held: set[str] = set()
    bench = Bench()

    async def by_hand() -> None:
        await asyncio.sleep(10.0)
        held.add("wide")
        await bench.publisher.change(lambda table: with_active(table, "wide", 4), 10.0)

    acts, _, took = bench.run({"wide": 2, "keyed": 2}, by_hand, held=held)
    assert acts == {"wide": Act(4, 2, 4, Outcome.HELD), "keyed": Act(1, 2, 2, Outcome.DONE)}
    assert took is not None
    assert bench.active() == {"numbers": 1, "wide": 4, "keyed": 2}


def test_when_nothing_is_left_to_change_after_the_wait_the_workers_live_on() -> None:
    held: set[str] = set()
    bench = Bench()

    async def by_hand() -> None:
        held.add("wide")

    acts, version, took = bench.run({"wide": 2}, by_hand, held=held)
    assert (acts, version, took) == ({"wide": Act(1, 2, 1, Outcome.HELD)}, 1, None)
    assert (bench.workers.closed, bench.spouts) == ([], [(0.0, False), (30.0, True)])


def test_a_drain_calls_it_off_while_it_waits_and_not_any_more_when_workers_end() -> None:
    bench = Bench()

    async def drain() -> None:
        await asyncio.sleep(10.0)
        with bench.restart.withheld("the topology is drained"):
            pass  # it is not called off the less for a drain that is over at once

    assert bench.run({"wide": 2}, drain) == ({"wide": Act(1, 2, 1, Outcome.FAILED, "the topology is drained")}, 1, None)
    assert (bench.workers.closed, bench.spouts) == ([], [(0.0, False), (10.0, True)])
    late = Bench(wait=9.75)
    assert late.run({"wide": 2}, lambda: _after(10.0, lambda: late.restart.withhold("too late")))[2] is not None


async def _after(seconds: float, act: Callable[[], None]) -> None:
    await asyncio.sleep(seconds)
    act()


def test_who_ends_the_topology_need_not_wait_until_a_silence_is_over() -> None:
    bench = Bench(wait=0.0, silence=60.0)
    acts, _, took = bench.run({"wide": 2}, lambda: _after(10.0, lambda: bench.restart.withhold("the topology is drained")))
    assert (acts["wide"].outcome, took) == (Outcome.DONE, Restarted(0.0, 10.0))
    assert bench.restart.so_far == Restarts(1, 0.0, 10.0)
    other = Bench(wait=0.0, silence=60.0)

    async def drain() -> None:
        await asyncio.sleep(10.0)
        with other.restart.withheld("the topology is drained"):
            pass

    assert other.run({"wide": 2}, drain)[2] == Restarted(0.0, 60.0), "it goes on after that drain"


def test_those_that_were_called_off_are_counted_and_those_that_never_began_are_not() -> None:
    bench = Bench()
    bench.run({"wide": 2}, lambda: _after(10.0, lambda: bench.restart.withhold("the topology is drained")))
    bench.run({"wide": 2})
    assert bench.restart.so_far == Restarts(called_off=1)


def test_none_begins_while_it_is_drained_and_the_next_one_after_that_does() -> None:
    bench = Bench(wait=1.0)
    with bench.restart.withheld("the topology is drained"):
        with bench.restart.withheld("the topology is drained"):
            pass  # two may drain at a time
        assert bench.run({"wide": 2}) == ({"wide": Act(1, 2, 1, Outcome.FAILED, "the topology is drained")}, 1, None)
    assert bench.spouts == []
    assert bench.run({"wide": 2})[2] == Restarted(1.0, 3.5)


def test_none_begins_any_more_once_it_is_withheld_for_good() -> None:
    bench = Bench(wait=1.0)
    bench.restart.withhold("the topology is drained")
    with bench.restart.withheld("the topology is drained"):
        pass
    assert bench.run({"wide": 2})[2] is None
    assert bench.workers.closed == []


def test_a_second_one_meanwhile_is_refused_with_the_reason() -> None:
    bench = Bench()
    found = []

    async def second() -> None:
        await asyncio.sleep(31.0)
        found.append(await bench.restart.carry_out({"keyed": 4}, ()))

    bench.run({"wide": 2}, second)
    ((acts, _, took),) = found
    assert (took, acts["keyed"].outcome, acts["keyed"].after) == (None, Outcome.FAILED, 1)
    assert acts["keyed"].error == "a restart is under way: all workers are being started anew (wide 1 -> 2)"


def test_without_a_live_worker_there_is_nothing_to_restart() -> None:
    bench = Bench(workers=("w0",))

    async def body() -> Any:
        bench.workers.die("w0")
        return await bench.restart.carry_out({"wide": 2}, ())

    acts, _, took = run_virtually(bench.clock, body())
    assert (took, acts["wide"].error) == (None, "no worker is alive")


def test_when_all_died_while_it_waited_they_are_repaired_and_not_restarted() -> None:
    bench = Bench()

    async def die() -> None:
        await asyncio.sleep(10.0)
        for name in ("w0", "w1"):
            bench.workers.die(name)

    acts, _, took = bench.run({"wide": 2}, die)
    assert (took, acts["wide"].outcome, acts["wide"].error) == (None, Outcome.FAILED, "no worker is alive")
    assert bench.spouts[-1] == (30.0, True)


def test_who_changes_replicas_meanwhile_waits_until_workers_live() -> None:
    bench = Bench(wait=0.0)

    async def change() -> None:
        await asyncio.sleep(1.0)
        await bench.restart.over()
        assert bench.publisher.table.workers == {"w0": 2, "w1": 2}
        await bench.publisher.change(lambda table: with_active(table, "keyed", 2), 10.0)

    bench.run({"wide": 2}, change)
    assert bench.active() == {"numbers": 1, "wide": 2, "keyed": 2}


# ---- what goes wrong


@pytest.mark.parametrize(
    ("what", "failure"),
    [
        ("place", WorkerStartError("worker w1: no memory")),
        ("introduce", ComponentStartError("worker w1 could not start: no database")),
        ("connect", BrokenError("worker w1: not connected to its peers")),
    ],
)
def test_a_worker_that_does_not_come_up_is_repaired_and_the_others_go_on(what: str, failure: PaspsError) -> None:
    bench = Bench()
    bench.workers.faults[what, "w1"] = failure
    bench.workers.unreachable = {"w1"} if what == "connect" else set()
    acts, _, took = bench.run({"wide": 3, "keyed": 2})
    assert took is not None
    assert {act.outcome for act in acts.values()} == {Outcome.DONE}
    assert bench.publisher.table.workers == {"w0": 2}
    assert all(routing.places[replica] == "w0" for routing in bench.publisher.table.components.values() for replica in routing.active), (
        "all that is active is where somebody lives"
    )
    assert bench.active() == {"numbers": 1, "wide": 3, "keyed": 2}
    assert {name: (type(error), str(error)) for name, error in bench.revived.items()} == {"w1": (type(failure), str(failure))}
    assert bench.spouts[-1][1]


def test_a_place_that_is_not_found_is_not_waited_for_longer_than_a_worker_that_starts() -> None:
    bench = Bench(wait=0.0)
    bench.workers.faults["place", "w0"] = "never"
    _, _, took = bench.run({"wide": 2})
    assert took == Restarted(0.0, CLOSE + START_SECONDS + INTRODUCE)
    assert bench.publisher.table.workers == {"w1": 2}
    assert "no place for it" in str(bench.revived["w0"])
    assert bench.homes.routings["wide"].places == ("w1", "w0", "w1", "w0"), "it is expected back"


@pytest.mark.parametrize("what", ["introduce", "connect"])
def test_a_worker_that_dies_before_all_live_is_lost_as_any_other(what: str) -> None:
    bench = Bench(workers=("w0", "w1", "w2"))
    bench.workers.faults[what, "w1"] = "dies"
    acts, _, _ = bench.run({"wide": 3})
    assert acts["wide"] == Act(1, 3, 3, Outcome.DONE)
    assert bench.publisher.table.workers == {"w0": 2, "w2": 2}
    assert (bench.dead, bench.revived) == (["w1"], {}), "repair heard of it when it died, and must not be told twice"


def test_a_worker_that_died_before_it_was_dialled_keeps_the_others_from_nothing() -> None:
    bench = Bench(workers=("w0", "w1"))
    bench.workers.faults["connect", "w1"] = BrokenError("w0: connection refused")
    bench.run({"wide": 2})
    assert bench.publisher.table.workers == {"w0": 2, "w1": 2}, "tried again"
    assert bench.workers.links["w1"].peers == {"w0"}


def test_a_loss_before_the_workers_end_is_repaired_as_ever_and_who_lives_then_is_started_anew() -> None:
    bench = Bench()
    _, _, took = bench.run({"wide": 2}, lambda: _after(10.0, lambda: bench.workers.die("w0")))
    assert took is not None
    assert [link.worker for link in bench.workers.closed] == ["w1"]
    assert bench.publisher.table.workers == {"w1": 2}
    assert (bench.dead, bench.revived) == (["w0"], {})


def test_who_is_about_to_join_joins_before_or_after() -> None:
    """A worker that came back with a table of before must not be told of another one between two steps of its join."""
    bench = Bench(wait=5.0)
    order = []

    async def join() -> None:
        async with bench.joining:
            order.append("joins")
            await asyncio.sleep(20.0)
            order.append("joined")

    bench.run({"wide": 2}, join, lambda: _after(15.0, lambda: order.append(f"{len(bench.workers.closed)} ended")))
    assert order == ["joins", "0 ended", "joined"]


def test_when_nobody_comes_back_the_act_failed_and_all_are_repaired() -> None:
    bench = Bench()
    for name in ("w0", "w1"):
        bench.workers.faults["place", name] = WorkerStartError(f"worker {name}: no memory")
    acts, _, took = bench.run({"wide": 2})
    assert took is not None
    assert (acts["wide"].outcome, acts["wide"].error) == (Outcome.FAILED, "no worker has come back yet; they are started again")
    assert bench.publisher.table.workers == {}
    assert set(bench.revived) == {"w0", "w1"}


@pytest.mark.parametrize("moment", [10.0, 30.2, 31.0, 32.0])
def test_who_gives_it_up_halfway_leaves_a_topology_that_is_repaired_and_hears_what_became_of_it(moment: float) -> None:
    bench = Bench()

    async def body() -> Any:
        task = asyncio.ensure_future(bench.restart.carry_out({"wide": 2}, ()))
        await asyncio.sleep(moment)
        task.cancel()
        return await task

    acts, version, took = run_virtually(bench.clock, body())
    assert (bench.restart.under_way, bench.restart.asleep, bench.spouts[-1][1]) == ("", False, True)
    assert not bench.joining.locked()
    assert not bench.publisher.lock.locked()
    lives = set(bench.publisher.table.workers)
    assert lives | set(bench.revived) == {"w0", "w1"}
    assert bool(lives) is (moment < 30.0)
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


def test_who_gives_it_up_in_the_silence_after_it_hears_that_it_was_done() -> None:
    bench = Bench(wait=0.0, silence=60.0)
    bench.workers.last = {"w0": counts("w0", 7, 20, b"ninety")}

    async def body() -> Any:
        task = asyncio.ensure_future(bench.restart.carry_out({"wide": 2}, ()))
        await asyncio.sleep(10.0)
        task.cancel()
        return await task

    acts, _, took = run_virtually(bench.clock, body())
    assert (acts, took) == ({"wide": Act(1, 2, 2, Outcome.DONE)}, Restarted(0.0, 10.0, 7, 20))
    assert bench.restart.so_far == Restarts(1, 0.0, 10.0, 7, 20)


def test_what_was_under_way_when_it_was_given_up_between_workers_is_counted() -> None:
    bench = Bench(wait=0.0)
    bench.workers.last = {"w0": counts("w0", 7, 20, b"ninety")}

    async def body() -> Any:
        task = asyncio.ensure_future(bench.restart.carry_out({"wide": 2}, ()))
        await asyncio.sleep(CLOSE + 0.5)
        task.cancel()
        return await task

    assert run_virtually(bench.clock, body())[2] == Restarted(0.0, 1.0, 7, 20)


def test_what_nobody_has_thought_of_leaves_one_too(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench()
    monkeypatch.setattr(restart_module, "_those_done", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        bench.run({"wide": 2})
    assert set(bench.revived) == {"w0", "w1"}
    assert bench.spouts[-1][1]
