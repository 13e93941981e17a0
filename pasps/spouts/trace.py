"""When each event of a trace is due: counts by row, spread evenly over the rows, one row after the other. Exact; pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import accumulate
from math import gcd, lcm

_ONE = 1 << 53


class Trace:
    """Event k, from 0, is due when the cumulative count reaches k + 1. Times are seconds after the trace's beginning.

    Counts are summed as integers (in parts of an event that `scale` and the counts have in common), so that however a trace is
    cut into pieces of time, they add up to the whole: the floor of the scaled sum. A lookup costs a binary search over the rows.
    """

    __slots__ = ("_sums", "_unit", "rows", "step_seconds", "total", "whole")

    def __init__(self, counts: Sequence[int | Fraction], step_seconds: Fraction, scale: Fraction, *, repeat: bool = False) -> None:
        """`counts` are at least 0 and at least one, `step_seconds` and `scale` above 0. With `repeat` it begins anew for ever."""
        parts = lcm(*{count.denominator for count in counts})
        unit = parts * scale.denominator
        shared = gcd(unit, scale.numerator)
        factor = scale.numerator // shared
        self._unit = unit // shared
        """An event, in the integers that are summed."""
        self._sums = [0, *accumulate(int(count * parts) * factor for count in counts)]
        self.rows = len(counts)
        self.step_seconds = step_seconds
        self.whole = self._sums[-1] // self._unit
        """Events of one pass."""
        self.total: int | None = None if repeat and self._sums[-1] else self.whole
        """All events; None: there is no end."""

    def _start(self, row: int) -> float:
        return row * self.step_seconds.numerator / self.step_seconds.denominator

    def times(self, numbers: Iterable[int]) -> list[float]:
        """When these events are due; cheap for numbers of one row that follow each other."""
        sums, unit, once = self._sums, self._unit, self._sums[-1]
        low = high = 0
        start = end = 0.0
        found = []
        for number in numbers:
            need = (number + 1) * unit
            if not low < need <= high:
                passes = 0 if self.total is not None else (need - 1) // once
                row = bisect_left(sums, need - passes * once) - 1
                low, high = passes * once + sums[row], passes * once + sums[row + 1]
                start, end = (self._start(passes * self.rows + row + i) for i in (0, 1))
            found.append(end if need == high else min(end, start + (need - low) / (high - low) * (end - start)))
        return found

    def count(self, seconds: float) -> int:
        """Events that are due in the first `seconds`, those at that very moment included: all whose time is not later."""
        if seconds <= 0:
            return 0
        row = int(seconds / self.step_seconds)
        passes, row = divmod(row, self.rows)
        if passes and self.total is not None:
            return self.total
        start = self._start(passes * self.rows + row)
        share = min(_ONE, max(0, int((seconds - start) / float(self.step_seconds) * _ONE)))
        low, high = self._sums[row], self._sums[row + 1]
        count = (passes * self._sums[-1] + low + ((high - low) * share >> 53)) // self._unit
        # a float cannot tell a moment from its neighbours, so the times of the events themselves decide
        while count > 0 and self.times((count - 1,))[0] > seconds:
            count -= 1
        while count != self.total and self.times((count,))[0] <= seconds:
            count += 1
        return count


class FirstEvents:
    """The first events of a trace, as far as a spout asks: `most`, or all if there are fewer."""

    __slots__ = ("_trace", "times", "total")

    def __init__(self, trace: Trace | FirstEvents, most: int) -> None:
        self._trace = trace
        self.times: Callable[[Iterable[int]], list[float]] = trace.times
        self.total: int = most if trace.total is None else min(most, trace.total)

    def count(self, seconds: float) -> int:
        """See `Trace`."""
        return min(self.total, self._trace.count(seconds))
