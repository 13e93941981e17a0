"""A cumulative count over time, from which the amount in any stretch can be read. Pure."""

from __future__ import annotations

from array import array
from bisect import bisect_right


class Timeline:
    """Counts at ascending times; between two of them the count is taken to grow evenly. 16 bytes a sample."""

    __slots__ = ("_counts", "_times")

    def __init__(self) -> None:
        self._times = array("d")
        self._counts = array("d")

    def add(self, time: float, count: float) -> None:
        """The count at `time`. What is not later than the last is left out; a count that shrinks stays as it was."""
        if self._times and time <= self._times[-1]:
            return
        self._times.append(time)
        self._counts.append(max(count, self._counts[-1]) if self._counts else count)

    @property
    def begin(self) -> float:
        """The first time; 0 when there is none."""
        return self._times[0] if self._times else 0.0

    @property
    def end(self) -> float:
        """The last time; 0 when there is none."""
        return self._times[-1] if self._times else 0.0

    @property
    def total(self) -> float:
        """The last count; 0 when there is none."""
        return self._counts[-1] if self._counts else 0.0

    def between(self, begin: float, end: float) -> float | None:
        """What was added after `begin` until `end`; None when it does not reach that far on one side."""
        if not self._times or begin < self.begin or end > self.end:
            return None
        return self._at(end) - self._at(begin)

    def _at(self, time: float) -> float:
        after = bisect_right(self._times, time)
        if after == len(self._times):
            return self._counts[-1]
        began, ended = self._times[after - 1], self._times[after]
        first, last = self._counts[after - 1], self._counts[after]
        return first + (last - first) * (time - began) / (ended - began)
