"""How the values of arguments of `pasps traces` are read."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import pytest

from pasps.cli.jobs.traces import check_there, from_zero, moment, step, whole
from pasps.errors import InvalidError


def test_times_are_in_utc_unless_they_say_otherwise() -> None:
    assert moment("2024-02-29T12:00:00Z") == moment("2024-02-29 12:00") == moment("2024-02-29T13:00:00+01:00") == 1_709_208_000_000_000


def test_steps_are_microseconds() -> None:
    assert (step("500ms"), step("5min")) == (500_000, 300_000_000)


@pytest.mark.parametrize(
    ("read", "text", "said"),
    [
        (moment, "noon", "expected a time such as 2024-02-29T12:00:00Z, got 'noon'"),
        (step, "5", "expected a whole number and a unit, such as 500ms, 1s, 5min, 1h or 1d, got '5'"),
        (whole, "-1", "expected a whole number of at least 0, got '-1'"),
        (from_zero, "nan", "expected a number of at least 0, got 'nan'"),
        (from_zero, "x", "got 'x'"),
    ],
)
def test_what_cannot_be_read_is_said(read: Callable[[str], object], text: str, said: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=said):
        read(text)


def test_a_missing_file_is_said_before_spark_is_started(tmp_path: Path) -> None:
    there = tmp_path / "x.csv"
    there.touch()
    check_there([str(there), "gs://bucket/x", str(tmp_path / "*.csv")], "local[*]")
    check_there(["/only/there.csv"], "spark://host:7077")
    with pytest.raises(InvalidError, match="no such file or directory"):
        check_there([str(there), str(tmp_path / "y.csv")], "local[2]")
