"""`pasps predictor train`: a trace's rows to the service's own training, in this process, and the artifact to where it was wanted."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from pasps.cli import exit_codes
from pasps.cli.trace_rows import rows_of
from pasps.cli.words import table
from pasps.clock import SystemClock
from pasps.errors import InvalidError
from predictor_service.errors import TrainingError
from predictor_service.trained.artifact import check_free, write
from predictor_service.trained.learning import Course
from predictor_service.trained.manifest import Manifest, Metrics
from predictor_service.trained.training import Plan, Trained
from predictor_service.trained.training import train as trained

_HEAD = ("", "RMSE", "MAE", "RMSE, z-score", "MAE, z-score")


def train(options: argparse.Namespace) -> int:
    """Train, write, and say how good it is.

    Raises:
        InvalidError: a wrong option, trace or directory.
    """
    clock = SystemClock()
    began = clock.now()
    path = Path(options.out)
    try:
        # what takes minutes must not fail at its end
        check_free(path, overwrite=options.overwrite)
        found = _trained(options)
        write(found.manifest, found.weights, path, overwrite=options.overwrite)
    except TrainingError as error:
        raise InvalidError(str(error)) from error
    seconds = clock.now() - began
    print(json.dumps(as_json(path, found, seconds)) if options.json else text_of(path, found, seconds))
    return exit_codes.OK


def _trained(options: argparse.Namespace) -> Trained:
    course = Course(epochs=options.epochs, batch=options.batch, learning_rate=options.learning_rate)
    plan = Plan(
        model=options.model,
        window=options.window,
        horizon=options.horizon,
        shares=options.split,
        seed=options.seed,
        units=options.units,
        layers=options.layers,
        course=course,
    )
    rows = rows_of(options)
    return trained(rows.counts, rows.step_seconds, Path(options.trace).name, plan, _nowhere if options.quiet else _to_stderr)


def _to_stderr(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _nowhere(text: str) -> None:
    pass


def text_of(path: Path, found: Trained, seconds: float) -> str:
    """What was made, and how good it is."""
    manifest = found.manifest
    metrics = manifest.metrics
    rows = [_row("validation", metrics.validation), _row("test", metrics.test), _row("test, as now", metrics.naive_test)]
    best = "" if manifest.learning.epochs is None else f", best in epoch {manifest.learning.epochs}"
    return "\n".join(
        [
            f"artifact {path}: {manifest.model}, from {manifest.window} samples to {manifest.horizon} steps of {manifest.step_seconds:g} s",
            f"{len(found.weights):,} bytes of weights; trained in {seconds:.0f} s{best}",
            "",
            *table(_HEAD, rows, (0,)),
            "",
            f"80% interval: {metrics.test.covered or 0.0:.0%} of the test's sums over {manifest.horizon} steps lay within it",
        ]
    )


def _row(name: str, metrics: Metrics) -> list[str]:
    return [name, *(f"{value:.4f}" for value in (metrics.rmse, metrics.mae, metrics.z_rmse, metrics.z_mae))]


def as_json(path: Path, found: Trained, seconds: float) -> dict[str, object]:
    """The same for programs: the manifest but for its table of residuals."""
    manifest: Manifest = found.manifest
    return {"artifact": str(path), "seconds": seconds, **manifest.model_dump(exclude={"residuals"})}
