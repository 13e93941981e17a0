"""Finds the periods of a series, such as its days: peaks of the periodogram that chance does not make, and where it repeats itself. Pure.

Noise of a real trace is red: slow changes are larger than fast ones. So a peak is compared with the frequencies around it, after the
spectrum was levelled as that of a first-order autoregression; and it counts only if the autocorrelation has a hill there (after
Vlachos et al. 2005).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from pasps.data.arrays import Floats, np
from pasps.data.windows import binned

CHANCE = 0.0001
FEWEST_CYCLES = 3
_SHORTEST, _MOST, _CANDIDATES = 16, 3, 40
_REDDEST, _ROUNDING = 0.9999, 1e-16
_BAND_FACTOR, _BAND_LEAST = 1.5, 12
_BINS_OF_PERIOD, _LEAST_HILL, _HILL_SHARE = 128, 0.05, 0.25
_CYCLES_TO_COUNT, _SAME_HILL, _AGAIN = 5, 0.1, 1 / 3


@dataclass(frozen=True, slots=True)
class Period:
    """It repeats itself every `rows`; `correlation` with itself so much later, `chance` that noise alone has such a peak somewhere."""

    rows: float
    correlation: float
    chance: float


def find_periods(counts: Floats) -> list[Period]:
    """At most three, the clearest first; none that is a fraction of one found before, nor one with fewer than three cycles."""
    if len(counts) < _SHORTEST:
        return []
    values = levelled(counts)
    if not values.any():
        return []
    # the window keeps a strong period that does not divide the length from showing up beside itself
    power = np.abs(np.fft.rfft(values * np.hanning(len(values) + 1)[:-1])) ** 2
    ratios = power / _around(power, values)
    found: list[tuple[int, float, Period]] = []
    for cycles in (np.argsort(-ratios[FEWEST_CYCLES:])[:_CANDIDATES] + FEWEST_CYCLES).tolist():
        chance = min(1.0, len(ratios) * math.exp(-ratios[cycles]))
        if chance >= CHANCE or len(found) == _MOST:
            break
        hill = None if any(_is_harmonic(cycles, other) for other, _, _ in found) else _hill(values, cycles)
        if hill is not None and not any(_repeats(hill, lag, period.correlation) for _, lag, period in found):
            rows = hill[0] if cycles < _CYCLES_TO_COUNT else len(values) / _between(power, cycles)
            found.append((cycles, hill[0], Period(rows, hill[1], chance)))
    return [period for _, _, period in found]


def levelled(counts: Floats) -> Floats:
    """Square roots, in which spikes count less, without their mean and their linear trend."""
    values = np.sqrt(counts)
    values -= values.mean()
    at = np.arange(len(values)) - (len(values) - 1) / 2
    spread = float(at @ at)
    if spread:
        values -= at * (float(at @ values) / spread)
    # what is left of a constant is the rounding of floating point
    values[np.abs(values) < 1e-9 * (1.0 + math.sqrt(float(counts.max(initial=0.0))))] = 0.0
    return values


def correlation(values: Floats, lag: int) -> float:
    """Of a levelled series with itself, `lag` rows later; 0 where there is nothing to correlate."""
    whole = float(values @ values) / len(values)
    return min(1.0, float(values[:-lag] @ values[lag:]) / (len(values) - lag) / whole) if 0 < lag < len(values) and whole else 0.0


def _around(power: Floats, values: Floats) -> Floats:
    """The power that noise has at each number of cycles, from the median of the band it is in."""
    cycles = np.arange(len(power))
    red = min(_REDDEST, max(0.0, correlation(values, 1)))
    slope = 1.0 + red * red - 2.0 * red * np.cos(2.0 * np.pi * cycles / len(values))
    level = power * slope
    least = float(level.max()) * _ROUNDING
    middles, levels = [], []
    first = 1
    while first < len(power):
        end = max(first + _BAND_LEAST, math.ceil(first * _BAND_FACTOR))
        if len(power) - end < _BAND_LEAST:
            end = len(power)
        middles.append(math.sqrt(first * (end - 1)))
        # the median of what is distributed exponentially is ln 2 of its mean
        levels.append(max(float(np.median(level[first:end])) / math.log(2.0), least))
        first = end
    around: Floats = np.exp(np.interp(np.log(np.maximum(cycles, 1)), np.log(middles), np.log(levels))) / slope
    return around


def _between(power: Floats, cycles: int) -> float:
    """Cycles with a fraction: the top of the parabola through the logarithms of three powers."""
    if cycles + 1 >= len(power):
        return float(cycles)
    low, top, high = np.log(np.maximum(power[cycles - 1 : cycles + 2], np.finfo(float).tiny)).tolist()
    bend = low - 2.0 * top + high
    return cycles + (min(0.5, max(-0.5, 0.5 * (low - high) / bend)) if bend < 0 else 0.0)


def _is_harmonic(cycles: int, other: int) -> bool:
    """Whether so many cycles are a multiple of the others, as exactly as they are known: with the window, to two cycles."""
    times = round(cycles / other)
    return times >= 1 and abs(cycles - times * other) <= (times + 3) / 2


def _repeats(hill: tuple[float, float], lag: float, height: float) -> bool:
    """Whether this hill is that of a period found before, at its lag or at a multiple of it, where it is about as high again."""
    times = max(1, round(hill[0] / lag))
    return abs(hill[0] - times * lag) <= _SAME_HILL * lag and (times == 1 or hill[1] < height + _LEAST_HILL)


def _hill(values: Floats, cycles: int) -> tuple[float, float] | None:
    """The lag near so many cycles at which the autocorrelation has a hill, and its height; None if there is none, or it does not
    come back at twice the lag."""
    size = max(1, int(len(values) / cycles / _BINS_OF_PERIOD))
    bins = binned(values, size)
    period = len(bins) / cycles
    first = max(1, math.floor(min(period * (1.0 - _HILL_SHARE), len(bins) / (cycles + 1))))
    last = min(len(bins) - 2, math.ceil(max(period * (1.0 + _HILL_SHARE), len(bins) / (cycles - 1))))
    heights = [correlation(bins, lag) for lag in range(first, last + 1)]
    best = int(np.argmax(heights)) if heights else 0
    if not 0 < best < len(heights) - 1:
        return None
    lag = first + best
    height, again = (correlation(bins, place) - correlation(bins, place - max(1, lag // 2)) for place in (lag, 2 * lag))
    is_hill = height >= max(_LEAST_HILL, FEWEST_CYCLES / math.sqrt(len(bins))) and again >= height * _AGAIN
    return (float(lag * size), heights[best]) if is_hill and heights[best] > 0 else None
