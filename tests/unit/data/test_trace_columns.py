"""Traces with a row for every step, as CSV and as Parquet."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet
import pytest

from pasps.data import trace_columns
from pasps.data.arrays import np
from pasps.data.steps import END_MICROS, FIRST_MICROS, SECOND, iso_time
from pasps.data.trace_columns import write_csv, write_parquet

FIRST = 1_709_164_799_000_000  # 2024-02-28T23:59:59Z


@pytest.mark.parametrize(
    ("step", "times"),
    [
        (SECOND, ["2024-02-28T23:59:59Z", "2024-02-29T00:00:00Z"]),
        (250_000, ["2024-02-28T23:59:59.000Z", "2024-02-28T23:59:59.250Z"]),
        (25, ["2024-02-28T23:59:59.000000Z", "2024-02-28T23:59:59.000025Z"]),
    ],
)
def test_all_times_have_the_digits_that_a_step_needs(tmp_path: Path, step: int, times: list[str]) -> None:
    write_csv(tmp_path / "x.csv", np.array([3, 0]), FIRST, step)
    assert (tmp_path / "x.csv").read_text() == f"time,count\n{times[0]},3\n{times[1]},0\n"


@pytest.mark.parametrize("at_once", [1, 3, 4, 100])
def test_rows_are_the_same_however_many_are_made_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr(trace_columns, "_AT_ONCE", at_once)
    counts = np.arange(10).reshape(2, 5)
    write_csv(tmp_path / "x.csv", counts[1], FIRST, SECOND)
    lines = (tmp_path / "x.csv").read_text().splitlines()
    assert lines == ["time,count", *(f"{iso_time(FIRST + place * SECOND)},{place + 5}" for place in range(5))]
    write_parquet(tmp_path / "x.parquet", counts, FIRST, SECOND, ["a", "é\0"])
    table = pyarrow.parquet.read_table(tmp_path / "x.parquet")
    assert [(field.name, str(field.type)) for field in table.schema] == [
        ("key", "string"),
        ("time", "timestamp[us, tz=UTC]"),
        ("count", "int64"),
    ]
    assert table["key"].to_pylist() == ["a"] * 5 + ["é\0"] * 5
    assert table["time"].cast("int64").to_pylist() == [FIRST + place * SECOND for place in range(5)] * 2
    assert table["count"].to_pylist() == list(range(10))


def test_years_are_those_that_iso_8601_writes_with_four_digits(tmp_path: Path) -> None:
    step = END_MICROS - SECOND - FIRST_MICROS
    write_csv(tmp_path / "x.csv", np.array([1, 2]), FIRST_MICROS, step)
    assert (tmp_path / "x.csv").read_text() == "time,count\n0001-01-01T00:00:00Z,1\n9999-12-31T23:59:59Z,2\n"


def test_a_trace_without_rows_has_columns(tmp_path: Path) -> None:
    none = np.zeros((1, 0), np.int64)
    write_csv(tmp_path / "x.csv", none[0], 0, SECOND)
    write_parquet(tmp_path / "x.parquet", none, 0, SECOND)
    assert (tmp_path / "x.csv").read_text() == "time,count\n"
    table = pyarrow.parquet.read_table(tmp_path / "x.parquet")
    assert (table.column_names, table.num_rows) == (["time", "count"], 0)
