"""Places, scales and names of a figure."""

from __future__ import annotations

import math

import pytest

from pasps.report.canvas import Sheet, broken, count_axis, pool_axis, seconds_axis, short, short_count, spread


def test_names_that_would_overlap_are_put_apart() -> None:
    places = spread([0.5, 0.5, 0.1], 0.1)
    assert places == pytest.approx([0.5, 0.6, 0.1])
    assert spread([1.0, 0.98, 0.97], 0.1) == pytest.approx([1.0, 0.9, 0.8])
    assert spread([-3.0, 7.0], 0.1) == [0.0, 1.0]
    assert spread([], 0.1) == []


def test_a_line_is_interrupted_where_nothing_was_measured() -> None:
    times, values = broken([1, 2, 3, 60, 61, 62], [5, 5, 5, 9, 9, 9])
    assert times == [1, 2, 3, 31.5, 60, 61, 62]
    assert math.isnan(values[3])
    assert broken([1, 2, 3], [4, 5, 6]) == ([1, 2, 3], [4, 5, 6])
    assert broken([], []) == ([], [])


def test_counts_are_short() -> None:
    assert [short_count(count) for count in (0, 950, 1200, 3e6, 2.5e9)] == ["0", "950", "1.2k", "3M", "2.5G"]


def test_long_names_are_cut() -> None:
    assert short("count") == "count"
    assert short("a_very_long_name_of_a_bolt") == "a_very_long_na…"


@pytest.mark.parametrize(("seconds", "unit"), [(90, "seconds"), (600, "minutes"), (86_400, "hours")])
def test_the_time_has_the_unit_that_fits(seconds: float, unit: str) -> None:
    sheet = Sheet("title", "shows", (1.0,), 0.0, seconds)
    assert sheet.panels[0].get_xlabel() == f"{unit} since the start"
    assert sheet.panels[0].get_xlim() == (0.0, sheet.at([seconds])[0])


def test_scales_hold_what_is_drawn() -> None:
    counts, pool, durations = Sheet("title", "shows", (1.0, 1.0, 1.0), 0.0, 10.0).panels
    count_axis(counts, 500)
    assert counts.get_ylim() == (0, pytest.approx(530))
    count_axis(counts, 0)
    assert counts.get_ylim()[1] > 0
    pool_axis(pool, 8)
    assert list(pool.get_yticks()) == [0, 8]
    seconds_axis(durations, 0.012, 0.015)
    low, high = durations.get_ylim()
    assert low < 0.012 < 0.015 < high


def test_names_are_no_formulas_and_need_no_glyph() -> None:
    sheet = Sheet("title", "a $ b $ c", (1.0,), 0.0, 10.0)
    sheet.name_lines(sheet.panels[0], [(0.2, r"$\frac{1}$", "#000000"), (0.8, "日本", "#000000")])
    assert sheet.png().startswith(b"\x89PNG\r\n\x1a\n")
