"""Plain Storm: a number, or as it is."""

from __future__ import annotations

from pasps.control.plan import Clamp
from pasps.control.policies.static import POLICY
from tests.unit.control.situations import bolt, did, due, interval, known, planner, shape, situation

plan = planner(POLICY)

OF = shape(bolt("a", "s", pool=8), bolt("b", "a", pool=2))
NOW = interval({"s": due(10)}, {"a": did(active=3), "b": did(active=2)})


def test_without_a_number_everything_stays_as_it_is() -> None:
    found = plan(situation(OF, NOW, known(OF, {"a": None, "b": None})))
    assert (found.replicas, found.changes) == ({"a": 3, "b": 2}, {})


def test_what_was_set_by_hand_stays_also_where_more_bring_nothing() -> None:
    now = interval({"s": due(10)}, {"a": did(active=3), "b": did(active=4)})
    found = plan(situation(OF, now, known(OF, {"a": None, "b": None})))
    assert (found.replicas, found.changes) == ({"a": 3, "b": 4}, {})


def test_every_bolt_gets_the_number_as_far_as_its_pool_goes() -> None:
    found = plan(situation(OF, NOW, known(OF, {"a": None, "b": None}), static_replicas=4))
    assert found.replicas == {"a": 4, "b": 2}
    assert (found.bolts["b"].asked, found.bolts["b"].clamps) == (4, (Clamp.AT_POOL,))
    assert found.bolts["a"].clamps == ()


def test_it_needs_no_forecast_and_hardly_any_interval() -> None:
    assert (POLICY.forecasts, POLICY.corrects, POLICY.warm_up_seconds) == (False, False, 1.0)
