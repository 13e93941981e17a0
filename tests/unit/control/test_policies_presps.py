"""PRESPS: the input of the last interval, and each bolt's own queue."""

from __future__ import annotations

import pytest

from pasps.control.policies.presps import POLICY
from pasps.control.situation import Situation
from tests.unit.control.situations import bolt, did, due, forecast, interval, known, planner, shape, situation

plan = planner(POLICY)

CHAIN = shape(bolt("a", "s"), bolt("b", "a"))


def deciding(events: float = 10, seconds: float = 1.0, settings_seconds: float = 1.0) -> Situation:
    bolts = {"a": did(queued=20), "b": did(queued=3)}
    now = interval({"s": due(events, backlog=1000)}, bolts, seconds=seconds)
    return situation(CHAIN, now, known(CHAIN, {"a": 0.1, "b": 0.1}), forecast(5000.0), interval_seconds=settings_seconds)


def test_the_next_interval_is_taken_to_be_as_the_last() -> None:
    assert plan(deciding(10)).input == 10.0


def test_a_forecast_changes_nothing() -> None:
    now = deciding(10)
    assert plan(now) == plan(situation(now.shape, now.interval, now.estimates, None, interval_seconds=1.0))


def test_an_interval_that_was_longer_than_td_counts_for_as_much_a_second() -> None:
    assert plan(deciding(30, seconds=3.0, settings_seconds=2.0)).input == pytest.approx(20.0)


def test_a_bolt_counts_its_own_queue_alone_and_no_backlog() -> None:
    found = plan(deciding(10))
    assert [bolt.terms.from_queues for bolt in found.bolts.values()] == [20.0, 3.0]  # type: ignore[union-attr]
    assert found.replicas == {"a": 3, "b": 2}


def test_another_queue_share_can_be_asked_for() -> None:
    now = deciding(10)
    found = plan(situation(now.shape, now.interval, now.estimates, interval_seconds=1.0, queue_share="paper"))
    assert [bolt.terms.from_queues for bolt in found.bolts.values()] == [1020.0, 1023.0]  # type: ignore[union-attr]


def test_what_the_loop_needs_to_know() -> None:
    assert (POLICY.forecasts, POLICY.corrects, POLICY.warm_up_seconds) == (False, False, None)
