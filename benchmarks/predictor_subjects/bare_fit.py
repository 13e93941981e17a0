"""The fits themselves: `python -m benchmarks.predictor_subjects.bare_fit PATH SECONDS` prints the CPU seconds that one takes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence

import numpy as np
from sklearn.linear_model import LinearRegression

from benchmarks.predictor_subjects.request import HORIZON, SAMPLES
from predictor_service.registry import builtin_models

Fit = Callable[[Sequence[float], int], Sequence[float]]


def linear_regression(samples: Sequence[float], horizon: int) -> Sequence[float]:
    """With scikit-learn, as the published service does."""
    times = np.arange(len(samples) + horizon).reshape(-1, 1)
    predictions: list[float] = LinearRegression().fit(times[: len(samples)], samples).predict(times[len(samples) :]).tolist()
    return predictions


def _of_model(name: str) -> Fit:
    model = builtin_models()[name]
    return lambda samples, horizon: model.predict(samples, horizon, 1.0)


FITS: dict[str, Fit] = {
    "basic": _of_model("basic"),
    "linear_regression": linear_regression,
    "fft": _of_model("fft"),
    "ann": _of_model("ann"),
    "random_forest": _of_model("rf"),
}
"""The models of the paper by their path. Only the regression differs from ours, which has it in closed form."""


def main(path: str, seconds: float) -> None:
    """Fit again and again in one thread for so long, after one fit that loads the libraries."""
    fit = FITS[path]
    fit(SAMPLES, HORIZON)
    fits, began, deadline = 0, time.process_time(), time.perf_counter() + seconds
    while time.perf_counter() < deadline:
        fit(SAMPLES, HORIZON)
        fits += 1
    print((time.process_time() - began) / fits)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
