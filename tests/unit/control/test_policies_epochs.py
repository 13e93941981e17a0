"""BGElasor: its costs, its three algorithms and the cheapest plan, on worked examples and against trying everything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pasps.control.plan import Clamp, Plan, Step
from pasps.control.policies import BUILT_IN
from pasps.control.policies.cba import balanced
from pasps.control.policies.epochs import Epochs, Priced, Prices, base_of, cost, short
from pasps.control.policies.optimal import cheapest
from pasps.control.situation import Forecast, Situation
from tests.unit.control.situations import Bench, bolt, did, due, interval, known, shape, situation

INPUTS = [250, 330, 420, 380, 290, 310, 430, 200, 210, 390]
BASE = [3, 4, 5, 4, 3, 4, 5, 2, 3, 4]
AS_PUBLISHED = Prices(8000.0, 5000.0, 5000.0, 100.0)
CHEAP = Prices(50.0, 20.0, 20.0, 100.0)
"""Routing anew is dearer than a replica for an epoch."""


# ---- the examples


def test_the_fewest_replicas_of_each_epoch() -> None:
    assert base_of(INPUTS, 100.0) == BASE
    assert base_of([0.0, 1e-9, 100.0, 100.1], 100.0) == [1, 1, 1, 2]


def test_what_the_simple_plans_cost() -> None:
    assert cost(BASE, BASE, AS_PUBLISHED) == 55_900
    reactive = [BASE[0], *BASE[:-1]]
    assert cost(reactive, BASE, AS_PUBLISHED) == 42_800, "less than any plan that is never short"
    assert short(reactive, BASE) == [1, 2, 5, 6, 8, 9]
    assert short(BASE, BASE) == []


def test_what_cba_makes_of_it_is_the_cheapest() -> None:
    found = balanced(BASE, AS_PUBLISHED)
    assert found == [3, 4, 5, 4, 4, 4, 5, 3, 3, 4]
    assert cost(found, BASE, AS_PUBLISHED) == cost(cheapest(BASE, AS_PUBLISHED), BASE, AS_PUBLISHED) == 51_600


def test_actions_are_moved_to_their_neighbours_where_routing_is_dear() -> None:
    base = [2, 3, 4, 4, 3, 2]
    assert [cost(plan, base, CHEAP) for plan in (base, [2, 4, 4, 4, 3, 2], [2, 4, 4, 4, 4, 2])] == [480, 430, 380]
    assert balanced(base, CHEAP) == [2, 4, 4, 4, 4, 2]
    assert cheapest(base, CHEAP) == [4, 4, 4, 4, 4, 4]
    assert cost([4] * 6, base, CHEAP) == 300


def test_an_action_without_a_neighbour_stays_where_it_is() -> None:
    base = [2, 2, 2, 3, 3, 3]
    assert balanced(base, CHEAP) == base
    assert (cost(base, base, CHEAP), cost([2, 2, 3, 3, 3, 3], base, CHEAP)) == (120, 170)


def test_what_there_is_counts_where_it_is_told() -> None:
    assert cost([3, 3], [2, 3], CHEAP, start=1) == 50 + 40 + 100
    assert balanced([2, 3], Prices(1.0, 50.0, 50.0, 0.0), start=3) == [3, 3], "none is stopped that is wanted again an epoch later"
    assert balanced([3, 4], Prices(1.0, 0.0, 0.0, 100.0), start=2) == [4, 4], "one routing does for both"
    assert balanced([3], CHEAP, start=2) == [3]


# ---- against trying everything


PRICES = st.builds(Prices, *[st.floats(0, 200, allow_subnormal=False)] * 4)


def all_plans(base: Sequence[int], most: int) -> list[tuple[int, ...]]:
    return list(product(*(range(least, most + 1) for least in base)))


@given(st.lists(st.integers(1, 4), min_size=1, max_size=5), PRICES, st.one_of(st.none(), st.integers(1, 5)))
def test_nothing_is_cheaper_than_the_cheapest(base: list[int], prices: Prices, start: int | None) -> None:
    found = cheapest(base, prices, start)
    assert all(count >= least for count, least in zip(found, base, strict=True))
    least = min(cost(plan, base, prices, start) for plan in all_plans(base, max(*base, start or 1)))
    assert cost(found, base, prices, start) == pytest.approx(least, abs=1e-6)


@given(st.lists(st.integers(1, 64), min_size=1, max_size=60), PRICES, st.one_of(st.none(), st.integers(1, 64)))
@example([2, 2, 2, 3, 3, 3], CHEAP, None)
@example([2, 3, 4, 4, 3, 2], CHEAP, None)
@example([4, 1, 4], AS_PUBLISHED, 4)
def test_the_cheapest_costs_no_more_than_cba_and_that_no_more_than_following(base: list[int], prices: Prices, start: int | None) -> None:
    plans = [cheapest(base, prices, start), balanced(base, prices, start), base]
    costs = [cost(plan, base, prices, start) for plan in plans]
    assert all(before <= after + 1e-6 * (1 + after) for before, after in pairwise(costs))
    for plan in plans:
        assert len(plan) == len(base)
        assert all(count >= least for count, least in zip(plan, base, strict=True))
        assert max(plan) <= max(*base, start or 1)


@given(st.lists(st.integers(1, 64), min_size=1, max_size=60), st.integers(1, 64))
def test_where_changes_cost_nothing_all_follow_the_input(base: list[int], start: int) -> None:
    free = Prices(1.0, 0.0, 0.0, 0.0)
    assert cheapest(base, free, start) == balanced(base, free, start) == base


def test_of_plans_that_cost_the_same_the_one_is_taken_that_stays() -> None:
    assert cheapest([2, 1, 2], Prices(2.0, 1.0, 1.0, 0.0), start=2) == [2, 2, 2]


# ---- as policies


OF = shape(bolt("a", "s", pool=8), bolt("b", "a", pool=4))


def deciding(*epochs: float, active: int = 3, came: float = 250.0, of: object = OF, **changes: object) -> Situation:
    """At the end of an epoch of ten seconds, before epochs with so many events; a replica does 100 in each."""
    now = interval({"s": due(came)}, {"a": did(250, 0.1, active=active), "b": did(250, 0.1, active=active)}, seconds=10.0)
    ahead = Forecast(100.0, tuple(events / 10 for events in epochs for _ in range(10)), "lr") if epochs else None
    return situation(OF, now, known(OF, {"a": 0.1, "b": 0.1}), ahead, **changes)  # type: ignore[arg-type]


def planned(name: str, now: Situation, **options: object) -> Plan:
    policy = BUILT_IN[name]
    return policy.plan(now, policy.configured(now.settings, options))


def test_the_reactive_one_does_what_the_last_epoch_needed() -> None:
    found = planned("srea", deciding(500, came=390))
    assert found.replicas == {"a": 4, "b": 4}
    assert found.timetable == ()
    assert found.bolts["a"].reasons[0].text == "390 events of the next 10 s / 100 a replica = 3.9, rounded up 4"


def test_the_proactive_one_does_what_the_next_one_needs() -> None:
    found = planned("spea", deciding(500))
    assert (found.replicas, found.input) == ({"a": 5, "b": 4}, 500)
    assert found.bolts["b"].clamps == (Clamp.AT_POOL,)


@pytest.mark.parametrize("name", ["cba", "optimal"])
def test_those_that_look_further_lay_down_what_comes_after(name: str) -> None:
    found = planned(name, deciding(*INPUTS[1:], active=3), horizon=9)
    assert found.bolts["a"].replicas == 4
    assert found.bolts["a"].reasons[0].text == "4 now, of the epochs 4 5 4 4 4 5 3 3 4; the fewest that would do are 4 5 4 3 4 5 2 3 4"
    assert found.bolts["a"].reasons[1].text == "51,600 above what the fewest replicas cost themselves; to have just these would cost 55,900"
    steps = {step.after_seconds: step.replicas["a"] for step in found.timetable if "a" in step.replicas}
    assert steps == {11.0: 5, 21.0: 4, 51.0: 5, 61.0: 3, 81.0: 4}


def test_replicas_that_are_wanted_again_soon_are_kept() -> None:
    soon = deciding(100, 300, 300, active=3)
    assert planned("spea", soon).replicas["a"] == 1
    assert planned("cba", soon, horizon=3).replicas["a"] == planned("optimal", soon, horizon=3).replicas["a"] == 3
    late = deciding(100, 100, 100, 300, active=3)
    assert planned("cba", late, horizon=4).replicas["a"] == planned("optimal", late, horizon=4).replicas["a"] == 1


def test_the_timetable_of_a_plan_is_late_enough_to_be_replaced_by_the_next() -> None:
    found = planned("optimal", deciding(100, 300, active=3), horizon=2, price_start=0.0, price_stop=0.0, price_route=0.0)
    assert found.timetable == (Step(11.0, {"a": 3, "b": 3}),)


@pytest.mark.parametrize("name", ["spea", "cba", "optimal"])
def test_without_a_forecast_nothing_changes(name: str) -> None:
    assert planned(name, deciding()) == Plan({}, held="there is no forecast")


@pytest.mark.parametrize("name", ["srea", "spea", "cba", "optimal"])
def test_room_is_left_where_that_is_wanted(name: str) -> None:
    assert planned(name, deciding(*[250.0] * 10), target=0.5).replicas["a"] == 5


def test_what_the_loop_gathers_for_them() -> None:
    assert [BUILT_IN[name].forecasts for name in ("srea", "spea", "cba", "optimal")] == [False, True, True, True]
    for name, options, seconds in (("spea", Epochs(), 30.0), ("cba", Priced(), 300.0), ("optimal", Priced(horizon=3), 90.0)):
        assert BUILT_IN[name].with_options(options).needs.horizon(30.0) == seconds


def test_while_nobody_forecasts_what_was_laid_down_goes_on() -> None:
    """A second of ten for now, of sixty from four seconds on: the second plan is not to be had, so the step of the first is taken."""
    policy = BUILT_IN["optimal"]
    free = policy.options(horizon=2, price_start=0.0, price_stop=0.0, price_route=0.0)
    bench = Bench(replace(policy, plan=lambda situation, _: policy.plan(situation, free)), answer=None, interval_seconds=4.0)
    bench.forecasts.answer = Forecast(0.0, (10.0,) * 4 + (60.0,) * 4, "lr")
    bench.run(6)
    bench.forecasts.answer = None
    bench.run(6)
    moments = [(record.moment, record.uptime, record.plan.replicas.get("a")) for record in bench.records]
    assert moments == [("cycle", 5.0, 1), ("cycle", 9.0, None), ("timetable", 10.0, 6)]
    assert bench.actuator.active["a"] == 6
