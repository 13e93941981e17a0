"""Values as text."""

from __future__ import annotations

import pytest

from pasps.report.words import clock_text, count_text, length_text, of_text, seconds_text, share_text


@pytest.mark.parametrize(
    ("seconds", "text"), [(None, "-"), (0.00042, "420 µs"), (0.0123, "12.3 ms"), (0.85, "850 ms"), (3.14, "3.1 s"), (1234.5, "1,234.5 s")]
)
def test_durations_have_the_unit_that_fits(seconds: float | None, text: str) -> None:
    assert seconds_text(seconds) == text


@pytest.mark.parametrize(("seconds", "text"), [(5, "5 s"), (59.6, "1 min"), (63, "1 min 3 s"), (3600, "1 h"), (7500, "2 h 5 min")])
def test_lengths_are_said_as_people_do(seconds: float, text: str) -> None:
    assert length_text(seconds) == text


def test_what_is_not_known_is_a_dash() -> None:
    assert share_text(None) == count_text(None) == "-"
    assert (share_text(0.4751), count_text(12345.4)) == ("47.5%", "12,345")


def test_times_of_a_run() -> None:
    assert (clock_text(9.9), clock_text(75), clock_text(7265)) == ("0:09", "1:15", "2:01:05")


def test_one_and_many() -> None:
    assert (of_text(1, "interval"), of_text(2000, "interval")) == ("1 interval", "2,000 intervals")
