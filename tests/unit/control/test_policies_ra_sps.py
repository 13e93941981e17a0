"""RA-SPS: use, queue and slowing of 5 s samples, the trimmed mean of five of them, and one replica more or less."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pasps.control.plan import Plan
from pasps.control.policies.ra_sps import POLICY, Options, Sample, parts, plan, samples_of, trimmed_mean
from pasps.control.situation import BoltSecond, ExecutionTime, Second, Situation
from tests.unit.control.situations import bolt, did, due, interval, known, shape, situation

OF = shape(bolt("a", "s", pool=8))


def history(seconds: int, processed: int = 100, queued: int = 0, active: int = 1, et: float = 0.01, backlog: int = 0) -> list[Second]:
    """So many seconds, all alike; they are given their times by `deciding`."""
    each = BoltSecond(processed, processed, queued, active, processed * et)
    return [Second(0.0, 1.0, 0.0, {"a": each}, {"s": backlog} if backlog else {})] * seconds


def deciding(seconds: list[Second], active: int = 1, et: float | None = None, td: float = 25.0, **changes: Any) -> Situation:
    """At the end of these seconds; `et`: that of the benchmark's file."""
    at = [replace(second, ended=float(place)) for place, second in enumerate(seconds, 1)]
    estimates = known(OF, {"a": 0.01})
    if et is not None:
        estimates = replace(estimates, execution={"a": ExecutionTime(et, "file")})
    now = interval({"s": due(0)}, {"a": did(1, 0.01, active=active)}, seconds=td)
    return situation(OF, now, estimates, history=tuple(at), **changes)


def state_of(found: Plan) -> str:
    return str(found.memory["states"]["a"])


OVERLOADED = history(25, 100, queued=20_000)
IDLE = history(25, 5)
AS_BEFORE = {"states": {"a": "overloaded"}, "benchmarks": {}}


# ---- what it looks at


def test_use_queue_and_slowing_of_a_sample() -> None:
    sample = Sample(400, 5.0, 1000, 2, 8.0)
    use, queue, slowing = parts(sample, 0.015, 1)
    assert (use, queue, slowing) == (pytest.approx(400 * 0.02 / 10), pytest.approx(0.6), pytest.approx(0.25))


def test_who_is_quicker_than_the_benchmark_counts_by_the_benchmark_and_is_not_slowed() -> None:
    assert parts(Sample(400, 5.0, 0, 2, 4.0), 0.02, 1) == (pytest.approx(0.8), 0.0, 0.0)


def test_without_a_benchmark_there_is_no_slowing_and_without_an_event_no_use() -> None:
    assert parts(Sample(400, 5.0, 0, 2, 8.0), None, 1) == (pytest.approx(0.8), 0.0, 0.0)
    assert parts(Sample(0, 5.0, 50, 2, 0.0), 0.02, 1) == (0.0, 1.0, 0.0)


def test_several_calls_at_a_time_are_several_replicas_use() -> None:
    assert parts(Sample(400, 5.0, 0, 2, 16.0), None, 4) == (pytest.approx(0.4), 0.0, 0.0)


def test_samples_are_counted_back_from_the_last_second_and_a_part_of_one_is_none() -> None:
    seconds = history(12, 10)
    seconds[-1] = replace(seconds[-1], bolts={"a": BoltSecond(0, 90, 7, 3, 0.9)}, backlog={"s": 40})
    first, second = samples_of(deciding(seconds), OF.bolts[0], 5)
    assert (first.processed, first.queued, first.active) == (50, 0.0, 1)
    assert (second.processed, second.queued, second.active, second.spent) == (130, 47.0, 3, pytest.approx(0.4 + 0.9))


def test_what_is_off_by_more_than_a_standard_deviation_is_dropped() -> None:
    assert trimmed_mean([0.5, 0.5, 0.5, 0.5, 1.0]) == 0.5
    assert trimmed_mean([0.2, 0.8]) == 0.5, "both are just one off"
    assert trimmed_mean([0.3]) == 0.3


# ---- what it does


def test_one_more_where_it_is_overloaded_twice() -> None:
    first = plan(deciding(OVERLOADED), Options())
    assert (first.changes, state_of(first)) == ({}, "overloaded")
    assert first.bolts["a"].reasons[0].text == "δ 0.89, overloaded; not so at the last decision"
    second = plan(deciding(OVERLOADED, memory=first.memory), Options())
    assert second.changes == {"a": 1}


def test_one_less_where_it_is_underloaded_twice_and_never_none() -> None:
    memory = plan(deciding(IDLE, active=3), Options()).memory
    assert plan(deciding(IDLE, active=3, memory=memory), Options()).changes == {"a": -1}
    assert plan(deciding(IDLE, active=1, memory=memory), Options()).replicas == {"a": 1}


def test_the_published_code_does_not_wait_for_the_second_time() -> None:
    at_once = Options(same_state_twice=False)
    assert plan(deciding(OVERLOADED), at_once).changes == {"a": 1}
    assert plan(deciding(IDLE, active=3), at_once).changes == {"a": -1}


def test_between_the_thresholds_nothing_changes() -> None:
    busy = history(25, 95)
    assert plan(deciding(busy, memory={"states": {"a": "stable"}}), Options()).changes == {}


