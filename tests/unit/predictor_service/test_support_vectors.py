"""Support vector regression: ours says what scikit-learn's says, and a curve is learned."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVR

from predictor_service.trained.examples import Examples, errors
from predictor_service.trained.support_vectors import Kernel, fitted


def wave(first: int, last: int, noise: float = 0.0) -> Examples:
    values = 0.5 + 0.4 * np.sin(np.arange(400) / 4) + np.random.default_rng(1).normal(0, noise or 1e-9, 400)
    return Examples.within(values.astype(np.float32), first, last, 8, 3)


def test_forecasts_are_those_of_the_library() -> None:
    training = wave(0, 200)
    inputs, targets = training.inputs(slice(None)).astype(float), training.targets(slice(None))[:, 0].astype(float)
    library = SVR(gamma=0.7, C=2.0, epsilon=0.01).fit(inputs, targets)
    kernel = Kernel(len(library.support_), 0.7, 8, 1)
    arrays = {"vectors": library.support_vectors_, "coefficients": library.dual_coef_.T, "intercepts": library.intercept_}
    assert {name: array.shape for name, array in arrays.items()} == kernel.shapes()
    assert kernel.predictions(arrays, inputs[:7])[:, 0] == pytest.approx(library.predict(inputs[:7]))


def test_a_wave_is_learned() -> None:
    heard: list[str] = []
    validation = wave(200, 300)
    kernel, arrays = fitted(wave(0, 200), validation, heard.append)
    assert {name: array.shape for name, array in arrays.items()} == kernel.shapes()
    assert np.square(errors(kernel, arrays, validation)).mean() < 0.002  # its variance is 0.08
    assert heard[-1] == "3 of 3 steps are fitted"


def test_windows_that_count_for_nothing_are_not_kept() -> None:
    kernel, _ = fitted(wave(0, 200), wave(200, 300), lambda text: None)
    assert 1 <= kernel.vectors < 190


def test_what_never_changes_is_said_again() -> None:
    values = np.full(400, 0.25, dtype=np.float32)
    values[5] = 0.26
    kernel, arrays = fitted(Examples.within(values, 0, 200, 8, 3), Examples.within(values, 200, 300, 8, 3), lambda text: None)
    assert kernel.vectors >= 1
    assert kernel.predictions(arrays, values[np.newaxis, 300:308]) == pytest.approx(np.full((1, 3), 0.25), abs=0.01)
