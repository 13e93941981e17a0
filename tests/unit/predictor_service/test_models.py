"""Every built-in model, fitted in this process: what all of them promise, and what each is for."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

from predictor_service.forecast import MOST_GROWTH, forecast
from predictor_service.model import Model
from predictor_service.registry import builtin_models

MODELS = builtin_models()
RAMP = [10.0 + 3.0 * step for step in range(60)]
SINE = [100.0 + 50.0 * math.sin(2 * math.pi * step / 20) for step in range(100)]
FALL = [300.0 - 6.0 * step for step in range(50)]

each_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def test_the_models_of_the_paper_and_those_of_its_controllers_are_there() -> None:
    assert {"basic", "lr", "fft", "ann", "rf", "ridge", "svm", "bayesian", "gaussian", "sgd"} <= set(MODELS)


@each_model
@pytest.mark.parametrize("constant", [0.0, 7.0, 1e15, 0.1])
def test_a_constant_is_predicted_exactly(model: Model, constant: float) -> None:
    made = forecast(model, [constant] * 20, 5, 1.0)
    assert made.predictions == [constant] * 5
    assert made.warnings == []


@each_model
def test_the_least_number_of_samples_is_enough(model: Model) -> None:
    samples = [3.0, 5.0, 4.0, 6.0, 9.0, 2.0, 6.0, 5.0][: model.least_samples]
    assert len(forecast(model, samples, 4, 1.0).predictions) == 4


@each_model
def test_the_same_input_gives_the_same_answer(model: Model) -> None:
    noisy = [value + (step * 7919 % 13) for step, value in enumerate(SINE)]
    first, second = (list(model.predict(noisy, 30, 1.0)) for _ in range(2))
    assert first == second
    assert len(first) == 30


@pytest.mark.parametrize("model", [model for name, model in MODELS.items() if name != "ann-published"], ids=lambda model: model.name)
def test_the_unit_of_the_samples_does_not_matter(model: Model) -> None:
    """But for the one that divides by a thousand, as it was published."""
    thousandfold = [1000 * value for value in SINE]
    expected = [1000 * value for value in forecast(model, SINE, 10, 1.0).predictions]
    assert forecast(model, thousandfold, 10, 1.0).predictions == pytest.approx(expected, rel=1e-2)


@each_model
@settings(max_examples=4)
@given(
    st.lists(st.floats(-1e15, 1e15) | st.integers(0, 1000).map(float), min_size=8, max_size=40),
    st.integers(1, 20),
)
def test_predictions_are_finite_bounded_and_never_negative(model: Model, samples: list[float], horizon: int) -> None:
    predictions = forecast(model, samples, horizon, 1.0).predictions
    assert len(predictions) == horizon
    assert all(0 <= value <= MOST_GROWTH * max(map(abs, samples)) and type(value) is float for value in predictions)


@each_model
def test_a_fall_does_not_go_below_zero(model: Model) -> None:
    assert min(forecast(model, FALL, 30, 1.0).predictions) >= 0


def test_basic_repeats_the_last_samples_in_order() -> None:
    assert forecast(MODELS["basic"], [1.0, 2.0, 3.0, 4.0], 3, 1.0).predictions == [2.0, 3.0, 4.0]


def test_basic_repeats_the_mean_when_the_horizon_is_longer() -> None:
    assert forecast(MODELS["basic"], [1.0, 2.0, 3.0], 4, 1.0).predictions == [2.0] * 4


def test_lr_is_what_scikit_learn_computes() -> None:
    samples = [value + (step * 31 % 17) for step, value in enumerate(SINE)]
    times = np.arange(130.0).reshape(-1, 1)
    theirs = LinearRegression().fit(times[:100], samples).predict(times[100:])
    assert list(MODELS["lr"].predict(samples, 30, 1.0)) == pytest.approx(theirs.tolist(), rel=1e-9)


@pytest.mark.parametrize("name", ["lr", "ridge", "bayesian", "sgd", "ann"])
def test_a_ramp_goes_on(name: str) -> None:
    expected = [10.0 + 3.0 * step for step in range(60, 70)]
    assert forecast(MODELS[name], RAMP, 10, 1.0).predictions == pytest.approx(expected, rel=0.1)


def test_rf_stays_at_the_end_of_a_ramp() -> None:
    assert forecast(MODELS["rf"], RAMP, 10, 1.0).predictions == pytest.approx([RAMP[-1]] * 10, rel=0.05)


@pytest.mark.parametrize("name", ["fft", "basic"])
def test_whole_periods_go_on(name: str) -> None:
    assert forecast(MODELS[name], SINE, 20, 1.0).predictions == pytest.approx(SINE[:20], rel=1e-6)


@pytest.mark.parametrize("name", ["svm", "gaussian"])
def test_what_cannot_extrapolate_stays_within_the_samples(name: str) -> None:
    assert max(forecast(MODELS[name], SINE, 30, 1.0).predictions) <= 1.2 * max(SINE)


def test_a_neural_network_that_stops_at_its_limit_is_no_warning() -> None:
    noisy = [100.0 + (step * 7919 % 97) for step in range(100)]
    assert forecast(MODELS["ann"], noisy, 5, 1.0).warnings == []
