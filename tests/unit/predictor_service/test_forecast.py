"""What becomes of a model's answer, whatever it is."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence

import pytest

from predictor_service.errors import ModelError
from predictor_service.forecast import Forecast, forecast, past_forecasts
from predictor_service.model import Backtest, Model

SAMPLES = [1.0, 2.0, 3.0]


def answering(*values: float) -> Model:
    return Model(name="told", about="", predict=lambda samples, horizon, step_seconds: values)


def made(model: Model, horizon: int = 3) -> Forecast:
    return forecast(model, SAMPLES, horizon, 1.0)


def test_good_predictions_are_left_as_they_are() -> None:
    result = made(answering(1, 2.5, 0))
    assert result.predictions == [1.0, 2.5, 0.0]
    assert result.warnings == []
    assert result.fit_seconds >= 0


def test_what_is_below_zero_is_zero_and_said() -> None:
    result = made(answering(-1, 2, -0.5))
    assert result.predictions == [0.0, 2.0, 0.0]
    assert result.warnings == ["2 of 3 predictions were below 0 and are 0"]


def test_an_explosion_is_bounded_and_said() -> None:
    result = made(answering(1, 1e9, 2))
    assert result.predictions == [1.0, 3000.0, 2.0]
    assert result.warnings == ["1 of 3 predictions were above 1000 times the largest sample and are 3000"]


def test_a_negative_constant_is_zero() -> None:
    assert forecast(answering(), [-2.0, -2.0], 2, 1.0).predictions == [0.0, 0.0]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ((math.nan, 1, 1), "NaN or infinity"),
        ((math.inf, 1, 1), "NaN or infinity"),
        ((1, 1), "expected 3 predictions, got 2"),
        ((), "expected 3 predictions, got 0"),
    ],
)
def test_what_is_no_forecast_is_the_models_error(values: Sequence[float], told: str) -> None:
    with pytest.raises(ModelError, match=told):
        made(answering(*values))


def raising(error: BaseException) -> Callable[[Sequence[float], int, float], Sequence[float]]:
    def predict(samples: Sequence[float], horizon: int, step_seconds: float) -> Sequence[float]:
        raise error

    return predict


@pytest.mark.parametrize("error", [ZeroDivisionError("x"), MemoryError(), ImportError("No module named 'darts'")])
def test_a_model_that_raises_is_named_with_its_error(error: Exception) -> None:
    with pytest.raises(ModelError, match=f"model 'broken' failed on this input: {type(error).__name__}"):
        made(Model(name="broken", about="", predict=raising(error)))


def test_warnings_of_a_fit_are_told_once_and_those_for_developers_not_at_all() -> None:
    def predict(samples: Sequence[float], horizon: int, step_seconds: float) -> Sequence[float]:
        for _ in range(3):
            warnings.warn("values  are\nodd", UserWarning, stacklevel=1)
        warnings.warn("use another name", DeprecationWarning, stacklevel=1)
        return [1.0] * horizon

    assert made(Model(name="odd", about="", predict=predict)).warnings == ["UserWarning: values are odd"]


def test_the_step_reaches_the_model() -> None:
    model = Model(name="clock", about="", predict=lambda samples, horizon, step_seconds: [step_seconds] * horizon)
    assert forecast(model, SAMPLES, 2, 30.0).predictions == [30.0, 30.0]


# ---- what it would have said


def looking_back(backtest: Backtest | None) -> Model:
    """As now; its own account of the past may be another."""
    return Model(name="told", about="", predict=lambda samples, horizon, step_seconds: [samples[-1]] * horizon, backtest=backtest)


def test_the_past_of_a_model_is_fitted_anew_or_told_by_it() -> None:
    samples = [1.0, 2.0, 3.0, 4.0, 5.0]
    assert past_forecasts(looking_back(None), samples, [2, 4], 2, 1.0) == [[2.0, 2.0], [4.0]]
    told = looking_back(lambda samples, origins, horizon, step_seconds: [[10.0 * known] * horizon for known in origins])
    assert past_forecasts(told, samples, [2, 4], 2, 1.0) == [[20.0, 20.0], [40.0, 40.0]]
    assert past_forecasts(told, samples, [], 2, 1.0) == []


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ([[1.0, 1.0]], "expected 2 past forecasts of 2 steps"),
        ([[1.0], [1.0]], "expected 2 past forecasts of 2 steps"),
        ([[1.0, 1.0], [1.0, math.nan]], "NaN or infinity"),
        ([["a", 1.0], [1.0, 1.0]], "failed on this input: ValueError"),
    ],
)
def test_a_past_that_is_none_is_the_models_error(said: list[list[float]], told: str) -> None:
    with pytest.raises(ModelError, match=told):
        past_forecasts(looking_back(lambda samples, origins, horizon, step_seconds: said), SAMPLES, [1, 2], 2, 1.0)


def test_a_past_below_zero_or_beyond_all_is_bounded() -> None:
    told = looking_back(lambda samples, origins, horizon, step_seconds: [[-1.0, 1e9]])
    assert past_forecasts(told, SAMPLES, [1], 2, 1.0) == [[0.0, 3000.0]]
