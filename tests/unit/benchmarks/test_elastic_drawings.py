"""The figures: that they are pictures, and that labels do not hide each other."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import pytest

from benchmarks.elasticity.drawings import label_offsets, latency_against_saved, replicas_over_time
from benchmarks.elasticity.outcomes import Numbers
from benchmarks.elasticity.traces import Prepared, in_the_trace
from benchmarks.elasticity.verdict import Row
from pasps.control.run_log import BoltSample, Sample
from pasps.spouts.trace import Trace

PNG = b"\x89PNG\r\n"
NUMBERS = Numbers(0.5, 0.02, 1.0, 1000, 0.1, 0.09, 0.2, 0.3, None, None, 0, 0, 0, 10, 12, 900.0, 0.4)


def test_labels_of_near_points_stand_apart() -> None:
    marks = [(100.0, 100.0), (104.0, 102.0), (101.0, 95.0), (98.0, 99.0)]
    places = [(x + dx, y + dy) for (x, y), (dx, dy) in zip(marks, label_offsets(marks, ["presps"] * 4), strict=True)]
    assert all(abs(one[0] - other[0]) >= 27 or abs(one[1] - other[1]) >= 9.9 for one, other in combinations(places, 2))


def test_a_lonely_label_stands_beside_its_point() -> None:
    assert label_offsets([(100.0, 100.0)], ["pasps-1"]) == [(5.0, 0.0)]


def test_every_run_is_a_point() -> None:
    rows = [Row("static-8", "static", NUMBERS), Row("pasps-1", "pasps", NUMBERS), Row("other", "somebody's", NUMBERS)]
    assert latency_against_saved("wc", rows).startswith(PNG)
    assert latency_against_saved("nothing", []).startswith(PNG)


TRACE = Prepared("wc", 0, 1.0, 1.0, (10, 0, 0, 40, 200, 30, 0, 80, 60, 10))
SPREAD = Trace(TRACE.counts, Fraction(1), Fraction(1))


def samples_of(began: float, until: float = 12.0) -> list[Sample]:
    """One each second of a run whose trace began at that uptime."""
    bolts = {"first": BoltSample(4, 1, 8, 0, 10, 0.2)}
    uptimes = [0.4 + second for second in range(int(began + until))]
    return [Sample(uptime, 0.0, True, 1, SPREAD.count(uptime - began), 0, 0, 0, 0, 0, 0, bolts) for uptime in uptimes]


@pytest.mark.parametrize("began", [0.25, 2.0, 6.3])
def test_a_run_is_drawn_by_the_time_of_its_trace_whenever_that_began(began: float) -> None:
    samples = samples_of(began)
    assert in_the_trace(samples, TRACE) == pytest.approx([sample.uptime - began for sample in samples], abs=0.06)


def test_a_run_in_which_nothing_was_due_begins_with_its_first_sample() -> None:
    assert in_the_trace(samples_of(100.0, -97.0), TRACE) == pytest.approx([0.0, 1.0, 2.0])


def test_replicas_are_drawn_under_the_input() -> None:
    assert replicas_over_time("wc", TRACE, {"static-8": samples_of(0.5), "pasps-0.8": samples_of(6.0)[:9]}).startswith(PNG)
