"""What is kept of decisions."""

from __future__ import annotations

import pytest

from pasps.control.decision_log import BY_HAND, Act, Outcome
from pasps.control.plan import Clamp, Plan
from pasps.control.situation import BoltShape, Forecast, Player, TopologyShape
from pasps.report.decided import Ends, decided
from tests.unit.report.builders import bolt_plan, forecast, line_of, record, situation, terms


def test_decisions_are_counted_by_what_became_of_them() -> None:
    acts = {
        "a": Act(2, 5, 5, Outcome.DONE),
        "b": Act(4, 1, 1, Outcome.DONE),
        "c": Act(3, 6, 3, Outcome.FAILED, "refused"),
        "d": Act(1, 2, 1, Outcome.POSTPONED),
    }
    found = decided(
        [
            record(1, 10, Plan({}), acts=acts),
            record(2, 11, Plan({}), moment="correction", acts={"a": Act(5, 4, 4, Outcome.DONE)}),
            record(3, 20, Plan({}, held="the snapshot is incomplete")),
            record(4, 21, Plan({}), moment=BY_HAND, acts={"a": Act(4, 9, 9, Outcome.DONE)}),
        ],
        10.0,
    )
    assert (found.cycles, found.corrections, found.held, found.failed) == (2, 1, 1, 1)
    assert (found.activations, found.deactivations) == (3, 4)


def test_the_forecast_of_a_cycle_is_taken_for_the_whole_interval() -> None:
    shape = line_of("count")
    needs = terms(40, seconds=2.0)
    seen = situation(30, shape, forecast=forecast(30, 20))
    found = decided([record(1, 30, Plan({"count": bolt_plan(1, needs)}, 40), situation=seen)], 10.0)
    assert [(ahead.began, ahead.seconds, ahead.events) for ahead in found.ahead] == [(30, 10.0, 200.0)]
    assert found.ahead[0].bolts[0].seconds == 2.0


def test_without_a_forecast_the_planned_input_is_what_was_expected() -> None:
    seen = situation(30, line_of("count"))
    found = decided([record(1, 30, Plan({"count": bolt_plan(1, terms(120))}, 120), situation=seen)], 10.0)
    assert [(ahead.began, ahead.seconds, ahead.events) for ahead in found.ahead] == [(30, 10.0, 120)]


def test_what_expected_nothing_is_no_forecast() -> None:
    shape, plan = line_of("count"), {"count": bolt_plan(1, terms(100))}
    seen = situation(30, shape, forecast=forecast(30, 20))
    found = decided(
        [
            record(1, 30, Plan(plan, None), situation=seen),
            record(2, 40, Plan(plan, 100, held="why"), situation=seen),
            record(3, 41, Plan(plan, 100), situation=situation(41, shape, moment="correction"), moment="correction"),
            record(4, 50, Plan({}, held="no interval")),
        ],
        10.0,
    )
    assert found.ahead == []


def test_what_was_asked_for_is_within_1_and_the_pool() -> None:
    plans = {"a": bolt_plan(1, terms(10_000)), "b": bolt_plan(1, terms(10), asked=0)}
    found = decided([record(1, 30, Plan(plans, 10), situation=situation(30, line_of("a", "b")))], 10.0)
    assert [bolt.replicas for bolt in found.ahead[0].bolts] == [8, 1]


def test_a_bolt_of_which_nothing_is_known_is_not_measured() -> None:
    plans = {"a": bolt_plan(1, terms(10, execution_seconds=None), clamps=(Clamp.UNKNOWN,)), "b": bolt_plan(1, None)}
    found = decided([record(1, 30, Plan(plans, 10), situation=situation(30, line_of("a", "b", "c")))], 10.0)
    assert found.ahead[0].bolts == ()


def test_the_ends_are_the_bolts_that_nobody_subscribes_to() -> None:
    bolts = (BoltShape("split", 8, ("words",)), BoltShape("left", 8, ("split",)), BoltShape("right", 8, ("split",), concurrency=4))
    shape = TopologyShape(("words",), bolts)
    found = decided([record(1, 30, Plan({}), situation=situation(30, shape, shares={"split": 1.0, "left": 0.7, "right": 1.5}))], 10.0)
    assert found.ends == Ends(("left", "right"), 2.2)
    assert found.concurrency == {"split": 1, "left": 1, "right": 4}


def test_shares_that_are_not_known_make_no_ends() -> None:
    found = decided([record(1, 30, Plan({}), situation=situation(30, line_of("a"), shares={}))], 10.0)
    assert found.ends is None


def test_what_forecasts_were_mixed_of_is_added_up() -> None:
    mixed = ((Player("ar", 1.0, 0.6),), (Player("ses", 1.0, 0.5), Player("ar", 1.0, 0.3)))
    seen = [situation(10, line_of("a"), forecast=Forecast(30.0, (1.0,), "auto", players=players)) for players in mixed]
    found = decided([record(number, 10 * number, Plan({}), situation=one) for number, one in enumerate(seen, 1)], 10.0)
    assert list(found.players.items()) == [("ar", pytest.approx(0.9)), ("ses", 0.5)], "who had most first"


def test_forecasts_are_counted_by_who_made_them() -> None:
    shape = line_of("a")
    fallback = Forecast(20, (1.0,), "ann", "last good", "late")
    chosen = Forecast(40, (1.0,), "basic", "basic")
    seen = [situation(10, shape, forecast=made) for made in (fallback, forecast(10, 1), None, chosen)]
    found = decided([record(number, 10 * number, Plan({}), situation=one) for number, one in enumerate(seen, 1)], 10.0)
    assert list(found.forecasts.items()) == [("ann", 1), ("basic", 1), ("last good standing in", 1)], "stand-ins last"
