"""Points for figures: exact while there are few, together while there are many."""

from __future__ import annotations

from itertools import pairwise

import pytest

from pasps.metrics import Histogram
from pasps.report.course import course_of, expect
from pasps.report.decided import Ahead
from pasps.report.observed import Output
from tests.unit.report.builders import bolt_sample, made_up, sample

ACKED = Output("acked")


def test_a_point_is_what_happened_between_two_samples() -> None:
    before = Histogram()
    before.add(0.01, 10)
    after = Histogram(before.buckets, before.total)
    after.add(1.0, 5)
    samples = [
        sample(1, {"count": bolt_sample(2, draining=1, queued=4)}, due=100, acked=90, latency=before.buckets, latency_total=before.total),
        sample(3, {"count": bolt_sample(4, queued=7)}, due=160, acked=150, backlog=9, latency=after.buckets, latency_total=after.total),
    ]
    course = course_of(samples, ACKED)
    (point,) = course.points
    assert (point.begin, point.end, point.seconds, point.middle) == (1, 3, 2, 2)
    assert (point.due, point.done, point.most_backlog) == (60, 60, 9)
    assert (point.bolts["count"].active_time, point.bolts["count"].draining_time, point.bolts["count"].most_queued) == (4, 2, 7)
    assert point.latency.count == 5
    assert point.latency.mean == pytest.approx(1.0)
    assert course.pools == {"count": 8}


def test_a_prediction_belongs_to_the_second_that_ends_with_its_sample() -> None:
    samples = [sample(1, predicted=30.0), sample(2, predicted=None), sample(3, predicted=70.0)]
    assert [point.predicted_rate for point in course_of(samples, ACKED).points] == [None, 70.0]


def test_without_a_prediction_for_each_second_those_of_the_cycles_are_drawn() -> None:
    course = course_of([sample(second) for second in range(1, 7)], ACKED)
    expect(course, [Ahead(2.0, 2.0, 100.0, ()), Ahead(5.0, 2.0, 30.0, ())])
    assert [point.predicted_rate for point in course.points] == [None, 50.0, 50.0, None, 15.0]


def test_predictions_of_the_samples_are_not_replaced() -> None:
    course = course_of([sample(1), sample(2, predicted=7.0)], ACKED)
    expect(course, [Ahead(1.0, 2.0, 100.0, ())])
    assert [point.predicted_rate for point in course.points] == [7.0]


def test_incomplete_samples_are_left_out() -> None:
    samples = [sample(1, due=10), sample(2, complete=False), sample(3, due=30)]
    assert [(point.begin, point.end, point.due) for point in course_of(samples, ACKED).points] == [(1, 3, 20)]


def test_input_that_falls_for_a_while_is_not_counted_twice() -> None:
    samples = [sample(0), sample(1, due=100), sample(2, due=60), sample(3, due=110)]
    assert [point.due for point in course_of(samples, ACKED).points] == [100, 0, 10]


@pytest.mark.parametrize("most", [4, 10, 100])
def test_a_long_run_has_few_points_and_loses_nothing(most: int) -> None:
    samples, _ = made_up(333, 15)
    whole, short = course_of(samples, ACKED, 1000).points, course_of(samples, ACKED, most).points
    assert len(whole) == 332
    assert len(short) <= most
    assert (short[0].begin, short[-1].end) == (1, 333)
    assert all(before.end == after.begin for before, after in pairwise(short))
    for total in (
        lambda point: point.due,
        lambda point: point.done,
        lambda point: point.latency.count,
        lambda point: point.bolts["store"].active_time,
        lambda point: point.predicted,
    ):
        assert sum(map(total, short)) == pytest.approx(sum(map(total, whole)))
    assert max(point.bolts["store"].most_queued for point in short) == max(point.bolts["store"].most_queued for point in whole)


def test_no_samples_make_no_points() -> None:
    assert course_of([], ACKED).points == []
    assert course_of([sample(1)], ACKED).points == []