def test_no_more_than_the_pool() -> None:
    assert plan(deciding(OVERLOADED, active=8, memory=AS_BEFORE), Options()).replicas == {"a": 8}


def test_no_more_where_events_take_too_much_longer() -> None:
    """Another replica does not help when the machine itself is slow."""
    slow = history(25, 100, queued=20_000, et=0.05)
    for et, changes in ((0.016, {"a": 1}), (0.014, {})):
        assert plan(deciding(slow, memory=AS_BEFORE, et=et), Options()).changes == changes


def test_the_weights_and_thresholds_are_options() -> None:
    use_alone = Options(weight_use=1.0, weight_queue=0.0, weight_slowing=0.0, same_state_twice=False)
    assert plan(deciding(OVERLOADED), use_alone).changes == {"a": 1}
    assert plan(deciding(history(25, 1, queued=20_000)), use_alone).changes == {}
    assert plan(deciding(OVERLOADED), replace(use_alone, overloaded=1.0, weight_use=0.9)).changes == {}


def test_a_decision_looks_at_the_samples_of_its_interval() -> None:
    seconds = [*history(50, 100, queued=20_000), *history(10, 5)]
    assert state_of(plan(deciding(seconds, td=10.0), Options())) == "underloaded"
    assert state_of(plan(deciding(seconds, td=60.0), Options())) == "overloaded"


def test_before_there_is_a_sample_nothing_is_decided() -> None:
    found = plan(deciding(history(4), memory=AS_BEFORE), Options())
    assert (found.changes, found.bolts["a"].reasons[0].text) == ({}, "no sample yet")


# ---- the benchmark


def test_the_benchmark_is_the_file_else_the_first_minute() -> None:
    assert plan(deciding(history(60), et=0.02), Options()).memory["benchmarks"] == {"a": 0.02}
    assert plan(deciding(history(59)), Options()).memory["benchmarks"] == {}
    seconds = [*history(5, 1, et=0.5), *history(55, 100, et=0.01)]
    assert plan(deciding(seconds), Options()).memory["benchmarks"]["a"] == pytest.approx(0.01), "the first sample is far off"


def test_the_first_minute_stays_the_benchmark() -> None:
    memory = plan(deciding(history(60, et=0.01)), Options()).memory
    later = plan(deciding(history(60, et=0.04), memory=memory), Options())
    assert later.memory["benchmarks"]["a"] == pytest.approx(0.01)
    assert "E 0.75" in later.bolts["a"].reasons[1].text


def test_what_executed_nothing_in_the_first_minute_has_none_yet() -> None:
    assert plan(deciding(history(60, 0)), Options()).memory["benchmarks"] == {}


# ---- as it is told in the thesis, word by word


def by_the_book(samples: list[tuple[int, float, int, int]], et: float | None, state_before: str | None, r: int, limit: int) -> int:
    """μ, seconds of μ, q, r for each 5 s sample."""
    deltas, slowing = [], 0.0
    for mu, spent, q, replicas in samples:
        live = spent / mu if mu and spent > 0 else None
        u = 0.0 if live is None else min(1.0, mu * max(live, et or 0.0) / (replicas * 5.0))
        slowing = 0.0 if live is None or et is None else max(0.0, 1.0 - et / live)
        waiting = 0.0 if q == 0 else max(0.0, 1.0 - mu / q)
        deltas.append(0.45 * u + 0.45 * waiting + 0.10 * slowing)
    mean = sum(deltas) / len(deltas)
    apart = math.sqrt(sum((delta - mean) ** 2 for delta in deltas) / len(deltas))
    near = [delta for delta in deltas if abs(delta - mean) <= apart + 1e-6]
    delta = sum(near) / len(near)
    state = "overloaded" if delta >= 0.7 else "underloaded" if delta <= 0.3 else "stable"
    if state != state_before:
        return r
    if state == "overloaded" and r < limit and slowing < 0.7:
        return r + 1
    return max(1, r - 1) if state == "underloaded" else r


SAMPLES = st.lists(
    st.tuples(st.integers(0, 2000), st.floats(0, 10, allow_subnormal=False), st.integers(0, 20_000), st.integers(1, 8)),
    min_size=5,
    max_size=5,
)


@given(
    SAMPLES, st.one_of(st.none(), st.floats(0.0001, 0.1)), st.sampled_from([None, "overloaded", "stable", "underloaded"]), st.integers(1, 8)
)
def test_it_does_what_the_thesis_says(samples: list[tuple[int, float, int, int]], et: float | None, before: str | None, r: int) -> None:
    seconds = []
    for mu, spent, q, replicas in samples:
        seconds += history(4, 0, active=replicas)
        seconds.append(Second(0.0, 1.0, 0.0, {"a": BoltSecond(0, mu, q, replicas, spent)}))
    memory = {"states": {} if before is None else {"a": before}, "benchmarks": {}}
    found = plan(deciding(seconds, active=r, et=et, memory=memory), Options())
    assert found.replicas["a"] == by_the_book(samples, et, before, r, 8)


def test_what_the_loop_gathers_for_it() -> None:
    needs = POLICY.needs
    assert (needs.interval_seconds, needs.history_seconds, needs.replicas, POLICY.forecasts) == (25.0, 150, False, False)
