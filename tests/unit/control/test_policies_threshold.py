"""HPA and KEDA: replicas in proportion to a metric, a tolerance, and scale-down by the highest recommendation of a window."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pasps.control.plan import Clamp, Plan
from pasps.control.policies.threshold import POLICY, Options, plan
from pasps.control.situation import Situation
from tests.unit.control.situations import bolt, did, due, interval, known, shape, situation

NO_WINDOW = Options(stabilisation_seconds=0.0)


def deciding(busy: float = 0.0, active: int = 1, queued: int = 0, pool: int = 50, ended: float = 100.0, **changes: Any) -> Situation:
    of = shape(bolt("a", "s", pool=pool))
    a = did(1, 0.1, active=active, queued=queued, seconds=busy * active * 15.0)
    now = interval({"s": due(0, backlog=changes.pop("backlog", 0))}, {"a": a}, seconds=15.0, ended=ended)
    return situation(of, now, known(of, {"a": 0.1}), **changes)


@pytest.mark.parametrize(
    ("busy", "active", "target", "wanted"),
    [
        (0.9, 50, 0.75, 60),
        (0.75, 50, 0.75, 50),
        (0.82, 50, 0.75, 50),
        (0.83, 50, 0.75, 56),
        (0.4, 4, 0.8, 2),
        (0.1, 4, 0.8, 1),
        (0.0, 4, 0.8, 1),
    ],
)
def test_replicas_are_in_proportion_to_how_busy_they_are(busy: float, active: int, target: float, wanted: int) -> None:
    found = plan(deciding(busy, active, pool=100), replace(NO_WINDOW, target=target))
    assert found.replicas == {"a": wanted}


@pytest.mark.parametrize(
    ("queued", "backlog", "active", "wanted"), [(95, 0, 3, 10), (0, 95, 3, 10), (32, 0, 3, 3), (34, 0, 3, 4), (0, 0, 3, 1)]
)
def test_replicas_are_in_proportion_to_what_waits(queued: int, backlog: int, active: int, wanted: int) -> None:
    found = plan(deciding(1.0, active, queued, backlog=backlog), replace(NO_WINDOW, metric="lag"))
    assert found.replicas == {"a": wanted}


def test_a_tolerance_of_nought_follows_everything() -> None:
    assert plan(deciding(0.81, 50, pool=100), replace(NO_WINDOW, tolerance=0.0)).replicas == {"a": 51}


def test_no_more_than_the_pool() -> None:
    planned = plan(deciding(1.0, 8, pool=9), NO_WINDOW).bolts["a"]
    assert (planned.asked, planned.replicas, planned.clamps) == (10, 9, (Clamp.AT_POOL,))


def told(course: list[tuple[float, float]], options: Options, pool: int = 50, active: int = 10) -> list[int]:
    """Decisions one after the other, each at a time and with how busy the replicas were; what they come to."""
    memory, found = None, []
    for ended, busy in course:
        made = plan(deciding(busy, active, pool=pool, ended=ended, memory=memory), options)
        active, memory = made.replicas["a"], msgspec.json.decode(msgspec.json.encode(made.memory))
        found.append(active)
    return found


def test_fewer_only_when_nothing_more_was_recommended_for_the_window() -> None:
    course = [(15.0 * step, 0.2) for step in range(1, 24)]
    found = told(course, Options())
    assert found[:20] == [10] * 20, "what there was at the start counts as recommended"
    assert found[20:] == [3] * 3, "and then that one of three does"


def test_more_at_once_and_the_window_begins_again() -> None:
    found = told([(15.0, 0.4), (30.0, 1.0), *((15.0 * step, 0.4) for step in range(3, 24))], Options())
    assert found[:2] == [10, 13]
    assert found[2:21] == [13] * 19
    assert found[21] == 7, "of 13 that are half as busy as they should be"


def test_a_delay_is_told() -> None:
    planned = plan(deciding(0.2, 10), Options()).bolts["a"]
    assert (planned.allowed, planned.replicas, planned.clamps) == (3, 10, (Clamp.DELAYED,))
    assert planned.reasons[1].text == "10 were recommended within the last 300 s"


def hpa(course: list[tuple[float, float]], options: Options, pool: int, active: int) -> list[int]:
    """As Kubernetes documents it: all recommendations are kept, and the highest of the window holds for scale-down."""
    recommendations: list[tuple[float, int]] = [(course[0][0], min(pool, active))]
    found = []
    for now, busy in course:
        ratio = busy / options.target
        desired = active if abs(ratio - 1.0) <= options.tolerance + 1e-9 else math.ceil(active * ratio - 1e-9)
        desired = min(max(1, desired), pool)
        recommendations = [(at, each) for at, each in recommendations if at > now - options.stabilisation_seconds] + [(now, desired)]
        down = max(each for _, each in recommendations)
        active = desired if active < desired else min(active, down)
        found.append(active)
    return found


@given(
    st.lists(st.tuples(st.sampled_from([15.0, 30.0, 100.0]), st.floats(0, 1)), min_size=1, max_size=60),
    st.integers(1, 40),
    st.integers(1, 40),
    st.sampled_from([0.0, 30.0, 300.0]),
)
def test_it_does_what_kubernetes_documents(steps: list[tuple[float, float]], pool: int, active: int, window: float) -> None:
    now, course = 0.0, []
    for seconds, busy in steps:
        now += seconds
        course.append((now, busy))
    options = Options(stabilisation_seconds=window)
    active = min(active, pool)
    assert told(course, options, pool, active) == hpa(course, options, pool, active)


def test_it_remembers_little_however_large_the_pool_is() -> None:
    made: Plan | None = None
    for step in range(200):
        memory = None if made is None else made.memory
        made = plan(
            deciding(0.8 * (1000 - step) / 1000, 1000, pool=1000, ended=float(step), memory=memory), replace(Options(), tolerance=0.0)
        )
    assert made is not None
    assert made.replicas == {"a": 1000}
    assert len(msgspec.json.encode(made.memory)) < 1024


def test_what_the_loop_gathers_for_it() -> None:
    assert (POLICY.needs.interval_seconds, POLICY.needs.history_seconds, POLICY.forecasts) == (15.0, 0, False)
