"""A model's answer made fit to be used: never negative, never NaN, never an explosion, exact for a constant. Pure; blocks for the fit."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field

from predictor_service.errors import ModelError
from predictor_service.model import Model

MOST_GROWTH = 1e3
"""A prediction may be as many times the largest sample; what is above says that the model exploded, not that the load will."""

_MOST_WARNINGS = 5
_WARNING_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Forecast:
    """`predictions` are finite and at least 0, one a step; `fit_seconds` is what the fit alone took.

    `cumulative_quantiles` has, for each level that was asked for, that quantile of the sum of the first 1, 2, 3, ... steps: of the
    sum, because quantiles of single steps do not add.
    """

    predictions: list[float]
    fit_seconds: float = 0.0
    warnings: list[str] = field(default_factory=list)
    cumulative_quantiles: list[list[float]] = field(default_factory=list)


def forecast(model: Model, samples: Sequence[float], horizon: int, step_seconds: float) -> Forecast:
    """Fit and predict; the same input gives the same answer.

    Raises:
        ModelError: the model raised, or gave NaN, infinity or a wrong number of predictions.
    """
    began = time.perf_counter()
    told: list[str] = []
    if min(samples) == max(samples):
        predicted: Sequence[float] = [samples[0]] * horizon
    else:
        predicted, told = _fitted(model, samples, horizon, step_seconds)
    fit_seconds = time.perf_counter() - began
    predictions, changed = _bounded(predicted, MOST_GROWTH * max(abs(min(samples)), abs(max(samples))))
    return Forecast(predictions, fit_seconds, told + changed)


def past_forecasts(model: Model, samples: Sequence[float], origins: Sequence[int], horizon: int, step_seconds: float) -> list[list[float]]:
    """What the model would have said when only so many of the samples were known, made fit to be used as by `forecast`.

    A horizon that reaches beyond the samples may be cut there.

    Raises:
        ModelError: as `forecast`.
    """
    if model.backtest is None or not origins:
        count = len(samples)
        return [forecast(model, samples[:known], min(horizon, count - known), step_seconds).predictions for known in origins]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of the forecast itself are told
        try:
            said = [[float(value) for value in line] for line in model.backtest(samples, origins, horizon, step_seconds)]
        except Exception as error:
            raise _failed(model, error) from error
    if len(said) != len(origins) or any(len(line) != horizon for line in said):
        raise ModelError(f"model {model.name!r}: expected {len(origins)} past forecasts of {horizon} steps, got others; use another")
    if not all(math.isfinite(value) for line in said for value in line):
        raise ModelError(f"model {model.name!r} predicted NaN or infinity from this input; use another")
    most = MOST_GROWTH * max(abs(min(samples)), abs(max(samples)))
    return [_bounded(line, most)[0] for line in said]


def _failed(model: Model, error: Exception) -> ModelError:
    return ModelError(f"model {model.name!r} failed on this input: {type(error).__name__}: {str(error)[:300]}; use another")


def _fitted(model: Model, samples: Sequence[float], horizon: int, step_seconds: float) -> tuple[list[float], list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            predictions = [float(value) for value in model.predict(samples, horizon, step_seconds)]
        except Exception as error:
            raise _failed(model, error) from error
    if len(predictions) != horizon:
        raise ModelError(f"model {model.name!r}: expected {horizon} predictions, got {len(predictions)}; use another")
    if not all(map(math.isfinite, predictions)):
        raise ModelError(f"model {model.name!r} predicted NaN or infinity from this input; use another")
    return predictions, _texts(caught)


def _texts(caught: Sequence[warnings.WarningMessage]) -> list[str]:
    """What a caller can use: not what is said to the developers of the libraries, and nothing twice."""
    for_developers = (DeprecationWarning, PendingDeprecationWarning, FutureWarning)
    texts = [
        f"{warning.category.__name__}: {' '.join(str(warning.message).split())[:_WARNING_CHARACTERS]}"
        for warning in caught
        if not issubclass(warning.category, for_developers)
    ]
    return list(dict.fromkeys(texts))[:_MOST_WARNINGS]


def _bounded(predicted: Sequence[float], most: float) -> tuple[list[float], list[str]]:
    below = sum(value < 0 for value in predicted)
    above = sum(value > most for value in predicted)
    if not below and not above:
        return list(predicted), []
    told = [f"{below} of {len(predicted)} predictions were below 0 and are 0"] if below else []
    if above:
        told.append(f"{above} of {len(predicted)} predictions were above {MOST_GROWTH:g} times the largest sample and are {most:g}")
    return [min(max(value, 0.0), most) for value in predicted], told
