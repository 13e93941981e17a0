"""Models that learn sample by sample: what each makes of series that nobody hopes for, and what each is for."""

from __future__ import annotations

import math
import random
import warnings

import pytest

from predictor_service.forecast import forecast
from predictor_service.model import Model
from predictor_service.online import Autoregression, Filtered, Naive, Smoothed, damped, inverse_weights, kalman, simple, theta
from predictor_service.registry import builtin_models

CHEAP = {name: model for name, model in builtin_models().items() if model.online is not None}
NEW = {**CHEAP, "gbm": builtin_models()["gbm"]}
WITHOUT_LIBRARY = {"naive", "ses", "holt", "theta", "kalman", "ensemble"}

each_new = pytest.mark.parametrize("model", NEW.values(), ids=NEW)
each_cheap = pytest.mark.parametrize("model", CHEAP.values(), ids=CHEAP)

_random = random.Random(1)
NOISE = [max(0.0, 100 + 20 * _random.gauss(0, 1)) for _ in range(600)]
SERIES = {
    "constant": [7.0] * 60,
    "zeros": [0.0] * 60,
    "zeros, then one": [0.0] * 59 + [1.0],
    "huge": [1e15 * (1 + step % 3) / 3 for step in range(60)],
    "one spike": [5.0] * 40 + [1e6] + [5.0] * 40,
    "whole numbers": [float(step * 7919 % 13) for step in range(80)],
    "a fall to nothing": [max(0.0, 300.0 - 6 * step) for step in range(80)],
    "tiny": [1e-300 * (1 + step % 2) for step in range(40)],
    "all but now": [9.0] * 60 + [0.0],
}


def taught(model: Model, samples: list[float]) -> list[float]:
    assert model.online is not None
    online = model.online(1.0, [30])
    for sample in samples:
        online.update(sample)
    return online.means(30)


def test_the_cheap_models_are_those_that_learn_sample_by_sample() -> None:
    assert set(CHEAP) >= WITHOUT_LIBRARY | {"ar"}


@each_new
@pytest.mark.parametrize("name", SERIES)
def test_any_series_is_answered_without_a_warning_and_not_below_zero(model: Model, name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        predictions = [float(value) for value in model.predict(SERIES[name], 30, 1.0)]
    assert len(predictions) == 30
    assert all(map(math.isfinite, predictions))
    made = forecast(model, SERIES[name], 30, 1.0)
    assert min(made.predictions) >= 0
    assert made.warnings == [] or model.name == "gbm"  # a tree may go a little below


@each_new
def test_the_least_samples_are_enough_for_a_long_horizon(model: Model) -> None:
    made = forecast(model, [3.0, 5.0, 4.0, 6.0, 9.0, 2.0, 6.0, 5.0][: model.least_samples], 200, 1.0)
    assert len(made.predictions) == 200


@each_cheap
def test_a_cheap_model_is_never_below_zero_by_itself(model: Model) -> None:
    assert min(taught(model, SERIES["a fall to nothing"][:40])) >= 0


@each_cheap
@pytest.mark.parametrize("name", SERIES)
@pytest.mark.parametrize("horizon", [1, 5, 60])
def test_the_total_is_the_sum_of_the_means(model: Model, name: str, horizon: int) -> None:
    assert model.online is not None
    online = model.online(1.0, [30])
    for sample in SERIES[name]:
        online.update(sample)
        assert online.total(horizon) == pytest.approx(math.fsum(online.means(horizon)), rel=1e-9, abs=1e-9)


@each_cheap
def test_it_says_the_same_whether_or_not_it_was_asked_before(model: Model) -> None:
    assert model.online is not None
    asked = model.online(1.0, [30])
    for sample in NOISE[:120]:
        asked.update(sample)
        asked.total(5)
    # the autoregression fits each ten samples, and when it is first asked
    assert asked.means(30) == pytest.approx(list(model.predict(NOISE[:120], 30, 1.0)), rel=0.1)


@pytest.mark.parametrize(("name", "near"), [("ses", 0.15), ("theta", 0.15), ("kalman", 0.15), ("ensemble", 0.3), ("ar", 0.15)])
def test_of_noise_about_a_level_the_level_is_expected(name: str, near: float) -> None:
    assert math.fsum(taught(CHEAP[name], NOISE)) / 30 == pytest.approx(100, rel=near)


@pytest.mark.parametrize("name", ["holt", "kalman", "theta"])
def test_a_trend_goes_on(name: str) -> None:
    ramp = [10.0 + 3.0 * step for step in range(120)]
    assert taught(CHEAP[name], ramp)[:5] == pytest.approx([10.0 + 3.0 * step for step in range(120, 125)], rel=0.05)


def test_naive_is_as_now() -> None:
    assert taught(CHEAP["naive"], [1.0, 8.0, 3.0]) == [3.0] * 30


def test_a_step_is_followed_by_the_smoothing_that_is_fast_enough() -> None:
    model = simple()
    for sample in [10.0] * 50 + [20.0] * 5:
        model.update(sample)
    assert model.best.alpha == 0.7
    assert model.means(1)[0] == pytest.approx(20, rel=0.01)


def test_damping_bends_a_trend() -> None:
    line = Smoothed(1.0, 1.0, 0.5)
    for sample in (0.0, 8.0):
        line.update(sample)
    assert line.means(3) == [12.0, 14.0, 15.0]
    assert line.total(3) == 41.0


def test_a_filter_believes_its_first_samples_more_than_the_later_ones() -> None:
    line = Filtered(0.003, 0.0, 1.0)
    line.update(10.0)
    assert line.level == 10.0
    line.update(20.0)
    first = line.level - 10.0
    for _ in range(200):
        line.update(10.0)
    before = line.level
    line.update(before + 10.0)
    assert line.level - before < first / 2


def test_autoregression_learns_what_follows_what() -> None:
    model = Autoregression(1.0)
    for step in range(200):
        model.update(float(step % 4 == 0) * 40)
    assert model.means(8) == pytest.approx([40, 0, 0, 0, 40, 0, 0, 0], abs=2)


def test_autoregression_knows_the_time_of_day_where_the_samples_hold_two_days() -> None:
    hourly = [100 + 50 * math.sin(2 * math.pi * hour / 24) + _random.gauss(0, 5) for hour in range(24 * 10)]
    model = Autoregression(3600.0)
    for sample in hourly:
        model.update(sample)
    assert model.means(24) == pytest.approx([100 + 50 * math.sin(2 * math.pi * hour / 24) for hour in range(24)], abs=15)


def test_weights_go_as_the_inverse_and_who_is_never_wrong_has_all() -> None:
    assert inverse_weights([1.0, 2.0], 2) == [0.8, 0.2]
    assert inverse_weights([0.0, 2.0, 0.0], 2) == [0.5, 0.0, 0.5]
    assert inverse_weights([0.0, 0.0], 2) == [0.5, 0.5]
    assert sum(inverse_weights([1e-200, 1e15, 3.0], 8)) == pytest.approx(1)


def test_nobody_needs_a_library_but_the_autoregression() -> None:
    for make in (Naive, simple, damped, theta, kalman):
        model = make()
        for sample in NOISE[:20]:
            model.update(sample)
        assert model.total(10) == pytest.approx(math.fsum(model.means(10)))


@pytest.mark.parametrize("growth", [1.3, 2.0, -1.4])
@each_new
def test_what_grows_without_end_is_forecast_however_far(model: Model, growth: float) -> None:
    said = forecast(model, [growth**step for step in range(49)], 10_000, 1.0)
    assert all(math.isfinite(step) and step >= 0 for step in said.predictions)
    assert len(said.predictions) == 10_000
