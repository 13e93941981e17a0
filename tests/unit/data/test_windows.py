"""Averages and extremes of windows, against the obvious way to have them."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from pasps.data.arrays import Floats, np
from pasps.data.windows import binned, highest_after, highest_before, moving_average

series = st.lists(st.integers(0, 1000), min_size=1, max_size=60).map(lambda values: np.array(values, dtype=float))


@given(series, st.integers(1, 70))
def test_a_moving_average_is_that_of_the_rows_that_are_there(values: Floats, rows: int) -> None:
    rows = min(rows, len(values))
    before, after = (rows - 1) // 2, rows // 2
    expected = [values[max(0, at - before) : at + after + 1].mean() for at in range(len(values))]
    assert moving_average(values, rows) == pytest.approx(expected)


@given(series)
def test_a_window_longer_than_the_series_is_the_series(values: Floats) -> None:
    assert moving_average(values, 10 * len(values)) == pytest.approx(moving_average(values, len(values)))


@given(series, st.integers(0, 70))
def test_the_highest_before_and_after(values: Floats, rows: int) -> None:
    assert highest_before(values, rows).tolist() == [values[max(0, at - rows) : at + 1].max() for at in range(len(values))]
    assert highest_after(values, rows).tolist() == [values[at : at + rows + 1].max() for at in range(len(values))]


@given(series, st.integers(1, 20))
def test_bins_are_averages_of_whole_bins(values: Floats, rows: int) -> None:
    expected = [values[at : at + rows].mean() for at in range(0, len(values) - rows + 1, rows)]
    assert binned(values, rows).tolist() == pytest.approx(expected)


def test_an_average_of_a_long_series_loses_nothing() -> None:
    values = np.full(200_000, 1e9)
    values[100_000] += 3.0
    assert moving_average(values, 3)[99_999:100_002].tolist() == pytest.approx([1e9 + 1.0] * 3, abs=1e-3)
