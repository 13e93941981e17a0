"""The keys of a trace, and what is said of wrong ones."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from pasps.errors import InvalidError
from pasps.spouts.trace_settings import trace_of


def totals(conf: dict[str, Any]) -> tuple[int | None, Fraction]:
    trace = trace_of(conf, "component 'input'")
    return trace.total, trace.step_seconds


@pytest.fixture
def rates(tmp_path: Path) -> str:
    path = tmp_path / "rates.csv"
    path.write_text("time,count\n0,10\n300,20\n600,40\n900,30\n")
    return str(path)


def test_a_row_lasts_as_long_as_in_the_file_or_as_one_says(rates: str) -> None:
    assert totals({"trace.file": rates}) == (100, Fraction(300))
    assert totals({"trace.file": rates, "trace.speed": 60}) == (100, Fraction(5))
    assert totals({"trace.file": rates, "trace.speed": 0.7}) == (100, Fraction(3000, 7))
    assert totals({"trace.file": rates, "trace.step.seconds": 0.1}) == (100, Fraction(1, 10))
    assert totals({"trace.rows": [1, 2]}) == (3, Fraction(1))
    assert totals({"trace.rows": (1, 2.5), "trace.speed": 4}) == (3, Fraction(1, 4))


def test_it_is_scaled_by_a_factor_or_to_a_peak(rates: str) -> None:
    assert totals({"trace.file": rates, "trace.scale": 0.25})[0] == 25
    assert totals({"trace.file": rates, "trace.peak": 8, "trace.step.seconds": 2})[0] == 40  # 4, 8, 16, 12 events
    assert totals({"trace.rows": [0, 0], "trace.peak": 8})[0] == 0


def test_a_stretch_is_scaled_by_its_own_peak(rates: str) -> None:
    assert totals({"trace.file": rates, "trace.first.row": 1, "trace.row.count": 2})[0] == 60
    assert totals({"trace.file": rates, "trace.first.row": 3})[0] == 30
    assert totals({"trace.file": rates, "trace.row.count": 2, "trace.peak": 6, "trace.step.seconds": 1})[0] == 9


def test_null_is_as_if_left_out_and_other_keys_are_left_alone(rates: str) -> None:
    conf = {"trace.file": rates, "trace.rows": None, "trace.speed": None, "trace.id": 7, "topology.workers": 2, "app.trace": 1}
    assert totals(conf)[0] == 100


@pytest.mark.parametrize(
    ("conf", "told"),
    [
        ({}, "expected 'trace.file', a CSV file, or 'trace.rows', a list of counts, got neither"),
        ({"trace.file": "a.csv", "trace.rows": [1]}, "'trace.file' and 'trace.rows' say the same thing twice"),
        ({"trace.rows": [1], "trace.step.seconds": 1, "trace.speed": 2}, "'trace.step.seconds' and 'trace.speed'"),
        ({"trace.rows": [1], "trace.peak": 1, "trace.scale": 2}, "'trace.peak' and 'trace.scale'"),
        ({"trace.file": 7}, "'trace.file' must be the path of a CSV file, got 7 (int)"),
        ({"trace.rows": []}, "'trace.rows' must be a list of counts, got []"),
        ({"trace.rows": "12"}, "'trace.rows' must be a list of counts, got '12'"),
        ({"trace.rows": [1, -1]}, "'trace.rows' must be counts of at least 0 (place 1), got -1"),
        ({"trace.rows": [True]}, "'trace.rows' must be counts of at least 0 (place 0), got True (bool)"),
        ({"trace.rows": [1], "trace.speed": 0}, "'trace.speed' must be a number above 0, got 0"),
        ({"trace.rows": [1], "trace.step.seconds": float("inf")}, "'trace.step.seconds' must be a number above 0, got inf"),
        ({"trace.rows": [1], "trace.peak": "5"}, "'trace.peak' must be a number above 0, got '5' (str)"),
        ({"trace.rows": [1], "trace.scale": True}, "'trace.scale' must be a number above 0, got True"),
        ({"trace.rows": [1, 2], "trace.first.row": 2}, "'trace.first.row' must be an integer from 0 to 1"),
        ({"trace.rows": [1, 2], "trace.first.row": 1, "trace.row.count": 2}, "'trace.row.count' must be an integer from 1 to 1"),
        ({"trace.rows": [1], "trace.repeat": "yes"}, "'trace.repeat' must be true or false, got 'yes'"),
        ({"trace.rows": [1], "trace.spead": 2}, "'trace.spead' is unknown; the nearest known name is 'trace.speed'"),
    ],
)
def test_a_wrong_key_is_named(conf: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidError) as caught:
        trace_of(conf, "component 'input'")
    assert str(caught.value).startswith("component 'input': ")
    assert told in str(caught.value)
