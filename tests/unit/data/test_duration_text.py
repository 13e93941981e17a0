"""Durations for people."""

from __future__ import annotations

import pytest

from pasps.data.duration_text import duration_text, short_duration


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.25, "250 ms"),
        (1, "1 s"),
        (1.5, "1.5 s"),
        (59.97, "1 min"),
        (60, "1 min"),
        (90, "1 min 30 s"),
        (300, "5 min"),
        (3599.9, "1 h"),
        (5400, "1 h 30 min"),
        (86_399.9, "1 d"),
        (86_400, "1 d"),
        (7 * 86_400, "7 d"),
        (200_000, "2 d 8 h"),
    ],
)
def test_two_units_at_most(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


@pytest.mark.parametrize(("seconds", "text"), [(20, "20 s"), (6000, "1.67 h"), (108_000, "1.25 d"), (300, "5 min"), (604_800, "7 d")])
def test_one_unit_for_an_axis(seconds: float, text: str) -> None:
    assert short_duration(seconds) == text
