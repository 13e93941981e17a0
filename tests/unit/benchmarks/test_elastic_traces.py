"""From a recorded trace to the events of a run."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.elasticity.traces import Wish, burstiest, clipped, prepare, read_trace, smoothed, whole, write_trace
from pasps.spouts.trace_settings import trace_of

COUNTS = st.lists(st.floats(0, 1e6), min_size=1, max_size=60)


def test_smoothing_is_a_centred_average_that_is_shorter_at_the_ends() -> None:
    assert smoothed([0, 0, 10, 0, 0, 5], 5) == pytest.approx([10 / 3, 2.5, 2, 3, 3.75, 5 / 3])


def test_smoothing_over_one_row_changes_nothing() -> None:
    assert smoothed([3, 1, 2], 1) == [3, 1, 2]


def test_clipping_cuts_what_is_above_the_quantile() -> None:
    assert clipped([1, 2, 3, 4, 100], 0.75) == [1, 2, 3, 4, 4]
    assert clipped([0, 10], 0.5) == [0, 5]


@given(COUNTS, st.floats(0, 1))
def test_clipping_never_raises_a_value(values: list[float], share: float) -> None:
    assert all(after <= before for before, after in zip(values, clipped(values, share), strict=True))


def test_the_burstiest_stretch_changes_most_for_its_own_peak() -> None:
    calm, small_waves, large_slope = [10.0] * 6, [1.0, 3, 1, 3, 1, 3], [100.0, 200, 300, 400, 500, 600]
    assert burstiest([*calm, *small_waves, *large_slope], 6) == 6


@given(COUNTS, st.integers(1, 10))
def test_the_burstiest_stretch_is_found_as_by_looking_at_each(values: list[float], rows: int) -> None:
    rows = min(rows, len(values))

    def variation(first: int) -> float:
        stretch = values[first : first + rows]
        changes = sum(abs(after - before) for before, after in pairwise(stretch))
        return changes / max(stretch) if max(stretch) else 0.0

    found = burstiest(values, rows)
    assert variation(found) == pytest.approx(max(variation(first) for first in range(len(values) - rows + 1)), rel=1e-6, abs=1e-6)


@given(COUNTS)
def test_whole_numbers_stay_within_one_of_the_sum_so_far(values: list[float]) -> None:
    counts = whole(values)
    assert all(count >= 0 for count in counts)
    assert all(abs(sum(counts[:row]) - sum(values[:row])) <= 0.5 + 1e-6 for row in range(len(values) + 1))


def test_the_peak_of_the_chosen_rows_is_scaled_to_the_wanted_rate() -> None:
    prepared = prepare("t", [0.0] * 20 + [50.0] * 20 + [100.0] * 60, Wish(30, 400.0, 0.5, first_row=0))
    assert (prepared.first_row, prepared.seconds, prepared.peak_rate) == (0, 15.0, 400.0)
    assert max(prepared.counts) == 200
    assert prepared.factor == 4.0


@pytest.mark.parametrize(
    ("values", "wish", "says"),
    [
        ([1.0] * 5, Wish(6, 10), "has 5 rows, expected at least 6"),
        ([1.0] * 5, Wish(3, 10, first_row=3), "row 3 is no begin of 3 rows; the last one is 2"),
        ([0.0] * 9, Wish(3, 10), "no events"),
    ],
)
def test_a_stretch_that_cannot_be_had_is_refused(values: list[float], wish: Wish, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        prepare("t", values, wish)


def test_a_prepared_trace_is_what_the_spout_reads(tmp_path: Path) -> None:
    prepared = prepare("t", [5.0, 1, 9, 2, 7, 3, 8, 0, 4, 6], Wish(8, 100.0, 0.25))
    write_trace(prepared, tmp_path / "trace.csv")
    trace = trace_of({"trace.file": str(tmp_path / "trace.csv")}, "here")
    assert (trace.rows, trace.total, float(trace.step_seconds)) == (8, prepared.events, 0.25)
    assert trace.count(0.25 * 3) == sum(prepared.counts[:3])


def test_a_trace_file_is_read_by_its_second_column(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("time,count\n2020-01-01 00:00:00,3\n2020-01-01 00:01:00,4.5\n")
    assert read_trace(path) == [3.0, 4.5]


@pytest.mark.parametrize("row", ["1", "1,many", "1,-1", "1,nan"])
def test_a_row_without_a_count_is_named(tmp_path: Path, row: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"time,count\n0,1\n{row}\n")
    with pytest.raises(ValueError, match=r"t\.csv:3: expected a time and a count"):
        read_trace(path)
