"""Finds spikes in a series: times at which it leaves its level, up or down, and comes back (after Bodik et al. 2010). Pure.

A spike has an onset, a slope, a magnitude and a duration. It is looked for at every scale from a few rows to the longest wanted.
What noise alone would do is none: noise is measured in the differences of square roots of counts, which have the same variance at
any rate where counts are nearly Poisson.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pasps.data.arrays import Bools, Floats, Ints, np
from pasps.data.windows import binned, highest_after, highest_before, moving_average

LEAST_LEVEL = 1.0
"""An event in a row: relative to less than that nothing is measured."""
LEAST_MAGNITUDE = 1.5
SHORTEST_TRACE = 8

_BLOCK = 1 << 18
_FINEST, _BINS, _BINS_PER_AVERAGE = 4, 32, 8
_NOISE_FACTOR, _LEAST_NOISE = 6.0, 0.5
_MAD_TO_DEVIATION = 1.4826
_ANSCOMBE = 0.375
"""With it the square root of small counts has that variance too."""
_FIRST_SHARE, _LAST_SHARE, _BACK_SHARE, _HELD_SHARE, _KEPT_SHARE = 0.1, 0.2, 0.5, 0.75, 0.6
_FEWEST_BEFORE, _BEFORE, _BEFORE_ROWS = 3, 5, 10
_PER_DOUBLING = 0.08


@dataclass(frozen=True, slots=True)
class Spike:
    """One spike; rows are numbered from 0.

    Attributes:
        onset: The first row that has left the level before, by a tenth of the way to the extreme.
        peak: The row of the extreme, the lowest one for a spike that goes down.
        end: The row at which four fifths of the way are gone back, or at least half of it, where it goes no further.
        before: The level before: the median of as many rows as the spike lasts, and of ten at least.
        extreme: The value at the peak.
        slope: The largest change from one row to the next between onset and peak, relative to the level before; below 0: down.
    """

    onset: int
    peak: int
    end: int
    before: float
    extreme: float
    slope: float

    @property
    def up(self) -> bool:
        """Whether it goes up."""
        return self.extreme > self.before

    @property
    def rows(self) -> int:
        """How long it lasts."""
        return self.end - self.onset + 1

    @property
    def magnitude(self) -> float:
        """The extreme relative to the level before: 3 is three times as much, 0.5 half."""
        return self.extreme / max(self.before, LEAST_LEVEL)

    @property
    def size(self) -> float:
        """How large, whatever the direction: doubled is as large as halved."""
        return abs(math.log(max(self.extreme, LEAST_LEVEL) / max(self.before, LEAST_LEVEL)))

    def as_object(self, step_seconds: float) -> dict[str, Any]:
        """Its characteristics, as JSON has them everywhere; rows last so many seconds."""
        return {
            "direction": "up" if self.up else "down",
            "slope": round(self.slope, 6),
            "magnitude": round(self.magnitude, 6),
            "duration_rows": self.rows,
            "duration_seconds": self.rows * step_seconds,
            "rows_to_peak": self.peak - self.onset,
            "before": round(self.before, 6),
            "extreme": round(self.extreme, 6),
        }


def find_spikes(counts: Floats, most_rows: int, smooth_rows: int = 1, least_magnitude: float = LEAST_MAGNITUDE) -> list[Spike]:
    """The spikes that last at most `most_rows`, in order; no two overlap: of those that would, the larger is taken.

    Args:
        counts: Events by row, at least 0.
        most_rows: The longest.
        smooth_rows: They are found, and measured, in the moving average over so many rows.
        least_magnitude: So many times as much, or as little, as before.
    """
    if len(counts) < SHORTEST_TRACE:
        return []
    noise, values = noise_of(counts), moving_average(counts, smooth_rows)
    found: list[Spike] = []
    half = _FINEST
    while half < 2 * max(_FINEST, most_rows):
        scale = _Scale(values, half, _NOISE_FACTOR * noise, smooth_rows, math.log(least_magnitude))
        found += [spike for spike in scale.spikes() if spike.rows <= most_rows]
        half *= 2
    return apart(found)


def apart(spikes: Iterable[Spike]) -> list[Spike]:
    """Those that do not overlap, in order; of two that overlap the larger, unless it is hardly larger and much longer."""
    taken: list[tuple[int, int, Spike]] = []
    for spike in sorted(spikes, key=lambda spike: (_PER_DOUBLING * math.log2(spike.rows) - spike.size, spike.onset, spike.end)):
        place = bisect_left(taken, (spike.onset,))
        clear_before = place == 0 or taken[place - 1][1] < spike.onset
        clear_after = place == len(taken) or taken[place][0] > spike.end
        if clear_before and clear_after:
            taken.insert(place, (spike.onset, spike.end, spike))
    return [spike for _, _, spike in taken]


def noise_of(counts: Floats) -> float:
    """Standard deviation of the square root of a row, from row to row; a Poisson process has about a half."""
    changes = np.abs(np.diff(np.sqrt(counts + _ANSCOMBE)))
    return max(_LEAST_NOISE, _MAD_TO_DEVIATION * float(np.median(changes)) / math.sqrt(2.0)) if len(changes) else _LEAST_NOISE


class _Scale:
    """The search for spikes that take about `half` rows up or down; long ones in averages of rows, so that all scales cost the same."""

    def __init__(self, values: Floats, half: int, threshold: float, smooth_rows: int, least_size: float) -> None:
        self._values, self._least_size = values, least_size
        self._bin_rows = max(1, half // _BINS)
        self._half = half // self._bin_rows
        self._average = max(1, self._half // _BINS_PER_AVERAGE)
        self._blur_rows = self._average * self._bin_rows
        averaged = max(self._blur_rows, smooth_rows)
        self._threshold, self._shift = threshold / math.sqrt(averaged), _ANSCOMBE / averaged

    def spikes(self) -> Iterator[Spike]:
        """All of this scale, up and down; the same one may be found at several."""
        bins = binned(self._values, self._bin_rows)
        margin = 4 * self._half + self._average
        for start in range(0, len(bins), _BLOCK):
            first = max(0, start - margin)
            smooth = moving_average(bins[first : start + _BLOCK + margin], self._average)
            for sign in (1.0, -1.0):
                for place in self._extremes(smooth, sign):
                    spike = self._measured(sign * smooth, int(place), sign, first) if start <= first + place < start + _BLOCK else None
                    if spike is not None and spike.size >= self._least_size:
                        yield spike

    def _extremes(self, smooth: Floats, sign: float) -> Ints:
        """Places that stand out among `half` at either side, by more than noise and as far as is wanted."""
        heights = sign * smooth
        highest = np.maximum(highest_before(heights, self._half), highest_after(heights, self._half))
        places: Ints = np.flatnonzero((heights[1:] == highest[1:]) & (heights[1:] > heights[:-1])) + 1
        away = -sign * highest_before(-heights, self._half)[places]
        here = smooth[places]
        # the lowest row is not the level, which tells only later whether it is large enough
        return places[self._is_large(here, away, 0.5) & self._is_far(here, away)]

    def _is_far(self, here: Floats, away: Floats) -> Bools:
        far: Bools = np.abs(np.sqrt(np.maximum(here, 0.0) + self._shift) - np.sqrt(np.maximum(away, 0.0) + self._shift)) >= self._threshold
        return far

    def _is_large(self, here: Floats, away: Floats, share: float) -> Bools:
        large: Bools = np.abs(np.log(np.maximum(here, LEAST_LEVEL) / np.maximum(away, LEAST_LEVEL))) >= share * self._least_size
        return large

    def _measured(self, heights: Floats, place: int, sign: float, first: int) -> Spike | None:
        """The spike whose extreme is at that place; None if it does not come back, or begins too early to be told.

        1. The middle of the way up tells how long the rise is. 2. The level before is the median of what lies before the rise.
        3. The onset is where it leaves that level, 4. the end where it is back. 5. A level that does not hold for about as long as
        the spike lasts, before it and after it, is a spike itself: what lies between two of them is none.
        """
        height = float(heights[place])
        left = heights[max(0, place - self._half) : place]
        middle = place - 1 - int(np.argmax(left[::-1] <= (float(left.min()) + height) / 2))
        rise = place - middle
        quiet_end = max(0, middle - rise + 1)
        quiet = heights[max(0, quiet_end - max(_BEFORE, self._half)) : quiet_end]
        if len(quiet) < _FEWEST_BEFORE:
            return None
        level = float(np.median(quiet))
        way = height - level
        here, away = np.array(sign * height), np.array(sign * level)
        if way <= 0 or not (self._is_far(here, away) and self._is_large(here, away, 1.0)):
            return None
        earliest = max(0, middle - 2 * rise)
        low = np.flatnonzero(heights[earliest : middle + 1] <= level + _FIRST_SHARE * way)
        onset = earliest + int(low[-1]) + 1 if len(low) else earliest
        after = heights[place + 1 : place + 1 + 2 * self._half]
        is_back = after <= level + _LAST_SHARE * way
        back = int(np.argmax(is_back) if is_back.any() else np.argmin(after)) if len(after) else 0
        if not len(after) or after[back] > level + _BACK_SHARE * way:
            return None
        return self._on_rows(first + onset, first + place + 1 + back, max(0.0, sign * level), sign)

    def _on_rows(self, first: int, last: int, level: float, sign: float) -> Spike | None:
        """Between two places, as the rows themselves have it; averages begin earlier than the spike and end later."""
        values = self._values
        onset, end = first * self._bin_rows, (last + 1) * self._bin_rows - 1
        heights = sign * values[onset : end + 1]
        peak = onset + int(np.argmax(heights))
        way = float(heights.max()) - sign * level
        low = np.flatnonzero(heights[: min(self._blur_rows, peak - onset)] <= sign * level + _FIRST_SHARE * way)
        late = max(peak + 1, end - self._blur_rows)
        back = np.flatnonzero(sign * values[late : end + 1] <= sign * level + _LAST_SHARE * way)
        onset, end = onset + int(low[-1]) + 1 if len(low) else onset, late + int(back[0]) if len(back) else end
        around = max(_BEFORE_ROWS, end - onset + 1)
        before = _level(values[max(0, onset - around) : onset], level)
        # a scale finer than the spike sees a part of it, whose neighbours have left the level already, or are not back yet
        way = float(heights.max()) - sign * before
        low = np.flatnonzero(sign * values[max(0, onset - around) : onset] <= sign * before + _FIRST_SHARE * way)
        if len(low):
            onset = max(0, onset - around) + int(low[-1]) + 1
            around = max(_BEFORE_ROWS, end - onset + 1)
            before = _level(values[max(0, onset - around) : onset], before)
        back = np.flatnonzero(sign * values[end : end + 1 + around] <= sign * before + _LAST_SHARE * way)
        end += int(back[0]) if len(back) else 0
        after = _level(values[end + 1 : end + 1 + around], level)
        extreme = float(values[peak])
        if sign * (extreme - before) < _HELD_SHARE * way or sign * (extreme - after) < _KEPT_SHARE * way:
            return None
        changes = sign * np.diff(values[max(0, onset - 1) : peak + 1])
        steepest = float(changes.max()) if len(changes) else 0.0
        return Spike(onset, peak, end, before, extreme, sign * steepest / max(before, LEAST_LEVEL))


def _level(rows: Floats, otherwise: float) -> float:
    return float(np.median(rows)) if len(rows) >= _FEWEST_BEFORE else otherwise
