"""The figures: that they are pictures, and that labels do not hide each other."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import pytest

from benchmarks.elasticity.drawings import (
    Drawn,
    at_equal_savings,
    comparable,
    label_offsets,
    latency_against_saved,
    replicas_over_time,
)
from benchmarks.elasticity.outcomes import Numbers
from benchmarks.elasticity.plans import Setup, run_plans
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


def test_fixed_pools_far_away_and_every_run_of_the_default_list_have_their_place() -> None:
    rows = [
        Row(plan.name, plan.policy, replace(NUMBERS, saved=0.04 * number, mean=0.1 + number), 5, {"saved": 0.01, "mean": 0.05})
        for number, plan in enumerate(run_plans(Setup()))
    ]
    told = [replace(row, kind=plan.kind, detail=plan.detail) for row, plan in zip(rows, run_plans(Setup()), strict=True)]
    assert latency_against_saved("wc", told).startswith(PNG)
    assert latency_against_saved("fixed pools alone", told[:3]).startswith(PNG)


TRACE = Prepared("wc", 0, 1.0, 1.0, (10, 0, 0, 40, 200, 30, 0, 80, 60, 10))
SPREAD = Trace(TRACE.counts, Fraction(1), Fraction(1))


def samples_of(began: float, until: float = 12.0) -> list[Sample]:
    """One each second of a run whose trace began at that uptime."""
    bolts = {"first": BoltSample(4, 1, 8, 0, 10, 0.2)}
    uptimes = [0.4 + second for second in range(int(began + until))]
    dues = [SPREAD.count(uptime - began) for uptime in uptimes]
    return [
        Sample(uptime, 0.0, True, 1, due, 0, 0, 0, 0, 0, 0, bolts, {40: due}, 0.1 * due) for uptime, due in zip(uptimes, dues, strict=True)
    ]


@pytest.mark.parametrize("began", [0.25, 2.0, 6.3])
def test_a_run_is_drawn_by_the_time_of_its_trace_whenever_that_began(began: float) -> None:
    samples = samples_of(began)
    assert in_the_trace(samples, TRACE) == pytest.approx([sample.uptime - began for sample in samples], abs=0.06)


def test_a_run_in_which_nothing_was_due_begins_with_its_first_sample() -> None:
    assert in_the_trace(samples_of(100.0, -97.0), TRACE) == pytest.approx([0.0, 1.0, 2.0])


def row(name: str, policy: str, saved: float, pace_seconds: float | None = None, mean: float = 0.1) -> Row:
    return Row(name, policy, replace(NUMBERS, saved=saved, mean=mean), pace_seconds=pace_seconds)


def test_replicas_and_latencies_are_drawn_under_the_input_over_all_times_that_a_run_was_made() -> None:
    static = Drawn(Row("static-8", "static", NUMBERS), [samples_of(0.5), samples_of(1.5)])
    short = Drawn(Row("pasps-0.8", "pasps", NUMBERS, 2, {"saved": 0.01, "mean": 0.02}, "pasps", "target 0.8"), [samples_of(6.0)[:9]])
    assert replicas_over_time("wc", "all", TRACE, [static, short]).startswith(PNG)


def test_a_run_in_which_nothing_was_done_is_drawn_too() -> None:
    samples = [replace(sample, latency={}, latency_total=0.0) for sample in samples_of(0.5)]
    assert replicas_over_time("wc", "all", TRACE, [Drawn(Row("static-1", "static", NUMBERS), [samples])]).startswith(PNG)


def test_compared_over_time_are_runs_that_save_nearly_the_same_and_of_the_papers_policies_those_that_decide_most_often() -> None:
    rows = [
        row("static-4", "static", 0.5),
        row("presps", "presps", 0.39, 5.0),
        row("presps@1s", "presps", 0.3, 1.0),
        row("pa-sps-basic", "pa-sps", 0.4, 5.0),
        row("pa-sps-basic@1s", "pa-sps", 0.28, 1.0),
        row("pasps-0.9", "pasps", 0.1),
        row("pasps-1.1", "pasps", 0.29),
        row("pasps-1.3", "pasps", 0.4),
    ]
    assert [one.name for one in at_equal_savings(rows)] == ["presps@1s", "pa-sps-basic@1s", "pasps-1.1"]
    assert [one.name for one in at_equal_savings(rows[:2])] == ["presps"]
    assert at_equal_savings(rows[:1]) == []


def test_curves_can_be_compared_where_both_sides_save() -> None:
    ours = [row("pasps-0.9", "pasps", 0.1), row("pasps-1.3", "pasps", 0.4)]
    assert comparable([*ours, row("presps", "presps", 0.05), row("pa-sps", "pa-sps", 0.3)]) == (0.1, 0.3)
    assert comparable([*ours, row("presps", "presps", 0.3)]) is None
    assert comparable(ours) is None
    assert comparable([]) is None


def test_labels_do_not_stand_on_intervals() -> None:
    (dx, dy), *_ = label_offsets([(100.0, 100.0)], ["pasps-1"], [(80.0, 99.0, 140.0, 101.0)])
    assert abs(dy) >= 6 or dx + 100 >= 140
