"""When events are due, against exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate, pairwise
from math import floor

import hypothesis.strategies as st
import pytest
from hypothesis import given

from pasps.spouts.trace import Trace

COUNTS = st.lists(st.one_of(st.integers(0, 40), st.fractions(0, 5, max_denominator=100)), min_size=1, max_size=8)
STEPS = st.sampled_from([Fraction(1), Fraction(1, 10), Fraction(1, 3), Fraction(5), Fraction(7, 11)])
SCALES = st.sampled_from([Fraction(1), Fraction(3, 2), Fraction(1, 7), Fraction(22, 7), Fraction(20)])


def line(*counts: int, step: float = 1.0, scale: Fraction = Fraction(1), repeat: bool = False) -> Trace:
    return Trace(counts, Fraction(str(step)), scale, repeat=repeat)


def test_the_events_of_a_row_are_spread_evenly_over_it() -> None:
    assert line(4, 0, 2).times(range(6)) == [0.25, 0.5, 0.75, 1.0, 2.5, 3.0]
    assert line(4, 0, 2, step=10).times([0, 5]) == [2.5, 30.0]


def test_parts_of_events_add_up_over_rows() -> None:
    trace = line(1, 1, 1, 1, 1, scale=Fraction(2, 5))
    assert trace.total == 2
    assert trace.times(range(2)) == [2.5, 5.0]


def test_an_event_counts_from_the_very_moment_it_is_due() -> None:
    trace = line(4, 4)
    assert [trace.count(at) for at in (-1.0, 0.0, 0.2499999, 0.25, 1.0, 1.9999999, 2.0, 99.0)] == [0, 0, 0, 1, 4, 7, 8, 8]


def test_a_trace_of_nothing_has_no_events() -> None:
    assert line(0, 0).total == line(0, repeat=True).total == 0
    assert line(0, repeat=True).count(1e9) == 0


@given(COUNTS, STEPS, SCALES)
def test_the_total_is_the_floor_of_the_scaled_sum(counts: list[int | Fraction], step: Fraction, scale: Fraction) -> None:
    trace = Trace(counts, step, scale)
    assert trace.total == trace.count(1e12) == floor(sum(counts) * scale)


@given(COUNTS, STEPS, SCALES)
def test_at_the_end_of_each_row_as_many_are_due_as_its_sum_says(counts: list[int | Fraction], step: Fraction, scale: Fraction) -> None:
    trace = Trace(counts, step, scale)
    for row, whole in enumerate(accumulate(counts), 1):
        assert trace.count(row * step.numerator / step.denominator) == floor(whole * scale)


@given(COUNTS, STEPS, SCALES, st.lists(st.floats(0, 60), max_size=12))
def test_however_time_is_cut_each_event_becomes_due_once(
    counts: list[int | Fraction], step: Fraction, scale: Fraction, cuts: list[float]
) -> None:
    trace = Trace(counts, step, scale)
    moments = [0.0, *sorted(cuts), 1e9]
    times = trace.times(range(trace.whole))
    assert times == sorted(times)
    between = [trace.count(after) - trace.count(before) for before, after in pairwise(moments)]
    assert between == [sum(1 for time in times if before < time <= after) for before, after in pairwise(moments)]
    assert sum(between) == trace.total


@given(COUNTS, STEPS, SCALES, st.fractions(0, 60))
def test_between_edges_it_is_a_straight_line(counts: list[int | Fraction], step: Fraction, scale: Fraction, moment: Fraction) -> None:
    row = floor(moment / step)
    whole = sum(counts[:row], Fraction(0))
    if row < len(counts):
        whole += counts[row] * (moment / step - row)
    exact, found = whole * scale, Trace(counts, step, scale).count(float(moment))
    # what is due within a billionth of a second of the moment may count or not
    slack = max(counts) * scale / step / 10**9
    assert floor(exact - slack) <= found <= floor(exact + slack)


@given(COUNTS.filter(any), STEPS, SCALES, st.integers(0, 200))
def test_a_trace_that_repeats_goes_on_as_if_it_were_written_again(
    counts: list[int | Fraction], step: Fraction, scale: Fraction, number: int
) -> None:
    repeated = Trace(counts, step, scale, repeat=True)
    passes = floor(Fraction(number + 1) / (sum(counts) * scale)) + 2
    if passes > 500:
        return
    written = Trace(counts * passes, step, scale)
    assert repeated.total is None
    assert repeated.times([number]) == written.times([number])
    at = written.times([number])[0]
    assert repeated.count(at) == written.count(at) > number


def test_numbers_in_any_order_have_their_own_times() -> None:
    trace = line(3, 5, 1)
    assert trace.times([8, 0, 4, 3]) == [time for number in (8, 0, 4, 3) for time in trace.times([number])]


def test_a_million_events_are_counted_where_floats_alone_would_not_do() -> None:
    trace = line(*[333_333] * 1000, step=0.1, scale=Fraction(1, 3))
    assert trace.total == 111_111_000
    assert [trace.count(trace.times([number])[0]) - number for number in (0, 999_999, 55_555_555, 111_110_999)] == [1] * 4


@pytest.mark.parametrize("number", [10**9, 10**15])
def test_far_into_a_repetition_it_is_still_exact(number: int) -> None:
    trace = line(1, 2, 3, step=0.5, repeat=True)
    (at,) = trace.times([number])
    passes, rest = divmod(number, 6)
    assert at == passes * 1.5 + trace.times([rest])[0]
    assert trace.count(at) >= number
