"""Restarts in the model: what is under way comes again or is lost, nothing else; and what the loop makes of it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pasps import Grouping
from pasps.api.groupings import Kind
from pasps.control.decision_log import Act, Outcome, Record, Restarted
from pasps.control.run_log import Sample
from pasps.control.settings import RestartSettings
from pasps.control.situation import PolicySettings
from pasps.simulation.arrivals import Arrivals
from pasps.simulation.graph import Graph, with_classes
from pasps.simulation.lead import Orders
from pasps.simulation.model import Detail, Machinery, Model
from pasps.simulation.run import ModelActuator, Order, Simulated, simulate
from pasps.simulation.virtual_time import VirtualClock, run_virtually
from tests.unit.simulation.graphs import EXACT, IDEAL, PARCELS, bolt, graph, model

STEADY = Arrivals((100,) * 20)
SLOW = replace(IDEAL, restart=2.0)


def mixed(**changes: object) -> Graph:
    """Every kind of bolt: on threads, awaiting, keyed, computing on loops; over two workers."""
    return graph(
        bolt("a", "s", et=0.01, pool=4, par=2),
        bolt("b", "a", et=0.002, pool=4, par=2, execution="inline", selectivity=1.5),
        bolt("c", "b", et=0.01, pool=4, par=3, kind=Kind.FIELDS),
        bolt("d", "a", et=0.02, pool=4, par=4, execution="async", concurrency=2, kind=Kind.SHUFFLE, selectivity=0.5),
        workers=2,
        **changes,
    )


def restarted(made: Model, at: float, seconds: float, active: dict[str, int] | None = None) -> tuple[int, int]:
    """What a restart takes along, that begins without a wait at that time."""
    made.run(at)
    taken = made.end_workers()
    made.run(at + seconds)
    made.begin(replace(made.graph.table(active), version=made.table.version + 1))
    return taken


# ---- the model


@pytest.mark.parametrize("detail", [EXACT, PARCELS])
@pytest.mark.parametrize("tracked", [True, False])
def test_all_that_was_due_is_done_or_lost(detail: Detail, tracked: bool) -> None:
    made = model(mixed(tracked=tracked), STEADY, detail)
    under_way = []
    for at in (3.0, 7.25, 7.9, 15.0):
        made.run(at)
        under_way.append(made.pending)
        taken, _ = restarted(made, at, 0.5)
        assert made.stats().components["a"].queued >= 0
        assert taken == (under_way[-1] if tracked else 0)
    made.run(1000.0)
    assert made.over
    assert (made.due, made.done + made.lost, made.pending) == (2000, 2000, 0)
    assert (made.replayed, made.lost) == ((sum(under_way), 0) if tracked else (0, sum(under_way)))
    assert sum(under_way) > 0


def test_what_comes_again_is_as_old_as_it_is() -> None:
    """One replica takes a second for an event: the third waits for two; a restart in the middle begins the first anew."""
    made = model(graph(bolt("a", "s", et=1.0, pool=1, par=1)), Arrivals((3,), 0.001))
    assert restarted(made, 0.9, 4.0) == (3, 3)
    made.run(100.0)
    assert made.latency.mean == pytest.approx((5.9 + 6.9 + 7.9) / 3, abs=0.01)


def test_the_oldest_comes_again_first_and_before_what_became_due_meanwhile() -> None:
    made = model(graph(bolt("a", "s", et=0.1, pool=1, par=1)), Arrivals((1,) * 8, 0.1), seed=1)
    restarted(made, 0.45, 1.0)
    done: list[float] = []
    finish = made._finish  # noqa: SLF001 - the order in which events are done is not seen from outside
    made._finish = lambda root: (done.append(root.due), finish(root))[1]  # type: ignore[method-assign,assignment,func-returns-value] # noqa: SLF001
    made.run(100.0)
    assert done == sorted(done)
    assert len(done) == 8 - 3


def test_a_spout_is_silent_while_workers_end_and_before_that_and_says_what_waits() -> None:
    made = model(graph(bolt("a", "s", et=0.01)), STEADY)
    made.run(2.0)
    made.sleep()
    made.run(5.0)
    stats = made.stats()
    assert (stats.emitted_first, stats.acked, stats.components["s"].backlog, stats.complete) == (200, 200, 300, True)
    made.end_workers()
    made.run(6.0)
    stats = made.stats()
    assert (stats.emitted_first, stats.components["s"].backlog, stats.complete, stats.components["s"].restarts) == (200, 400, False, 1)
    made.begin(made.table)
    made.run(1000.0)
    assert (made.stats().complete, made.done) == (True, 2000)


def test_counters_are_as_after_the_death_of_workers() -> None:
    made = model(graph(bolt("a", "s", et=1.0, pool=2, par=2)), Arrivals((10,), 0.001))
    made.run(1.5)
    assert (made.stats().emitted_first, made.stats().pending, made.stats().acked) == (10, 8, 2)
    assert made.end_workers() == (8, 8)
    stats = made.stats()
    assert (stats.emitted_first, stats.replayed, stats.pending, stats.acked, stats.due) == (2, 8, 0, 2, 10)
    assert (stats.components["a"].queued, stats.components["a"].executed) == (0, 2)


def test_a_restart_places_replicas_as_at_the_beginning_and_as_many_as_planned() -> None:
    made = model(mixed(), STEADY)
    restarted(made, 5.0, 0.5, {"a": 4, "c": 1})
    assert {name: len(routing.active) for name, routing in made.table.components.items()} == {"s": 1, "a": 4, "b": 2, "c": 1, "d": 4}
    assert made.table.components["a"].active == (0, 1, 2, 3)
    assert {name: stats.active for name, stats in made.stats().components.items() if name != "s"} == {"a": 4, "b": 2, "c": 1, "d": 4}


def test_untracked_events_are_bounded_by_no_number_in_flight() -> None:
    of = graph(bolt("a", "s", et=1.0, pool=1, par=1), pending=5)
    for tracked, pending in ((True, 5), (False, 100)):
        made = model(replace(of, tracked=tracked), Arrivals((100,), 0.001))
        made.run(0.5)
        assert made.pending == pending


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.floats(0.01, 3.0), st.floats(0.0, 2.0), st.integers(1, 4)), min_size=1, max_size=5),
    st.sampled_from([EXACT, PARCELS]),
    st.booleans(),
    st.integers(1, 1000),
    st.sampled_from([None, 5, 50]),
)
def test_whenever_workers_end_nothing_is_counted_twice_or_never(
    restarts: list[tuple[float, float, int]], detail: Detail, tracked: bool, seed: int, pending: int | None
) -> None:
    made = Model(mixed(tracked=tracked, pending=pending, buffer=10), Arrivals((40,) * 8), detail, seed, Machinery())
    at = 0.0
    for after, silence, count in restarts:
        at += after
        restarted(made, at, silence, {"a": count, "c": 5 - count, "d": count})
        at += silence
        stats = made.stats()
        assert stats.pending == stats.emitted_first - stats.acked - made.lost
        assert all(component.queued >= 0 for component in stats.components.values())
    made.run(at + 60.0)
    assert made.over
    assert made.due == 320
    stats = made.stats()
    assert all(component.queued == 0 for component in stats.components.values())
    assert stats.emitted_first == made.due
    assert made.latency.count == made.done


def test_what_a_grouping_has_seen_is_gone_with_the_workers_and_so_is_what_was_on_its_way_to_it() -> None:
    plan = bolt("a", "s", pool=4, par=4, grouping=Grouping.osg("id", window=50), shared_queues=False)
    of = with_classes(graph(plan, workers=2), (0.7, 0.3), {"a": (0.002, 0.02)})
    made = Model(of, Arrivals((200,) * 30, seed=1), EXACT, 1, Machinery(between=0.05))
    told = 0
    for number in range(1, 400):
        made.run(number * 0.05)
        told += any(entry[2] == made._heard for entry in made._heap)  # noqa: SLF001
        if told == 3:
            break
    else:
        raise AssertionError("no replica told what it had seen")
    made.end_workers()
    assert all(not station.watches for station in made._bolts["a"].stations.values())  # noqa: SLF001
    made.begin(replace(of.table(), version=2))
    made.run(made.time + 100.0)
    assert made.over
    assert made.latency.count == made.done == made.due


# ---- the actuator


def test_it_waits_ends_and_begins_and_says_what_that_took() -> None:
    made = model(graph(bolt("a", "s", et=0.01, pool=4, par=1)), STEADY, machinery=SLOW)
    clock = VirtualClock()

    async def body(settings: RestartSettings, wanted: dict[str, int]) -> tuple[dict[str, Act], int, Restarted | None]:
        await asyncio.sleep(1.0)
        return await ModelActuator(made, clock, settings).restart(wanted)

    acts, version, took = run_virtually(clock, body(RestartSettings(3.0), {"a": 3}))
    assert (acts, version, took) == ({"a": Act(1, 3, 3, Outcome.DONE)}, 2, Restarted(3.0, 2.0))
    assert clock.now() == pytest.approx(6.0)
    assert run_virtually(clock, body(RestartSettings(0.0, 9.0), {"a": 2}))[2] == Restarted(0.0, 9.0, made.replayed, made.replayed)
    assert made.replayed > 0
    assert run_virtually(clock, body(RestartSettings(), {"a": 2})) == ({}, 3, None), "what is so already needs no restart"


def test_where_replicas_take_a_while_to_come_it_begins_when_they_are_there() -> None:
    made = model(graph(bolt("a", "s", et=0.01, pool=4, par=1), bolt("b", "a", et=0.01, pool=4, par=1)), STEADY, machinery=SLOW)
    clock, orders = VirtualClock(), Orders(5.0)
    actuator = ModelActuator(made, clock, RestartSettings(1.0), orders)

    async def body() -> list[int]:
        ordered, _ = await actuator.set_replicas({"b": 3}, frozenset())
        assert ordered["b"].outcome is Outcome.DONE
        restart = asyncio.ensure_future(actuator.restart({"a": 2}))
        active = []
        for _ in range(10):
            await asyncio.sleep(0.9)
            actuator.arrive()  # what was ordered before it: not while it goes on
            active.append(len(made.table.components["a"].active))
            assert len(made.table.components["b"].active) == 1 + 2 * restart.done()
        acts, version, took = await restart
        assert (acts, took) == ({"a": Act(1, 2, 2, Outcome.DONE)}, Restarted(1.0, 2.0, made.replayed, made.replayed))
        assert version == 2
        return active

    active = run_virtually(clock, body())
    assert active == [1] * 8 + [2] * 2, "5 s until they are there, 1 s of wait, 2 s without workers"
    assert orders.ordered == {"a": 2, "b": 3}


# ---- a whole run


LINE = graph(bolt("a", "s", et=0.02, par=1), bolt("b", "a", et=0.02, par=1), pending=500)
WAVES = Arrivals(tuple(60 + 220 * (second % 40 > 20) for second in range(160)))


def ran(of: Graph = LINE, **changes: object) -> tuple[Simulated, list[Sample], list[Record]]:
    samples, records = list[Sample](), list[Record]()
    order = Order(
        "presps",
        settings=PolicySettings(interval_seconds=5.0, reconfigure="restart"),
        **{"restart": RestartSettings(0.0, 9.0), "tail_seconds": 1000.0, **changes},  # type: ignore[arg-type]
    )
    return simulate(of, WAVES, order, samples.append, records.append), samples, records


def test_a_policy_of_the_pool_can_be_carried_out_by_restarts() -> None:
    found, samples, records = ran()
    made = [record.restart for record in records if record.restart is not None]
    assert found.restarts == len(made) > 2
    assert {(one.waited, one.silent) for one in made} == {(0.0, 9.0)}
    assert (found.replayed, found.lost) == (sum(one.replayed for one in made), 0)
    assert found.done == found.events
    pool = simulate(LINE, WAVES, Order("presps", settings=PolicySettings(interval_seconds=5.0)))
    assert (pool.restarts, pool.replayed) == (0, 0)
    assert found.latency.p99 > 9.0 > pool.latency.p99
    assert all(sample.due >= before.due for before, sample in pairwise(samples)), "what became due never falls"


def test_untracked_events_under_way_are_lost_and_the_result_says_how_many() -> None:
    found, _, records = ran(replace(LINE, tracked=False))
    assert found.lost > 0
    assert (found.replayed, found.done) == (0, found.events - found.lost)
    assert sum(record.restart.dropped for record in records if record.restart is not None) >= found.lost


def test_the_time_without_workers_is_no_input_and_what_waits_after_it_is_backlog() -> None:
    _, _, records = ran()
    number = next(place for place, record in enumerate(records) if record.restart is not None)
    after = next(record for record in records[number + 1 :] if record.situation is not None)
    assert after.situation is not None
    assert "goes on after its worker ended" in after.situation.interval.left_out
    assert after.situation.interval.seconds == pytest.approx(5.0, abs=0.5), "a whole interval of what runs now"
    assert after.situation.interval.due <= 280 * 5.5, "what waited is not taken for what came"


def test_the_same_arguments_give_the_same_run() -> None:
    assert ran()[0] == ran()[0]


def test_a_run_by_restarts_ends_where_replicas_take_a_while_to_come() -> None:
    led, _, records = ran(lead_seconds=7.0)
    assert led.restarts == sum(record.restart is not None for record in records) > 1
    assert (led.done, led.lost) == (led.events, 0)
