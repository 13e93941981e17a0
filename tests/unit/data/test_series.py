"""A trace in memory."""

from __future__ import annotations

import math

import pytest

from pasps.data.series import Series, series_of
from pasps.errors import InvalidError

SECOND = 1_000_000


def test_a_row_lasts_the_median_distance() -> None:
    assert series_of("a", [0, 5 * SECOND, 10 * SECOND, 60 * SECOND], [1, 2, 3, 4]).step_seconds == 5.0
    assert series_of("a", [0], [1]).step_seconds == 1.0


def test_pieces_end_where_rows_are_missing() -> None:
    seconds = [0, 1, 2, 4, 5, 9]
    series = series_of("a", [second * SECOND for second in seconds], [0.0] * 6)
    assert list(series.pieces()) == [(0, 3), (3, 5), (5, 6)]


def test_a_series_without_gaps_is_one_piece() -> None:
    assert list(series_of("a", [0, 1, 2], [1, 1, 1]).pieces()) == [(0, 3)]
    assert list(series_of("a", [7], [1]).pieces()) == [(0, 1)]


@pytest.mark.parametrize(
    ("times", "counts", "said"),
    [
        ([], [], "trace a: expected rows of time and count, got none"),
        ([0, SECOND, SECOND], [1, 1, 1], "expected one row for each time, got several for 1970-01-01T00:00:01Z"),
        ([0, SECOND], [1, -1], "trace a, 1970-01-01T00:00:01Z: expected a count of at least 0, got -1"),
        ([0, SECOND], [math.nan, 1], "expected a count of at least 0, got nan"),
        ([0, SECOND], [1, math.inf], "expected a count of at least 0, got inf"),
    ],
)
def test_what_is_no_trace_is_refused(times: list[int], counts: list[float], said: str) -> None:
    with pytest.raises(InvalidError, match=said):
        series_of("a", times, counts)


def test_an_array_costs_no_copy_in_other_units() -> None:
    found = series_of("a", [0, 1], [1, 2])
    assert isinstance(found, Series)
    assert (found.times.dtype, found.counts.dtype) == ("int64", "float64")
