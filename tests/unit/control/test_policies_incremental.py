"""The incremental baseline: one replica more above a threshold of CPU, one less below another, with a window of rest."""

from __future__ import annotations

from typing import Any

import pytest

from pasps.control.policies.incremental import POLICY, Options, plan
from pasps.control.situation import Situation
from tests.unit.control.situations import bolt, did, due, interval, known, shape, situation


def deciding(busy: float, active: int = 3, pool: int = 8, memory: Any = None, **bolt_changes: Any) -> Situation:
    """Replicas that were busy for that share of ten seconds."""
    of = shape(bolt("a", "s", pool=pool, **bolt_changes))
    seconds = busy * active * 10.0 * bolt_changes.get("concurrency", 1)
    now = interval({"s": due(10)}, {"a": did(100, 0.1, active=active, seconds=seconds)}, seconds=10.0)
    return situation(of, now, known(of, {"a": 0.1}), memory=memory)


@pytest.mark.parametrize(
    ("busy", "active", "replicas", "words"),
    [
        (0.81, 3, 4, "replicas use 81% CPU, above 80%"),
        (0.79, 3, 3, "replicas use 79% CPU, between 30% and 80%"),
        (0.31, 3, 3, "replicas use 31% CPU, between 30% and 80%"),
        (0.29, 3, 2, "replicas use 29% CPU, below 30%"),
        (0.0, 1, 1, "replicas use 0% CPU, below 30%, and there is none to spare"),
        (1.0, 8, 8, "replicas use 100% CPU, above 80%, and there is none to add"),
    ],
)
def test_one_more_or_one_less(busy: float, active: int, replicas: int, words: str) -> None:
    planned = plan(deciding(busy, active), Options()).bolts["a"]
    assert (planned.replicas, planned.reasons[0].text) == (replicas, words)


def test_where_replicas_wait_their_time_counts() -> None:
    planned = plan(deciding(0.9, waits=True, concurrency=4), Options()).bolts["a"]
    assert (planned.replicas, planned.reasons[0].text) == (4, "replicas use 90% of their time on events, above 80%")


def test_the_thresholds_are_options() -> None:
    assert plan(deciding(0.5), Options(high=0.4)).replicas == {"a": 4}
    assert plan(deciding(0.5), Options(low=0.6)).replicas == {"a": 2}


def test_who_has_changed_rests_for_a_window_and_others_do_not() -> None:
    memory = {"active": {"a": 2}}
    resting = plan(deciding(1.0, memory=memory), Options())
    assert (resting.changes, resting.memory) == ({}, {"active": {"a": 3}})
    assert plan(deciding(1.0, memory=resting.memory), Options()).changes == {"a": 1}
    assert plan(deciding(1.0, memory={"active": {"b": 2}}), Options()).changes == {"a": 1}


def test_what_the_loop_gathers_for_it() -> None:
    assert (POLICY.needs.interval_seconds, POLICY.needs.history_seconds, POLICY.forecasts) == (10.0, 0, False)
