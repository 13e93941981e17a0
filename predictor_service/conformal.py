"""How far sums lie from their forecasts: quantiles from a model's own errors of late, at each horizon. Pure; no library.

The sum over a horizon has errors of its own: quantiles of single steps do not add. So each model's past sums are kept beside what
came, and what is coming is expected to lie from the forecast as that did, what is long past counting less.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import deque
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise

from predictor_service.model import Online

MEMORY = 400.0
"""An error that is so many steps old counts a third of the newest."""
KEPT = 1_200
"""Errors that are kept of each horizon."""
LEAST_ERRORS = 5
"""With fewer, the errors of a shorter horizon are stretched."""


def offsets(errors: Sequence[float], levels: Sequence[float], horizon: int, apart: float = 1.0, memory: float = MEMORY) -> list[float]:
    """For each level (0 to 1) how far above the forecast that quantile of the sum lies; below it when negative.

    `errors`, what came less what was expected, oldest first and so many steps `apart`. Sums over windows that overlap tell little
    more than one of them, so the levels are moved outwards as if there were only so many errors as windows fit one after the other.
    """
    count = len(errors)
    weighted = sorted((error, math.exp((place + 1 - count) * apart / memory)) for place, error in enumerate(errors))
    sums = list(accumulate(weight for _, weight in weighted))
    whole = sums[-1]
    independent = whole * whole / math.fsum(weight * weight for _, weight in weighted) * min(1.0, apart / horizon)
    # the middle of each error's own share
    middles = [(end - weight / 2) / whole for end, (_, weight) in zip(sums, weighted, strict=True)]
    found = []
    for level in levels:
        wide = 0.5 + (level - 0.5) * (1 + 1 / max(1.0, independent))
        place = bisect_left(middles, wide)
        if place == 0:
            found.append(weighted[0][0])
        elif place == count:
            found.append(weighted[-1][0])
        else:
            below, above = middles[place - 1], middles[place]
            share = (wide - below) / (above - below)
            found.append(weighted[place - 1][0] + share * (weighted[place][0] - weighted[place - 1][0]))
    return found


class Track:
    """A model that learns sample by sample, and what it was wrong by at each of some horizons."""

    def __init__(self, model: Online, horizons: Sequence[int]) -> None:
        self.model = model
        self.horizons = tuple(sorted(set(horizons)))
        self._passed = 0.0
        self._ends: list[deque[float]] = [deque() for _ in self.horizons]
        self._errors: list[deque[float]] = [deque(maxlen=KEPT) for _ in self.horizons]

    def update(self, sample: float) -> None:
        """One more step has passed, and brought so much."""
        self._passed = passed = self._passed + sample
        self.model.update(sample)
        for horizon, ends, errors in zip(self.horizons, self._ends, self._errors, strict=True):
            if len(ends) == horizon:
                errors.append(passed - ends.popleft())
            ends.append(passed + self.model.total(horizon))

    def errors(self) -> dict[int, Sequence[float]]:
        """By horizon, oldest first."""
        return dict(zip(self.horizons, self._errors, strict=True))


def knots(horizon: int) -> list[int]:
    """Some horizons up to this one, near each other at first: errors are looked at there, and in between they go over into each other."""
    found, step = [1], 1
    while found[-1] < horizon:
        step = max(step + 1, math.ceil(step * 1.6))
        found.append(min(step, horizon))
    return found


def spread(
    errors: Mapping[int, Sequence[float]], levels: Sequence[float], horizon: int, apart: float = 1.0
) -> tuple[list[list[float]], int]:
    """For each level its offsets at 1 to `horizon` steps, and the longest horizon whose errors are known.

    Beyond that one offsets are stretched: a sum over twice as many steps is taken to be wrong by twice as much, which is the most it
    can be when errors persist.
    """
    known = [(ahead, found) for ahead, found in sorted(errors.items()) if len(found) >= LEAST_ERRORS]
    if not known:
        known = [(ahead, found) for ahead, found in sorted(errors.items()) if found][:1]
    points = [(ahead, offsets(found, levels, ahead, apart)) for ahead, found in known]
    return lines(points, len(levels), horizon), points[-1][0] if points else 0


def lines(points: Sequence[tuple[int, Sequence[float]]], levels: int, horizon: int) -> list[list[float]]:
    """For each of so many levels its offsets at 1 to `horizon` steps, from those at some horizons, which rise; see `spread`."""
    points = [(0, [0.0] * levels), *points]
    last, ends = points[-1]
    if last < horizon:
        points.append((horizon, [end * horizon / max(last, 1) for end in ends]))
    found: list[list[float]] = [[] for _ in range(levels)]
    for (begin, low), (end, high) in pairwise(points):
        for ahead in range(begin + 1, min(end, horizon) + 1):
            share = (ahead - begin) / (end - begin)
            for line, one, other in zip(found, low, high, strict=True):
                line.append(one + share * (other - one))
    return found
