"""What a model says of one series from rolling origins, beside what came."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import fmean

from predictor_service.conformal import Track, offsets
from predictor_service.forecast import forecast
from predictor_service.model import Model

HORIZONS = (1, 5, 30, 60)
WINDOW = 600
"""Samples that are known at the first origin, and that a model gets which does not learn sample by sample."""
LEVELS = (0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975)
WITHIN = {50: (2, 4), 80: (1, 5), 95: (0, 6)}
"""Percent that an interval promises, and the places of its ends in LEVELS."""
_LEVELLED = (1, 2, 3, 4, 5)
"""Those whose pinball loss is looked at."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One model on one series at one horizon.

    `error` is the mean absolute error of single steps up to the horizon, `sum_error` that of their sum; `wape` what the errors of
    single steps are of all that came; `pinball` the mean pinball loss of the sum's quantiles, as a share of the sums; `covered`
    the shares of sums within the intervals of WITHIN.
    """

    series: str
    model: str
    horizon: int
    error: float
    sum_error: float
    wape: float
    pinball: float
    covered: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Said:
    """A forecast, by horizon, since it may depend on how far one wants to look: each step, and the sum's quantiles at LEVELS."""

    means: dict[int, Sequence[float]]
    quantiles: dict[int, list[float]]


Forecaster = Callable[[Sequence[float], Sequence[int]], tuple[dict[int, Said], float]]
"""From a series and its origins (how many samples are known) to what is said at each, and the milliseconds a forecast took."""


def learning(make: Callable[[], Track]) -> Forecaster:
    """A model that learns along the series as it does beside a loop: one sample a second, never taught again."""

    def run(samples: Sequence[float], origins: Sequence[int]) -> tuple[dict[int, Said], float]:
        track, wanted, said, taken = make(), set(origins), {}, []
        for known, sample in enumerate(samples, 1):
            began = time.perf_counter()
            track.update(sample)
            if known in wanted:
                said[known] = _said(track, 1.0)
            taken.append(time.perf_counter() - began)
        return said, 1e3 * fmean(taken)

    return run


def replayed(make: Callable[[], Track]) -> Forecaster:
    """The same as the service does it: taught anew with the window at each origin."""

    def run(samples: Sequence[float], origins: Sequence[int]) -> tuple[dict[int, Said], float]:
        said, taken = {}, []
        for known in origins:
            began = time.perf_counter()
            track = make()
            for sample in samples[known - WINDOW : known]:
                track.update(sample)
            said[known] = _said(track, 1.0)
            taken.append(time.perf_counter() - began)
        return said, 1e3 * fmean(taken)

    return run


def _said(track: Track, apart: float) -> Said:
    errors = track.errors()
    sums = {horizon: track.model.total(horizon) for horizon in HORIZONS}
    return Said(
        {horizon: track.model.means(horizon) for horizon in HORIZONS},
        {horizon: [sums[horizon] + away for away in offsets(errors[horizon], LEVELS, horizon, apart)] for horizon in HORIZONS},
    )


def fitted(model: Model, every: int) -> Forecaster:
    """A model that is fitted to the window at each origin; its quantiles come from its errors at earlier origins."""

    def run(samples: Sequence[float], origins: Sequence[int]) -> tuple[dict[int, Said], float]:
        passed = [0.0, *accumulate(samples)]
        said: dict[int, Said] = {}
        sums: dict[int, list[float]] = {}
        taken = []
        # origins before the first give it errors to begin with, from windows that are not full yet
        early = range(WINDOW - every * ((WINDOW // 2) // every), WINDOW, every)
        for known in [*early, *origins]:
            began = time.perf_counter()
            means = forecast(model, samples[max(0, known - WINDOW) : known], max(HORIZONS), 1.0).predictions
            taken.append(time.perf_counter() - began)
            sums[known] = [0.0, *accumulate(means)]
            if known >= WINDOW:
                errors = {
                    horizon: [passed[at + horizon] - passed[at] - line[horizon] for at, line in sums.items() if at + horizon <= known]
                    for horizon in HORIZONS
                }
                quantiles = {
                    horizon: [sums[known][horizon] + away for away in offsets(errors[horizon], LEVELS, horizon, float(every))]
                    for horizon in HORIZONS
                }
                said[known] = Said({horizon: means[:horizon] for horizon in HORIZONS}, quantiles)
        return said, 1e3 * fmean(taken)

    return run


def outcomes(series: str, name: str, samples: Sequence[float], said: dict[int, Said]) -> list[Outcome]:
    """What was said against what came, by horizon."""
    passed = [0.0, *accumulate(samples)]
    return [_outcome(series, name, horizon, samples, passed, said) for horizon in HORIZONS]


def _outcome(series: str, name: str, horizon: int, samples: Sequence[float], passed: Sequence[float], said: dict[int, Said]) -> Outcome:
    steps, sums, came, pinball, inside = [], [], [], [], []
    for known, one in said.items():
        coming = samples[known : known + horizon]
        total = passed[known + horizon] - passed[known]
        steps.append(fmean(abs(sample - mean) for sample, mean in zip(coming, one.means[horizon], strict=True)))
        sums.append(abs(total - sum(one.means[horizon])))
        came.append(total)
        ends = one.quantiles[horizon]
        pinball.append(fmean(_pinball(LEVELS[place], total - ends[place]) for place in _LEVELLED))
        inside.append([ends[low] <= total <= ends[high] for low, high in WITHIN.values()])
    return Outcome(
        series,
        name,
        horizon,
        fmean(steps),
        fmean(sums),
        horizon * sum(steps) / (sum(came) or 1.0),
        sum(pinball) / (sum(came) or 1.0),
        tuple(fmean(column) for column in zip(*inside, strict=True)),
    )


def _pinball(level: float, above: float) -> float:
    return level * above if above >= 0 else (level - 1) * above
