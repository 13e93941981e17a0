from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pasps.data.steps import END_MICROS, FIRST_MICROS, SECOND, first_whole_start, iso_time, step_micros, step_start, time_digits
from pasps.errors import InvalidError

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "micros"), [("500ms", 500_000), ("1s", SECOND), ("5min", 300 * SECOND), ("1h", 3600 * SECOND), ("7d", 604_800 * SECOND)]
)
def test_a_step_is_a_number_and_a_unit(text: str, micros: int) -> None:
    assert step_micros(text) == micros


@pytest.mark.parametrize("text", ["", "1", "s", "0s", "-1s", "1.5s", "1 s", "1m", "1S", "\u0661s", "1us"])
def test_anything_else_is_none(text: str) -> None:
    with pytest.raises(InvalidError, match=r"step: expected a whole number and a unit, such as 500ms"):
        step_micros(text)


def test_a_step_has_a_longest() -> None:
    assert step_micros("10000d") * 8192 < 2**63
    with pytest.raises(InvalidError, match="step: expected at most 10000d, got '10001d'"):
        step_micros("10001d")


@given(st.integers(1, 10_000 * 86_400 * SECOND))
def test_the_first_whole_step_is_the_first_that_starts_in_the_year_1(step: int) -> None:
    first = first_whole_start(step)
    assert first % step == 0
    assert first - step < FIRST_MICROS <= first


@given(st.integers(FIRST_MICROS, END_MICROS - 1), st.integers(1, 86_400 * SECOND))
def test_a_moment_is_in_the_step_that_starts_at_a_multiple_of_it(micros: int, step: int) -> None:
    start = step_start(micros, step)
    assert start % step == 0
    assert start <= micros < start + step


@given(st.integers(FIRST_MICROS, END_MICROS - 1))
def test_a_time_is_read_back(micros: int) -> None:
    text = iso_time(micros)
    assert text.endswith("Z")
    assert (datetime.fromisoformat(text) - EPOCH) // timedelta(microseconds=1) == micros


def test_a_time_has_the_digits_that_it_needs() -> None:
    assert iso_time(1_709_251_199 * SECOND) == "2024-02-29T23:59:59Z"
    assert iso_time(-500_000) == "1969-12-31T23:59:59.500Z"
    assert iso_time(FIRST_MICROS + 1) == "0001-01-01T00:00:00.000001Z"
    assert [time_digits(step) for step in (SECOND, 60 * SECOND, 1000, 1500)] == [0, 0, 3, 6]
