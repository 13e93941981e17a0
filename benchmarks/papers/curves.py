"""Published curves as numbers, and how like them ours are. Reads `paper-curves/*.csv`: time_seconds, series, value."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

STEP = 5
"""Seconds between two samples of a figure."""
LAST = 1200
INPUT = "input"


class MissingError(Exception):
    """Something that an experiment reads is not there; says what, and where it was looked for."""


Curve = Mapping[int, float]


def read_figure(folder: Path, name: str) -> dict[str, dict[int, float]]:
    """The curves of a figure, by series and second.

    Raises:
        MissingError: it is not there, or is no such file.
    """
    path = folder / "paper-curves" / f"{name}.csv"
    found: dict[str, dict[int, float]] = {}
    try:
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                found.setdefault(row["series"], {})[round(float(row["time_seconds"]))] = float(row["value"])
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise MissingError(f"{path}: expected a figure as time_seconds,series,value: {error!r}; give its folder with --data") from error
    if not found:
        raise MissingError(f"{path}: has no curve; give the folder of the published curves with --data")
    return found


def at_steps(curve: Curve, first: int = 0, last: int = LAST) -> list[float]:
    """Its values at each step of a figure, the last one before a moment that it leaves out; before the first one that."""
    value, found = curve[min(curve)], list[float]()
    for second in range(first, last + 1, STEP):
        value = curve.get(second, value)
        found.append(value)
    return found


def correlation(one: Sequence[float], other: Sequence[float]) -> float:
    """Pearson's r; 0 where either never changes, since nothing can be said then."""
    a, b = fmean(one), fmean(other)
    product = sum((x - a) * (y - b) for x, y in zip(one, other, strict=True))
    spread = sum((x - a) ** 2 for x in one) * sum((y - b) ** 2 for y in other)
    return product / spread**0.5 if spread > 0 else 0.0


def mean_apart(one: Sequence[float], other: Sequence[float]) -> float:
    """The mean absolute difference."""
    return fmean(abs(x - y) for x, y in zip(one, other, strict=True))


def drawn_start(drawn: Curve, rows: Sequence[float], most: int = 40) -> int:
    """At which second of a figure the first row of its trace came: where its drawn input, events of each step, is most like the rows."""
    moments = [second for second in range(STEP, LAST + 1, STEP) if second in drawn]
    values = [drawn[second] for second in moments]

    def like(start: int) -> float:
        placed = started(rows, start)
        return correlation(values, [sum(placed[second - STEP : second]) for second in moments])

    return max(range(-most, most + 1), key=like)


def started(rows: Sequence[float], start: int) -> list[float]:
    """Events of each second when the first row is that of second `start`: with seconds of nothing before, or without the rows before."""
    return [0.0] * start + list(rows) if start >= 0 else list(rows[-start:])
