"""What an artifact says of a series: forecasts with quantiles from the errors that it made on its validation part. Pure."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from predictor_service.conformal import lines
from predictor_service.forecast import Forecast, forecast
from predictor_service.model import Model
from predictor_service.trained.artifact import Artifact
from predictor_service.trained.manifest import Manifest, Residuals

_FAR = 1.5
"""Samples that lie so many times as high as any that it learned from are worth a warning."""


def served(artifact: Artifact) -> Model:
    """The artifact as a model of the service."""
    manifest = artifact.manifest
    about = f"{manifest.model} trained on {manifest.trace.name}"
    return Model(name=manifest.model, about=about, predict=artifact.predict, least_samples=manifest.window, cost="light")


def trained_forecast(
    artifact: Artifact, samples: Sequence[float], horizon: int, step_seconds: float, levels: Sequence[float] | None
) -> Forecast:
    """As `forecast`; with levels, with quantiles of the sum of the first 1, 2, ... steps, none below 0 or shrinking.

    Raises:
        ModelError: as `forecast`.
    """
    began = time.perf_counter()
    manifest = artifact.manifest
    samples = samples[-manifest.window :]
    made = forecast(served(artifact), samples, horizon, step_seconds)
    quantiles: list[list[float]] = []
    if levels:
        expected = list(accumulate(made.predictions))
        steady = min(samples) == max(samples)
        away = [[0.0] * horizon for _ in levels] if steady else _offsets(manifest.residuals, levels, horizon)
        quantiles = [list(accumulate((max(0.0, one + more) for one, more in zip(expected, line, strict=True)), max)) for line in away]
    told = [*made.warnings, *_doubts(manifest, samples, horizon)]
    return replace(made, fit_seconds=time.perf_counter() - began, warnings=told, cumulative_quantiles=quantiles)


def _offsets(residuals: Residuals, levels: Sequence[float], horizon: int) -> list[list[float]]:
    points = [
        (ahead, [_between(residuals.levels, found, level) for level in levels])
        for ahead, found in zip(residuals.horizons, residuals.offsets, strict=True)
    ]
    return lines(points, len(levels), horizon)


def _between(levels: Sequence[float], values: Sequence[float], level: float) -> float:
    """On the line between the levels that are kept; outside of them as at the last one."""
    place = bisect_right(levels, level)
    if place == 0 or place == len(levels):
        return values[0] if place == 0 else values[-1]
    below, above = levels[place - 1], levels[place]
    return values[place - 1] + (level - below) / (above - below) * (values[place] - values[place - 1])


def _doubts(manifest: Manifest, samples: Sequence[float], horizon: int) -> list[str]:
    found, highest = [], manifest.scaler.high
    if highest > 0 and max(samples) > _FAR * highest:
        times = f"{max(samples) / highest:.3g} times"
        found.append(f"samples reach {times} the most that was learned from ({highest:g} a step): train with counts like these")
    if horizon > manifest.horizon:
        found.append(f"beyond {manifest.horizon} steps it goes on from its own forecasts, and quantiles are stretched")
    return found
