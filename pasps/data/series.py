"""A trace in memory: times and counts by row, eight bytes each. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pasps.data.arrays import Floats, Ints, np
from pasps.data.steps import iso_time
from pasps.errors import InvalidError

_GAP = 1.5
_MICROSECONDS = 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """One trace: `times` in microseconds since the epoch, each later than the one before; `counts` of at least 0; `name`: whose.

    A row lasts `step_seconds`: the median distance of two; a single row is taken to last a second.
    """

    name: str
    times: Ints
    counts: Floats
    step_seconds: float

    def pieces(self) -> Iterator[tuple[int, int]]:
        """First row and end of each piece without a gap: rows that belong together are at most one and a half steps apart."""
        cuts = np.flatnonzero(np.diff(self.times) > _GAP * self.step_seconds * _MICROSECONDS) + 1
        ends = [0, *cuts.tolist(), len(self.times)]
        yield from pairwise(ends)


def series_of(name: str, times: Sequence[int] | Ints, counts: Sequence[float] | Floats) -> Series:
    """A series of these rows.

    Raises:
        InvalidError: there are none, or times do not increase, or a count is below 0 or no number.
    """
    moments = np.asarray(times, dtype=np.int64)
    step_seconds = float(np.median(np.diff(moments))) / _MICROSECONDS if len(moments) > 1 else 1.0
    series = Series(name, moments, np.asarray(counts, dtype=np.float64), step_seconds)
    if not len(series.times):
        raise InvalidError(f"trace {name}: expected rows of time and count, got none")
    late = np.flatnonzero(np.diff(series.times) <= 0)
    if len(late):
        raise InvalidError(f"trace {name}: expected one row for each time, got several for {iso_time(int(series.times[late[0] + 1]))}")
    wrong = np.flatnonzero(~(np.isfinite(series.counts) & (series.counts >= 0)))
    if len(wrong):
        when = iso_time(int(series.times[wrong[0]]))
        raise InvalidError(f"trace {name}, {when}: expected a count of at least 0, got {series.counts[wrong[0]]:g}")
    return series
