"""Counts over time, read between the samples."""

from __future__ import annotations

from pasps.report.timeline import Timeline


def timeline(*points: tuple[float, float]) -> Timeline:
    found = Timeline()
    for time, count in points:
        found.add(time, count)
    return found


def test_between_two_samples_the_count_grows_evenly() -> None:
    counts = timeline((0, 0), (10, 100), (20, 400))
    assert counts.between(5, 15) == 50 + 150
    assert counts.between(0, 20) == 400
    assert counts.between(10, 20) == 300


def test_what_reaches_beyond_the_samples_is_not_known() -> None:
    counts = timeline((1, 0), (10, 100))
    assert counts.between(0, 5) is None
    assert counts.between(5, 10.5) is None
    assert Timeline().between(0, 1) is None


def test_a_count_that_shrinks_stays_as_it_was() -> None:
    counts = timeline((0, 0), (1, 50), (2, 40), (3, 60))
    assert counts.between(1, 2) == 0
    assert counts.between(0, 3) == 60
    assert counts.total == 60


def test_a_sample_that_is_not_later_is_left_out() -> None:
    counts = timeline((1, 10), (1, 99), (0.5, 99), (2, 20))
    assert counts.total == 20
    assert (counts.begin, counts.end) == (1, 2)
