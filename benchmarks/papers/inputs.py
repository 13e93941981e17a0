"""The inputs of the papers' experiments: `rates/pa-sps/*.csv` of --data, and two streams that are made up as DABS-Storm describes its."""

from __future__ import annotations

import csv
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.papers.curves import INPUT, MissingError, read_figure

DRAWN = "drawn:"
"""Before the name of a figure: its input."""
SPARSE = 0.1
"""Of the events, where each of them is simulated for itself."""
A_TENTH = "a-tenth:"
"""Before the name of a trace: so many of its events."""
ROWS = 1_400
"""The runs lasted about 1,300 s."""


def read_rows(folder: Path, name: str) -> list[float]:
    """Events of each second of a trace of PA-SPS.

    Raises:
        MissingError: it is not there, or is no such trace.
    """
    if name in MADE_UP:
        return MADE_UP[name]()
    if name.startswith(DRAWN):
        return _drawn(folder, name.removeprefix(DRAWN))
    if name.startswith(A_TENTH):
        return [SPARSE * rate for rate in read_rows(folder, name.removeprefix(A_TENTH))]
    path = folder / "rates" / "pa-sps" / f"{name}.csv"
    try:
        with path.open(newline="") as file:
            rows = [float(cells[-1]) for cells in list(csv.reader(file))[1 : ROWS + 1]]
    except (OSError, ValueError, IndexError) as error:
        raise MissingError(f"{path}: expected a trace as time,value: {error!r}; give its folder with --data") from error
    if not rows:
        raise MissingError(f"{path}: has no rows; give the folder of the traces with --data")
    return rows


def _drawn(folder: Path, name: str) -> list[float]:
    """The input of a figure that gives it as events a second, for inputs that were not published themselves."""
    curve = read_figure(folder, name)[INPUT]
    moments = sorted(curve)
    step = moments[1] - moments[0]
    return [curve[moment] for moment in moments for _ in range(step)]


_LOW, _HIGH = 300.0, 3_000.0
PLATEAU = 420, 780
"""Seconds of the progressive stream at its highest."""


def progressive() -> list[float]:
    """DABS-Storm's first stream: a large increase, a plateau, a decrease. Its paper draws it without numbers; these are ours."""
    begin, end = PLATEAU
    up = [_LOW + (_HIGH - _LOW) * second / 300 for second in range(300)]
    return [_LOW] * (begin - len(up)) + up + [_HIGH] * (end - begin) + up[::-1] + [_LOW] * 120


def erratic() -> list[float]:
    """DABS-Storm's second stream: sudden and severe, and a last increase that lasts. Its paper draws it without numbers; these are ours."""
    shape = [(120, 0.0), (30, 1.0), (90, 0.1), (45, 0.8), (120, 0.05), (20, 0.9), (100, 0.2), (30, 0.7), (140, 0.0), (240, 1.0), (265, 0.0)]
    return [_LOW + (_HIGH - _LOW) * level for seconds, level in shape for _ in range(seconds)]


def _sparse(rows: Callable[[], list[float]]) -> list[float]:
    return [SPARSE * rate for rate in rows()]


MADE_UP: dict[str, Callable[[], list[float]]] = {
    "progressive": progressive,
    "erratic": erratic,
    "progressive-sparse": partial(_sparse, progressive),
    "erratic-sparse": partial(_sparse, erratic),
}
