"""Minutes of a trace, and in how many of them a latency was kept."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from benchmarks.elasticity.minutes import minutely, minutes_kept, minutes_of
from benchmarks.elasticity.traces import Prepared
from pasps.control.run_log import Sample
from pasps.metrics import Histogram
from pasps.spouts.trace import Trace


def running(latency_of: dict[int, float], seconds: int) -> list[tuple[float, dict[int, int]]]:
    """A running histogram each second; `latency_of` a minute, what its hundred events a second took."""
    histogram, seen = Histogram(), []
    for second in range(1, seconds + 1):
        if (second - 1) // 60 in latency_of:
            histogram.add(latency_of[(second - 1) // 60], 100)
        seen.append((float(second), dict(histogram.buckets)))
    return seen


def test_a_minute_has_its_own_p95() -> None:
    assert minutely(running({0: 0.1, 1: 0.5, 2: 0.1}, 180), 180.0) == pytest.approx([0.1, 0.5, 0.1], rel=0.05)


def test_a_minute_that_is_not_whole_is_left_out_and_so_is_what_comes_after_the_trace() -> None:
    seen = running({0: 0.1, 1: 0.5, 2: 0.1}, 180)
    assert len(minutely(seen, 119.0)) == 2  # the sample that ends a minute may come up to a second later
    assert len(minutely(seen, 110.0)) == 1
    assert minutely(seen, 40.0) == []
    assert minutely([], 100.0) == []


def test_a_minute_is_judged_where_the_whole_pools_keep_the_latency() -> None:
    assert minutes_kept([0.1, 0.5, 0.1], [0.1, 0.1, 0.1], 0.2) == (2, 3)
    assert minutes_kept([0.1, 0.5, 0.1], [0.1, 0.3, 0.1], 0.2) == (2, 2)


def test_a_minute_in_which_nothing_was_done_is_not_kept() -> None:
    found = minutely(running({0: 0.1}, 120), 120.0)
    assert math.isnan(found[1])
    assert minutes_kept(found, [0.1, 0.1], 0.2) == (1, 2)


@pytest.mark.parametrize("began", [0.25, 6.3])
def test_the_minutes_of_a_live_run_are_those_of_its_trace(began: float) -> None:
    trace = Prepared("t", 0, 1.0, 1.0, (20,) * 120)
    due = Trace(trace.counts, Fraction(1), Fraction(1))
    histogram, samples, done = Histogram(), [], 0
    for second in range(130):
        uptime = 0.4 + second
        count = due.count(uptime - began)
        histogram.add(0.1 if uptime - began < 60.5 else 0.5, count - done)
        done = count
        samples.append(Sample(uptime, 0.0, True, 1, done, done, 0, done, 0, 0, 0, {}, dict(histogram.buckets), histogram.total))
    assert minutes_of(samples, trace) == pytest.approx([0.1, 0.5], rel=0.05)


def test_a_run_that_left_no_whole_cut_has_no_minutes() -> None:
    assert minutes_of([], Prepared("t", 0, 1.0, 1.0, (20,) * 120)) == []
