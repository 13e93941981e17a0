"""The forecast of one series with quantiles of its running sum, which come from the model's own errors. Pure; blocks for the fits."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from predictor_service.conformal import Track, knots, spread
from predictor_service.forecast import Forecast, forecast, past_forecasts
from predictor_service.model import Cost, Model

MOST_LOOKED_AT = 2_000
"""Errors are looked for in so many of the newest samples."""

_LEARNS_FIRST = 30
_FITS: dict[Cost, int] = {"instant": 40, "light": 24, "heavy": 8}
"""A model that does not learn sample by sample is fitted so many times to a part of the samples; one with a backtest says as much."""


def forecast_sums(model: Model, samples: Sequence[float], horizon: int, step_seconds: float, levels: Sequence[float]) -> Forecast:
    """As `forecast`, with the quantiles of the sum of the first 1, 2, ... `horizon` steps for each level, none below 0 or shrinking.

    Raises:
        ModelError: as `forecast`.
    """
    began = time.perf_counter()
    if min(samples) == max(samples):
        made = forecast(model, samples, horizon, step_seconds)
        told = list(made.warnings)
        quantiles = [list(accumulate(made.predictions)) for _ in levels]
    else:
        made, errors, apart = _with_past_errors(model, samples, horizon, step_seconds)
        expected, told = list(accumulate(made.predictions)), list(made.warnings)
        away, known = spread(errors, levels, horizon, apart)
        quantiles = [_running(map(sum, zip(expected, line, strict=True))) for line in away]
        if not any(errors.values()):
            told.append(f"with {len(samples)} samples nothing is known of the model's errors: every quantile is the mean; send more")
        elif known < horizon:
            told.append(f"beyond about {known} steps quantiles are stretched from shorter sums; send more than {len(samples)} samples")
    return replace(made, fit_seconds=time.perf_counter() - began, warnings=told, cumulative_quantiles=quantiles)


def _running(sums: map[float]) -> list[float]:
    return list(accumulate((max(0.0, one) for one in sums), max))


def _with_past_errors(
    model: Model, samples: Sequence[float], horizon: int, step_seconds: float
) -> tuple[Forecast, Mapping[int, Sequence[float]], float]:
    """The forecast, what the model would have been wrong by, by horizon and oldest first, and how many steps these are apart."""
    horizons, all_samples, samples = knots(horizon), samples, samples[-MOST_LOOKED_AT:]
    if model.online is not None:
        learning = model.online(step_seconds, horizons)
        begun = min(_LEARNS_FIRST, len(samples) // 3)
        for sample in samples[:begun]:
            learning.update(sample)
        track = Track(learning, horizons)
        for sample in samples[begun:]:
            track.update(sample)
        said = replace(model, predict=lambda taught, horizon, step_seconds: learning.means(horizon))
        return forecast(said, samples, horizon, step_seconds), track.errors(), 1.0
    count = len(samples)
    first = max(model.least_samples, count // 2)
    apart = max(1, math.ceil((count - first) / _FITS["light" if model.backtest is not None else model.cost]))
    errors: dict[int, list[float]] = {ahead: [] for ahead in horizons}
    origins = range(first, count, apart)
    for origin, path in zip(origins, past_forecasts(model, samples, origins, horizon, step_seconds), strict=True):
        sums, came = list(accumulate(path)), list(accumulate(samples[origin : origin + horizon]))
        for ahead in horizons:
            if ahead <= len(came):
                errors[ahead].append(came[ahead - 1] - sums[ahead - 1])
    return forecast(model, all_samples, horizon, step_seconds), errors, float(apart)
