"""What there is to say of a trace: its rates, how bursty it is, its periods and its spikes, with what a picture of it needs. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pasps.data.arrays import Floats, np
from pasps.data.periods import Period, correlation, find_periods, levelled
from pasps.data.series import Series
from pasps.data.spikes import Spike, find_spikes
from pasps.data.windows import binned

_POINTS, _BARS, _LAGS = 1000, 50, 240
_FEWEST_WINDOWS, _FEWEST_BLOCKS, _FEWEST_SCALES = 10, 32, 5
_FIT = 0.95
_MICROSECONDS = 1_000_000
_GRID_FACTOR = 2


@dataclass(frozen=True, slots=True)
class Burstiness:
    """How unlike a Poisson process, whose dispersion is 1 at every window.

    Attributes:
        dispersion: Variance of a row, relative to the mean (index of dispersion); None: there are no events.
        peak_to_mean: The largest row, relative to the mean; None: there are no events.
        fano: (seconds, variance relative to mean) of the events in windows of so many seconds.
        correlation: Of a row with the next one; None: nothing varies.
        hurst: From how the variance falls with the window; None where that says nothing: less than 512 rows, a period, or no straight
            fall. 0.5: nothing lasts; towards 1: bursts of all lengths.
    """

    dispersion: float | None
    peak_to_mean: float | None
    fano: Sequence[tuple[float, float]]
    correlation: float | None
    hurst: float | None


@dataclass(frozen=True, slots=True)
class Found:
    """A spike of the trace, with the times of its onset and its peak."""

    time: int
    peak_time: int
    spike: Spike


@dataclass(frozen=True, slots=True)
class Picture:
    """What is drawn: lists of bounded length. `low`, `mean`, `high` over `seconds`; bars of a histogram; correlation by lag."""

    seconds: Sequence[float]
    low: Sequence[float]
    mean: Sequence[float]
    high: Sequence[float]
    edges: Sequence[float]
    bars: Sequence[int]
    lags: Sequence[float]
    correlations: Sequence[float]


@dataclass(frozen=True, slots=True)
class Description:
    """See the module. Times are in microseconds since the epoch, counts in events of a row."""

    name: str
    first: int
    last: int
    rows: int
    step_seconds: float
    gaps: int
    total: float
    mean: float
    deviation: float
    least: float
    median: float
    p90: float
    p99: float
    peak: float
    peak_time: int
    zeros: float
    burstiness: Burstiness
    periods: Sequence[Period]
    spikes: Sequence[Found]
    picture: Picture


def describe(series: Series) -> Description:
    """All of it; `zeros` is the share of rows without an event, `gaps` counts where rows are missing."""
    counts, step = series.counts, series.step_seconds
    grid = _grid(series)
    periods = find_periods(grid)
    median, p90, p99 = np.quantile(counts, (0.5, 0.9, 0.99)).tolist()
    pieces = list(series.pieces())
    return Description(
        name=series.name,
        first=int(series.times[0]),
        last=int(series.times[-1]),
        rows=len(counts),
        step_seconds=step,
        gaps=len(pieces) - 1,
        total=float(counts.sum()),
        mean=float(counts.mean()),
        deviation=float(counts.std()),
        least=float(counts.min()),
        median=median,
        p90=p90,
        p99=p99,
        peak=float(counts.max()),
        peak_time=int(series.times[int(np.argmax(counts))]),
        zeros=float(np.mean(counts == 0)),
        burstiness=burstiness_of(counts, step, is_periodic=bool(periods)),
        periods=periods,
        spikes=_spikes(series, pieces, periods),
        picture=_picture(series, grid, periods),
    )


def burstiness_of(counts: Floats, step_seconds: float, *, is_periodic: bool = False) -> Burstiness:
    """See `Burstiness`."""
    mean, levels = float(counts.mean()), levelled(counts)
    varies = len(counts) > 1 and bool(levels.any())
    fano = []
    if mean:
        rows, factors = 1, (2.0, 2.5, 2.0)
        for place in range(3 * 20):
            if len(counts) // rows < _FEWEST_WINDOWS:
                break
            fano.append((rows * step_seconds, rows * float(binned(counts, rows).var()) / mean))
            rows = round(rows * factors[place % 3])
    return Burstiness(
        dispersion=float(counts.var()) / mean if mean else None,
        peak_to_mean=float(counts.max()) / mean if mean else None,
        fano=fano,
        correlation=correlation(levels, 1) if varies else None,
        hurst=_hurst(counts) if varies and not is_periodic else None,
    )


def _hurst(counts: Floats) -> float | None:
    """From the slope of log variance of averages over log window; None: too few windows, or no line."""
    windows = [1 << power for power in range(40) if len(counts) >> power >= _FEWEST_BLOCKS]
    variances = [float(binned(counts, rows).var()) for rows in windows]
    if len(windows) < _FEWEST_SCALES or min(variances) <= 0:
        return None
    x, y = np.log(windows), np.log(variances)
    slope, start = np.polyfit(x, y, 1).tolist()
    rest, whole = float(((y - slope * x - start) ** 2).sum()), float(((y - y.mean()) ** 2).sum())
    return min(1.0, max(0.0, 1.0 + slope / 2.0)) if whole and 1.0 - rest / whole >= _FIT else None


def _grid(series: Series) -> Floats:
    """Counts at equal distances, with the mean where rows are missing; as they are where there is more missing than not."""
    step = series.step_seconds * _MICROSECONDS
    places = np.rint((series.times - series.times[0]) / step).astype(np.int64)
    if len(places) == places[-1] + 1 or places[-1] >= _GRID_FACTOR * len(places):
        return series.counts
    grid = np.full(int(places[-1]) + 1, series.counts.mean())
    grid[places] = series.counts
    return grid


def _spikes(series: Series, pieces: Sequence[tuple[int, int]], periods: Sequence[Period]) -> list[Found]:
    """Those of each piece, of at most a quarter of the trace; and of an eighth of the shortest period, for days are no spikes."""
    most = min([len(series.counts) / 4, *(period.rows / 8 for period in periods)])
    found = []
    for first, end in pieces:
        for spike in find_spikes(series.counts[first:end], max(2, math.floor(most))):
            moved = replace(spike, onset=spike.onset + first, peak=spike.peak + first, end=spike.end + first)
            found.append(Found(int(series.times[moved.onset]), int(series.times[moved.peak]), moved))
    return found


def _picture(series: Series, grid: Floats, periods: Sequence[Period]) -> Picture:
    counts = series.counts
    cuts = np.unique(np.linspace(0, len(counts), min(_POINTS, len(counts)) + 1).astype(np.int64))
    starts, sizes = cuts[:-1], np.diff(cuts)
    seconds = (series.times[starts] - series.times[0]) / _MICROSECONDS
    # one bar for rows that are all the same
    around = (float(counts[0]) - 0.5, float(counts[0]) + 0.5) if counts.min() == counts.max() else None
    bars, edges = np.histogram(counts, bins=_BARS if around is None else 1, range=around)
    most_lag = min(len(grid) // 2, math.ceil(2.5 * max((period.rows for period in periods), default=len(grid) / 10)))
    size = max(1, -(-most_lag // _LAGS))
    bins = binned(levelled(grid), size)
    lags = range(1, max(2, most_lag // size + 1)) if len(bins) > 2 and bins.any() else range(0)
    return Picture(
        seconds=seconds.tolist(),
        low=np.minimum.reduceat(counts, starts).tolist(),
        mean=(np.add.reduceat(counts, starts) / sizes).tolist(),
        high=np.maximum.reduceat(counts, starts).tolist(),
        edges=edges.tolist(),
        bars=bars.tolist(),
        lags=[lag * size * series.step_seconds for lag in lags],
        correlations=[correlation(bins, lag) for lag in lags],
    )
