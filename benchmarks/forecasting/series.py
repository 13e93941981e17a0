"""The series that forecasts are judged on: names in `forecast_series.json`, rows in a folder of traces that is not part of the project."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

SPLIT = Path(__file__).parents[1] / "forecast_series.json"
SIDES = ("developing", "reporting")

_NAME = re.compile(r"(?P<file>.+)\[(?P<first>\d+):(?P<last>\d+)\]")


class SeriesError(Exception):
    """A series cannot be had; says which and why."""


def split() -> Mapping[str, list[str]]:
    """Both sides: names of series, `file[first row:row after the last]`."""
    sides: dict[str, list[str]] = json.loads(SPLIT.read_text())
    return sides


def read(folder: Path, name: str) -> list[float]:
    """The rows of one series; a row is one second.

    Raises:
        SeriesError: no such file, or not so many rows.
    """
    found = _NAME.fullmatch(name)
    if found is None:
        raise SeriesError(f"series {name!r}: expected file[first:last]")
    path, first, last = folder / found["file"], int(found["first"]), int(found["last"])
    if not path.is_file():
        raise SeriesError(f"series {name!r}: there is no file {path}; give the folder of the traces with --data")
    rows = _column(path)[first:last]
    if len(rows) != last - first:
        raise SeriesError(f"series {name!r}: {path} has {len(rows)} of these {last - first} rows")
    return rows


@cache
def _column(path: Path) -> list[float]:
    with path.open(newline="") as file:
        separator = "|" if "|" in file.readline() else ","
        return [float(row[1]) for row in csv.reader(file, delimiter=separator)]
