"""The model against what is known without it: queueing by hand, conservation, and each mechanism of the runtime."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pasps.activation import with_active
from pasps.api.groupings import Kind
from pasps.simulation.arrivals import Arrivals
from pasps.simulation.graph import Graph
from pasps.simulation.model import Detail, Model, detail_for
from tests.unit.simulation.graphs import EXACT, IDEAL, PARCELS, bolt, graph, model, ran


def burst(events: int) -> Arrivals:
    """So many, all within a millisecond."""
    return Arrivals((events,), 0.001)


# ---- what queueing says


def test_events_pass_bolts_that_wait_side_by_side() -> None:
    found = ran(graph(bolt("a", "s"), bolt("b", "a")), Arrivals((300,) * 10))
    assert (found.due, found.done) == (3000, 3000)
    assert found.latency.mean == pytest.approx(0.04), "nobody waits: 300/s where 400/s can be carried"


@pytest.mark.parametrize(("replicas", "seconds"), [(1, 16.0), (4, 4.0), (16, 1.0)])
def test_a_burst_takes_as_long_as_its_replicas_need(replicas: int, seconds: float) -> None:
    of = graph(bolt("a", "s", pool=16, par=replicas))
    made = model(of, burst(800))
    made.run(seconds - 0.01)
    assert not made.over
    made.run(seconds + 0.01)
    assert made.over


def test_a_bolt_with_calls_at_a_time_is_as_many_replicas() -> None:
    by_calls = ran(graph(bolt("a", "s", pool=2, par=2, execution="async", concurrency=4)), burst(80))
    by_replicas = ran(graph(bolt("a", "s", pool=8, par=8)), burst(80))
    assert by_calls.latency.mean == pytest.approx(by_replicas.latency.mean)


def test_bolts_that_compute_share_the_loop_of_their_worker() -> None:
    a, b = (bolt(name, source, et=0.002, execution="inline") for name, source in (("a", "s"), ("b", "a")))
    found = model(graph(a, b), burst(500))
    found.run(1.95)
    assert not found.over, "500 events of 2 + 2 ms on one loop: eight replicas change nothing"
    found.run(2.05)
    assert found.over


@pytest.mark.parametrize(("cores", "seconds"), [(1, 2.0), (2, 1.0), (4, 1.0)])
def test_workers_share_the_cores(cores: int, seconds: float) -> None:
    of = graph(bolt("a", "s", et=0.002, execution="inline", kind=Kind.SHUFFLE), workers=2, cores=cores)
    found = model(of, burst(1000))
    found.run(seconds * 0.97)
    assert not found.over
    found.run(seconds * 1.06)
    assert found.over


def test_one_event_becomes_as_many_tuples_as_is_said_and_is_done_with_the_last() -> None:
    found = ran(graph(bolt("a", "s", selectivity=1.0), bolt("b", "a", selectivity=3.0, pool=1, par=1)), Arrivals((2,)))
    stats = found.stats()
    assert stats.components["b"].executed == 6
    assert stats.complete_latency.count == 2
    assert found.latency.mean == pytest.approx(0.02 + 3 * 0.02)


def test_a_selectivity_below_one_ends_events_early() -> None:
    found = ran(graph(bolt("a", "s"), bolt("b", "a", selectivity=0.25)), Arrivals((300,) * 20))
    assert found.stats().components["b"].executed == pytest.approx(1500, rel=0.1)
    assert found.done == 6000


def test_a_bolt_with_two_sources_gets_both() -> None:
    join = replace(bolt("c", "a"), inputs=(*bolt("c", "a").inputs, *bolt("c", "b").inputs))
    found = ran(graph(bolt("a", "s"), bolt("b", "s"), join), Arrivals((10,)))
    edges = found.stats().components["c"].edges
    assert [(edge.source, edge.received, edge.executed) for edge in edges] == [("a", 10, 10), ("b", 10, 10)]


def test_times_that_vary_have_the_mean_that_was_said() -> None:
    found = ran(graph(bolt("a", "s", varies=0.8)), Arrivals((100,) * 60))
    assert found.stats().components["a"].execute_seconds == pytest.approx(0.02, rel=0.05)
    assert found.latency.quantile(0.99) > 0.05


# ---- what the runtime does


def test_no_more_is_in_flight_than_the_cap_allows_and_the_rest_is_backlog() -> None:
    made = model(graph(bolt("a", "s", par=1), pending=10), burst(100))
    made.run(0.1)
    stats = made.stats()
    assert stats.pending <= 10
    spout = stats.components["s"]
    assert spout.backlog == 100 - spout.emitted > 80
    assert spout.held_back > 0
    made.run(10)
    assert made.over


def test_a_full_queue_holds_back_who_sends_to_it_up_to_the_spout() -> None:
    of = graph(bolt("a", "s", et=0.001), bolt("b", "a", pool=1, par=1), buffer=20)
    made = model(of, burst(1000))
    made.run(2.0)
    stats = made.stats()
    assert stats.components["b"].queued <= 20 + 8 + 1, "what was under way may still come"
    assert stats.components["a"].queued <= 20 * 8 + 8
    assert (stats.components["s"].backlog or 0) > 500
    made.run(100)
    assert made.over


@pytest.mark.parametrize("detail", [EXACT, PARCELS])
@pytest.mark.parametrize("execution", ["thread", "inline"])
def test_who_was_held_back_goes_on_when_more_replicas_make_room(detail: Detail, execution: str) -> None:
    """With another replica there is room for twice as much, so that the queue is not full any more without anything being taken."""
    of = graph(bolt("a", "s", et=0.001, par=1, execution=execution), bolt("b", "a", par=1, pool=2), buffer=8)
    made = model(of, Arrivals((20,) * 5, 0.01), detail)
    made.run(0.1)
    assert made.stats().components["a"].queued
    made.apply(with_active(made.table, "b", 2))
    made.run(30.0)
    assert (made.done, made.over) == (100, True)


def test_replicas_that_come_take_what_waits_and_those_that_go_finish_what_they_have() -> None:
    made = model(graph(bolt("a", "s", et=0.1, par=1)), burst(80))
    made.run(1.05)
    made.apply(with_active(made.table, "a", 8))
    assert made.stats().components["a"].active == 8
    made.run(1.15)
    made.apply(with_active(made.table, "a", 2))
    states = [replica.state for replica in made.stats().components["a"].replicas.values()]
    assert states.count("ACTIVE") == 2
    assert states.count("DRAINING") == 6
    made.run(1.26)
    states = [replica.state for replica in made.stats().components["a"].replicas.values()]
    assert states.count("PARKED") == 6
    made.run(100)
    assert made.over


def test_a_dry_queue_is_given_from_another_workers_longest() -> None:
    # everything goes to one worker's queue, as from a sender that knows no better
    of = graph(bolt("a", "s", et=0.05, kind=Kind.LOCAL_OR_SHUFFLE), bolt("b", "a", pool=4, par=4, kind=Kind.LOCAL_OR_SHUFFLE), workers=2)
    alone = ran(replace(of, report_seconds=1e9), burst(400))
    shared = ran(of, burst(400))
    assert shared.latency.mean <= alone.latency.mean


def test_keyed_tasks_go_where_they_are_hosted_and_take_what_waits_along() -> None:
    of = graph(bolt("a", "s", par=2, pool=4, kind=Kind.FIELDS), workers=2)
    made = model(of, burst(400))
    made.run(1.0)
    before = made.stats().components["a"].executed
    made.apply(with_active(made.table, "a", 4))
    made.run(2.0)
    assert made.stats().components["a"].executed - before > 1.6 * before
    made.run(100)
    assert made.over


def test_a_key_that_has_most_of_the_tuples_makes_one_replica_slow() -> None:
    of = graph(bolt("a", "s", pool=4, par=4, kind=Kind.FIELDS))
    even, skewed = ran(of, burst(400)), ran(of, burst(400), skew={"a": (0.7, 0.1, 0.1, 0.1)})
    assert skewed.latency.mean > 1.8 * even.latency.mean


@pytest.mark.parametrize(
    "kind",
    [Kind.LOAD_AWARE, Kind.LOAD_AWARE_PAPER, Kind.SHUFFLE, Kind.LOCAL_OR_SHUFFLE, Kind.NONE, Kind.GLOBAL, Kind.ALL, Kind.LOAD_AWARE_STORM],
)
@pytest.mark.parametrize("shared", [True, False])
def test_every_grouping_brings_everything_to_an_end(kind: Kind, shared: bool) -> None:
    of = graph(bolt("a", "s", pool=4, par=3, kind=kind, shared_queues=shared), workers=2)
    found = ran(of, Arrivals((50, 120, 30)))
    assert found.over
    assert found.stats().components["a"].executed == 200 * (4 if kind is Kind.ALL else 1)


def test_load_aware_edges_choose_the_replica_with_less_to_do() -> None:
    own = {"shared_queues": False, "pool": 4, "par": 4, "varies": 1.5}
    by_load = ran(graph(bolt("a", "s", kind=Kind.LOAD_AWARE, **own)), Arrivals((170,) * 30))
    at_random = ran(graph(bolt("a", "s", kind=Kind.NONE, **own)), Arrivals((170,) * 30))
    assert by_load.latency.mean < at_random.latency.mean


def test_the_runtime_itself_takes_time() -> None:
    of = graph(bolt("a", "s"), bolt("b", "a"))
    found = ran(of, Arrivals((10,)), machinery=replace(IDEAL, hop=0.002))
    assert found.latency.mean == pytest.approx(2 * (0.02 + 0.002))
    late = ran(of, Arrivals((10,) * 100), machinery=replace(IDEAL, spout=0.005))
    assert late.latency.mean == pytest.approx(0.045, rel=0.02)


# ---- parcels


@pytest.mark.parametrize("rate", [200, 390, 500])
def test_parcels_say_what_single_events_say(rate: int) -> None:
    of = graph(bolt("a", "s"), bolt("b", "a"))
    arrivals = Arrivals((rate,) * 20)
    one, many = ran(of, arrivals), ran(of, arrivals, PARCELS)
    assert many.done == one.done == 20 * rate
    assert many.latency.mean == pytest.approx(one.latency.mean, rel=0.1)
    assert many.latency.quantile(0.99) == pytest.approx(one.latency.quantile(0.99), rel=0.15)


@pytest.mark.parametrize("rate", [300, 480, 700])
def test_parcels_of_bolts_that_share_a_loop_too(rate: int) -> None:
    of = graph(*(bolt(name, source, et=0.001, execution="inline") for name, source in (("a", "s"), ("b", "a"))))
    arrivals = Arrivals((rate,) * 10)
    one, many = ran(of, arrivals), ran(of, arrivals, PARCELS)
    assert many.done == one.done
    assert many.busy_seconds == pytest.approx(one.busy_seconds)
    assert many.latency.mean == pytest.approx(one.latency.mean, rel=0.15, abs=0.005)


def test_few_events_are_simulated_one_by_one_and_many_as_parcels() -> None:
    of = graph(bolt("a", "s"), bolt("b", "a"))
    assert detail_for(of, Arrivals((100,) * 100)).exact
    many = detail_for(of, Arrivals((1_000_000,) * 100))
    assert not many.exact
    assert many.parcels_a_second * 100 * 2 <= 2_000_000


def seen(of: Graph, arrivals: Arrivals, detail: Detail, seconds: float) -> list[tuple[int, int]]:
    """What is due, and what is queued before the first bolt, four times a second."""
    made, found = model(of, arrivals, detail), []
    for step in range(int(seconds * 4)):
        made.run(step / 4)
        stats = made.stats()
        found.append((stats.components["s"].due, stats.components["a"].queued))
    return found


@pytest.mark.parametrize("par", [4, 1])
def test_what_is_seen_of_parcels_is_what_is_seen_of_the_events_that_they_stand_for(par: int) -> None:
    of, arrivals = graph(bolt("a", "s", et=0.05, par=par, pool=4)), Arrivals((40,) * 10)
    one, many = seen(of, arrivals, EXACT, 8.0), seen(of, arrivals, Detail(2.0, exact=False), 8.0)
    for (due, queued), (due_of_many, queued_of_many) in zip(one[8:], many[8:], strict=True):
        assert due_of_many == pytest.approx(due, abs=1)
        assert queued_of_many == pytest.approx(queued, abs=10 if par == 1 else 1)


# ---- always


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.integers(0, 60), min_size=1, max_size=6),
    st.lists(st.tuples(st.sampled_from([0.3, 0.9, 1.7]), st.integers(1, 8), st.sampled_from([0.5, 1.0, 2.0]), st.booleans()), max_size=8),
    st.sampled_from([Kind.LOAD_AWARE, Kind.FIELDS, Kind.SHUFFLE]),
    st.sampled_from([EXACT, Detail(7.0, exact=False)]),
    st.sampled_from(["thread", "async", "inline"]),
)
def test_nothing_is_lost_or_made_up_whatever_changes(
    counts: list[int], changes: list[tuple[float, int, float, bool]], kind: Kind, detail: Detail, execution: str
) -> None:
    of = graph(
        bolt("a", "s", kind=kind, selectivity=1.5, execution=execution, concurrency=2 if execution == "async" else 1),
        bolt("b", "a", et=0.01, varies=0.5), workers=2, pending=40, buffer=16,
    )  # fmt: skip
    made = model(of, Arrivals(tuple(counts)), detail)
    for after, count, _, first in changes:
        made.run(made.time + after)
        made.apply(with_active(made.table, "a" if first else "b", count))
        _check(made, exact=detail.exact)
    made.run(made.time + 500)
    assert made.over
    assert made.stats().pending == 0
    assert all(component.queued == 0 for component in made.stats().components.values())
    assert made.latency.count == sum(counts)


def _check(made: Model, *, exact: bool) -> None:
    stats = made.stats()
    assert not exact or stats.due >= stats.emitted_first
    assert stats.emitted_first >= stats.acked
    assert stats.pending == stats.emitted_first - stats.acked
    for component in stats.components.values():
        if component.edges:
            # of parcels the queue is that of the events that they stand for, which come one by one
            assert not exact or component.queued == sum(edge.received - edge.executed for edge in component.edges)
            assert component.executed == sum(replica.executed for replica in component.replicas.values())
            assert component.active == sum(replica.state == "ACTIVE" for replica in component.replicas.values())


def test_the_same_seed_gives_the_same_run() -> None:
    of = graph(bolt("a", "s", varies=0.5, selectivity=1.3, kind=Kind.NONE), workers=2)

    def once(seed: int) -> tuple[float, int]:
        found = ran(of, Arrivals((90,) * 5, seed=seed), seed=seed)
        return found.latency.total, found.stats().components["a"].executed

    assert once(1) == once(1) != once(2)


def test_without_events_nothing_happens() -> None:
    found = ran(graph(bolt("a", "s")), Arrivals((0, 0)))
    assert found.over
    assert math.isnan(found.latency.mean)
    assert IDEAL.hop == 0.0
