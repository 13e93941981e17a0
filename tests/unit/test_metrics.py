"""Histograms: exact counts and means, quantiles within a bucket, merging is adding."""

from __future__ import annotations

import math

import hypothesis.strategies as st
import pytest
from hypothesis import given

from pasps.metrics import Histogram, Latency, ReplicaCounts, WorkerCounts

durations = st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=60)


@given(durations)
def test_quantiles_lie_within_a_bucket_of_the_truth(seconds: list[float]) -> None:
    histogram = Histogram()
    for one in seconds:
        histogram.add(one)
    ordered = sorted(seconds)
    for share in (0.01, 0.5, 0.95, 0.99, 1.0):
        truth = ordered[max(0, math.ceil(share * len(ordered) - 1e-9) - 1)]
        assert histogram.quantile(share) == pytest.approx(truth, rel=0.045)


@given(durations, durations)
def test_what_came_since_is_the_difference(before: list[float], after: list[float]) -> None:
    both, earlier, later = Histogram(), Histogram(), Histogram()
    for histogram, recorded in ((both, before + after), (earlier, before), (later, after)):
        for seconds in recorded:
            histogram.add(seconds)
    since = both.since(earlier)
    assert (since.buckets, since.count) == (later.buckets, len(after))
    assert since.total == pytest.approx(later.total, abs=1e-6)


def test_what_a_dead_worker_took_along_is_not_counted_against_the_living() -> None:
    since = Histogram({1: 5, 2: 3}, 4.0).since(Histogram({1: 7, 2: 1}, 5.0))
    assert (since.buckets, since.count, since.total) == ({2: 2}, 2, 0.0)


@given(durations, durations)
def test_merging_is_the_same_as_adding_all_to_one(first: list[float], second: list[float]) -> None:
    one, other, both = Histogram(), Histogram(), Histogram()
    for seconds in first:
        one.add(seconds)
        both.add(seconds)
    for seconds in second:
        other.add(seconds)
        both.add(seconds)
    one.merge(other)
    assert one.buckets == both.buckets
    assert one.count == both.count == len(first) + len(second)
    assert one.mean == pytest.approx(both.mean)


def test_a_count_stands_for_many_equal_durations() -> None:
    histogram = Histogram()
    histogram.add(0.5, 3)
    histogram.add(0.1)
    assert histogram.count == 4
    assert histogram.mean == pytest.approx(0.4)


def test_an_empty_histogram_has_no_numbers() -> None:
    latency = Latency.of(Histogram())
    assert latency.count == 0
    assert all(math.isnan(number) for number in (latency.mean, latency.p50, latency.p95, latency.p99))


def test_durations_below_the_floor_are_counted() -> None:
    histogram = Histogram()
    histogram.add(0.0, 2)
    assert histogram.count == 2
    assert histogram.quantile(0.5) < 2e-7


def test_buckets_travel_and_come_back() -> None:
    histogram = Histogram()
    histogram.add(0.25, 5)
    copy = Histogram(histogram.buckets, histogram.total)
    assert (copy.count, copy.mean, copy.quantile(0.5)) == (5, histogram.mean, histogram.quantile(0.5))


def dead(spout: ReplicaCounts, *bolts: ReplicaCounts, latency: float = 0.5) -> WorkerCounts:
    histogram = Histogram()
    histogram.add(latency)
    return WorkerCounts("w0", 1, 1, [spout, *bolts], [], {}, {}, dict(histogram.buckets), histogram.total)


def test_the_dead_are_one_however_many_they_are() -> None:
    def spout(**counts: int) -> ReplicaCounts:
        return ReplicaCounts("s", 0, "w0", emitted={"default": 10}, acked=8, held_back=3, **counts)

    found = dead(spout(), ReplicaCounts("a", 0, "w0", executed={0: 5}, seconds=0.5, errors=1))
    for _ in range(2):
        later = dead(spout(), ReplicaCounts("a", 1, "w0", executed={0: 1}), latency=2.0)
        later.follow(found)
        found = later
    by_key = {(replica.component, replica.replica): replica for replica in found.replicas}
    assert len(by_key) == len(found.replicas) == 3
    s, first, second = by_key["s", 0], by_key["a", 0], by_key["a", 1]
    assert (s.emitted, s.acked, s.held_back, s.lives) == ({"default": 30}, 24, 9, 3)
    assert (first.executed, first.seconds, first.errors, first.lives) == ({0: 5}, 0.5, 1, 1)
    assert (second.executed, second.lives) == ({0: 2}, 2)
    assert (sum(found.latency.values()), found.latency_total) == (3, 4.5)
