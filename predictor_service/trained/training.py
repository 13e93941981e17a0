"""From the rows of a trace to an artifact: split, scale, learn, judge. Blocks for minutes; `pasps predictor train` calls it."""

from __future__ import annotations

import hashlib
import math
import platform
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from predictor_service.conformal import knots, offsets
from predictor_service.errors import TrainingError
from predictor_service.trained import arima, support_vectors
from predictor_service.trained.artifact import network, packed
from predictor_service.trained.examples import Examples, Scale, Split, errors
from predictor_service.trained.form import Arrays, Form
from predictor_service.trained.learning import Course, Epoch, learned
from predictor_service.trained.manifest import (
    MODELS,
    MOST_LAYERS,
    MOST_STEPS,
    MOST_UNITS,
    MOST_WINDOW,
    Autoregressive,
    Judged,
    Learning,
    Manifest,
    Metrics,
    ModelName,
    Recurrent,
    Residuals,
    Scaler,
    Trace,
    Vectors,
    Weights,
)

LEVELS = (0.005, 0.01, 0.025, *(round(0.05 * step, 2) for step in range(1, 20)), 0.975, 0.99, 0.995)
"""Quantiles of errors that an artifact keeps; others lie between them."""
MOST_ROWS = 1_000_000
MOST_TARGETS = 200_000_000
"""Rows times the steps of a horizon: the errors of a sixth of them are held at once."""
MOST_COUNT = 1e15
_LIBRARIES = ("numpy", "scipy", "scikit-learn")
_INTERVAL = (0.1, 0.9)

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be trained. `shares` of the rows are for training, validation and test; the rest holds for networks alone.

    Raises:
        TrainingError: a number that makes no sense.
    """

    model: str
    window: int = 60
    horizon: int = 35
    shares: tuple[float, float, float] = (4.0, 1.0, 1.0)
    seed: int = 1
    units: int = 32
    layers: int = 1
    course: Course = field(default_factory=Course)

    def __post_init__(self) -> None:
        if self.model not in MODELS:
            raise TrainingError(f"--model {self.model}: expected one of {', '.join(MODELS)}")
        for name, got, least, most in (
            ("window", self.window, 2, MOST_WINDOW),
            ("horizon", self.horizon, 1, MOST_STEPS),
            ("units", self.units, 1, MOST_UNITS),
            ("layers", self.layers, 1, MOST_LAYERS),
            ("seed", self.seed, 0, 2**63),
            ("epochs", self.course.epochs, 1, 100_000),
            ("batch", self.course.batch, 1, 100_000),
            ("patience", self.course.patience, 1, 100_000),
        ):
            if not least <= got <= most:
                raise TrainingError(f"--{name} {got}: expected {least} to {most}")
        if not 0 < self.course.learning_rate <= 1:
            raise TrainingError(f"--learning-rate {self.course.learning_rate:g}: expected a number above 0 and at most 1")
        if not all(0 < share < math.inf for share in self.shares):
            raise TrainingError(f"--split {':'.join(f'{share:g}' for share in self.shares)}: expected three numbers above 0, such as 4:1:1")


@dataclass(frozen=True, slots=True)
class Trained:
    """What came of it: `weights` are the bytes of the file beside the manifest."""

    manifest: Manifest
    weights: bytes


def train(rows: Sequence[float], step_seconds: float, trace: str, plan: Plan, tell: Tell) -> Trained:
    """Train on these rows, counts of such steps one after the other, of the trace of that name; `tell` hears how it goes on.

    The same rows and plan give the same artifact, on the same machine with the same libraries.

    Raises:
        TrainingError: the trace is too short, or nothing happens in its training part.
    """
    if len(rows) > MOST_ROWS:
        raise TrainingError(f"the trace has {len(rows):,} rows, at most {MOST_ROWS:,} are learned from; choose some with --rows")
    if len(rows) * plan.horizon > MOST_TARGETS:
        raise TrainingError(f"{len(rows):,} rows with a horizon of {plan.horizon} take more memory than is given; choose some with --rows")
    counts = np.asarray(rows, dtype=np.float64)
    if not np.all((counts >= 0) & (counts <= MOST_COUNT)):
        raise TrainingError(f"expected counts: numbers from 0 to {MOST_COUNT:g}")
    split = Split.of(len(rows), plan.shares)
    split.check(plan.window, plan.horizon)
    scale = Scale.of(counts[: split.training])
    scaled = scale.scaled(counts)
    parts = _parts(scaled.astype(np.float32), split, plan)
    tell(
        f"{plan.model}: {len(rows):,} rows of {step_seconds:g} s: {split.training:,} to train, {split.validation:,} to validate, "
        f"{split.test:,} to test; from {plan.window} samples to {plan.horizon} steps"
    )
    # threads for arrays as small as these wait for each other more than they work
    with threadpool_limits(limits=1):
        found = _fitted(scaled[: split.training], parts, plan, tell)
        judged, residuals = _judged(found, parts, scale)
    weights = packed(found.arrays)
    manifest = Manifest(
        model=cast("ModelName", plan.model),
        window=plan.window,
        horizon=plan.horizon,
        step_seconds=step_seconds,
        scaler=Scaler(low=scale.low, high=scale.high, mean=scale.mean, deviation=scale.deviation),
        parameters=found.parameters,
        learning=Learning(
            seed=plan.seed,
            training_rows=split.training,
            validation_rows=split.validation,
            test_rows=split.test,
            **found.course,
        ),
        trace=Trace(name=trace[-255:], sha256=hashlib.sha256(counts.astype("<f8").tobytes()).hexdigest()),
        metrics=judged,
        residuals=residuals,
        libraries=_libraries(),
        weights=Weights(sha256=hashlib.sha256(weights).hexdigest(), bytes=len(weights)),
    )
    return Trained(manifest, weights)


@dataclass(frozen=True, slots=True)
class _Parts:
    training: Examples
    validation: Examples
    test: Examples


@dataclass(frozen=True, slots=True)
class _Found:
    form: Form
    arrays: Arrays
    parameters: Recurrent | Autoregressive | Vectors
    course: Mapping[str, Any] = field(default_factory=dict)
    """How a network learned, by field of `Learning`."""


def _parts(values: NDArray[np.float32], split: Split, plan: Plan) -> _Parts:
    first, second = split.training, split.training + split.validation
    edges = ((0, first), (first, second), (second, len(values)))
    return _Parts(*(Examples.within(values, begin, end, plan.window, plan.horizon) for begin, end in edges))


def _fitted(scaled: NDArray[np.float64], parts: _Parts, plan: Plan, tell: Tell) -> _Found:
    if plan.model == "arima":
        order, coefficients = arima.fitted(scaled, parts.validation, tell)
        return _Found(order, coefficients, Autoregressive(p=order.p, d=order.d, q=order.q))
    if plan.model == "svr":
        kernel, vectors = support_vectors.fitted(parts.training, parts.validation, tell)
        return _Found(kernel, vectors, Vectors(vectors=kernel.vectors, gamma=kernel.gamma))

    def say(epoch: Epoch) -> None:
        best = "" if epoch.best == epoch.number else f" (best in epoch {epoch.best})"
        tell(f"epoch {epoch.number} of {course.epochs}: training {epoch.training:.6g}, validation {epoch.validation:.6g}{best}")

    course, architecture = plan.course, network(plan.model, plan.units, plan.layers, plan.horizon)
    arrays, best = learned(architecture, parts.training, parts.validation, course, np.random.default_rng(plan.seed), say)
    known = {"epochs": best.number, "learning_rate": course.learning_rate, "batch": course.batch}
    return _Found(architecture, arrays, Recurrent(units=plan.units, layers=plan.layers), known)


def _judged(found: _Found, parts: _Parts, scale: Scale) -> tuple[Judged, Residuals]:
    """What it is wrong by where it was not fitted, and what its intervals are worth where nothing of it comes from."""
    validation, test = (errors(found.form, found.arrays, part) for part in (parts.validation, parts.test))
    horizons = knots(parts.test.horizon)
    sums = np.cumsum(validation, axis=1) * scale.span
    kept = [offsets(sums[:, ahead - 1].tolist(), LEVELS, ahead, memory=math.inf) for ahead in horizons]
    low, high = offsets(sums[:, -1].tolist(), _INTERVAL, horizons[-1], memory=math.inf)
    whole = test.sum(axis=1) * scale.span
    covered = float(np.mean((low <= whole) & (whole <= high)))
    naive = parts.test.targets(slice(None)) - parts.test.inputs(slice(None))[:, -1:]
    judged = Judged(
        validation=_metrics(validation, scale),
        test=_metrics(test, scale, covered),
        naive_test=_metrics(naive.astype(np.float64), scale),
    )
    return judged, Residuals(levels=list(LEVELS), horizons=horizons, offsets=kept)


def _metrics(wrong: NDArray[np.float64], scale: Scale, covered: float | None = None) -> Metrics:
    rmse, mae = math.sqrt(float(np.square(wrong).mean())), float(np.abs(wrong).mean())
    unit = scale.span / scale.deviation
    return Metrics(rmse=rmse, mae=mae, z_rmse=rmse * unit, z_mae=mae * unit, covered=covered)


def _libraries() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in ("pasps", *_LIBRARIES):
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found
