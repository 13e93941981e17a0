"""Memory that all processes of a run share, so that replicas tell what they did without asking the runtime under test.

One row for each replica, written by that replica alone, read by the driver at any time. Row 0 belongs to the driver.
"""

from __future__ import annotations

import math
import mmap
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from benchmarks.options import records_directory

COUNT, LAST, FIRST = 0, 1, 2
_HISTOGRAM = 8
_WIDTH = 128
_BUCKETS = _WIDTH - _HISTOGRAM
_SHORTEST = 10e-6
_GROWTH = math.log(1.15)
_FILE = "board"


class Board:
    """Rows of doubles in a file of the records directory. Pickles as a reference to that file."""

    def __init__(self, path: Path) -> None:
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), 0)
        self._path = path
        self._cells = memoryview(self._memory).cast("d")

    def __reduce__(self) -> tuple[Any, ...]:
        return Board, (self._path,)

    @classmethod
    def create(cls, rows: int) -> Board:
        """A new one, all zero, in place of any other; the driver calls it before the workers start."""
        path = records_directory() / _FILE
        path.write_bytes(bytes(8 * _WIDTH * rows))
        return cls(path)

    @classmethod
    def shared(cls) -> Board:
        """The driver's, from any process of the run."""
        return cls(records_directory() / _FILE)

    def row(self, number: int) -> memoryview[float]:
        """One row, live."""
        return self._cells[number * _WIDTH : (number + 1) * _WIDTH]


def count_latency(row: memoryview[float], seconds: float) -> None:
    """Add one latency to a row's histogram, whose buckets are 15% wide."""
    bucket = int(math.log(max(seconds, _SHORTEST) / _SHORTEST) / _GROWTH)
    row[_HISTOGRAM + min(bucket, _BUCKETS - 1)] += 1


def latency_percentile(rows: Iterable[memoryview[float]], share: float) -> float:
    """The upper edge in seconds of the bucket in which that share of all latencies is reached; 0 when there are none."""
    totals = [sum(cells) for cells in zip(*(row[_HISTOGRAM:].tolist() for row in rows), strict=True)]
    wanted, seen = share * sum(totals), 0.0
    for bucket, total in enumerate(totals):
        seen += total
        if total and seen >= wanted:
            return _SHORTEST * math.exp(_GROWTH * (bucket + 1))
    return 0.0


def wait_for(happened: Callable[[], bool], seconds: float, look_every: float = 0.002) -> bool:
    """Call `happened` until it is true; False when it was not within `seconds`."""
    deadline = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > deadline:
            return False
        time.sleep(look_every)
    return True
