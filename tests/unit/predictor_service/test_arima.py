"""ARIMA: coefficients that were put in come out, orders that suit are chosen, and forecasts follow by hand."""

from __future__ import annotations

import numpy as np
import pytest

from predictor_service.trained.arima import Order, coefficients, fitted
from predictor_service.trained.examples import Examples, errors


def series(lags: list[float], shocks: list[float], count: int = 4_000, mean: float = 0.4, seed: int = 1) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(0, 0.05, count + 100)
    made = np.zeros(count + 100)
    for at in range(5, count + 100):
        made[at] = noise[at]
        made[at] += sum(weight * made[at - 1 - lag] for lag, weight in enumerate(lags))
        made[at] += sum(weight * noise[at - 1 - lag] for lag, weight in enumerate(shocks))
    return made[100:] + mean


@pytest.mark.parametrize(("lags", "shocks"), [([0.7], []), ([1.2, -0.5], []), ([], [0.6]), ([0.8], [-0.4]), ([0.6, 0.2], [0.3, 0.2])])
def test_coefficients_that_were_put_in_come_out(lags: list[float], shocks: list[float]) -> None:
    found = coefficients(series(lags, shocks), Order(len(lags), 0, len(shocks), 1))
    assert found is not None
    assert found["lags"] == pytest.approx(lags, abs=0.12)
    assert found["shocks"] == pytest.approx(shocks, abs=0.12)
    assert found["mean"] == pytest.approx([0.4], abs=0.03)


def test_a_difference_is_summed_again() -> None:
    order, arrays = Order(0, 1, 0, 3), {"lags": np.empty(0), "shocks": np.empty(0), "mean": np.array([0.5])}
    assert order.predictions(arrays, np.array([[1.0, 2.0, 4.0]])).tolist() == [[4.5, 5.0, 5.5]]


def test_an_autoregression_goes_back_to_its_mean() -> None:
    order, arrays = Order(1, 0, 0, 3), {"lags": np.array([0.5]), "shocks": np.empty(0), "mean": np.array([1.0])}
    assert order.predictions(arrays, np.array([[9.0, 5.0]])).tolist() == [[3.0, 2.0, 1.5]]


def test_a_moving_average_knows_its_last_shock_alone() -> None:
    order, arrays = Order(0, 0, 1, 2), {"lags": np.empty(0), "shocks": np.array([0.5]), "mean": np.array([1.0])}
    # shocks: 1, then 2 - 0.5 * 1 = 1.5
    assert order.predictions(arrays, np.array([[2.0, 3.0]])).tolist() == [[1.75, 1.0]]


def test_more_lags_than_samples_take_the_mean_for_what_is_not_known() -> None:
    order, arrays = Order(3, 0, 0, 1), {"lags": np.array([0.5, 0.25, 0.25]), "shocks": np.empty(0), "mean": np.array([1.0])}
    assert order.predictions(arrays, np.array([[3.0]])).tolist() == [[2.0]]


def test_the_order_that_forecasts_best_is_chosen() -> None:
    values = series([1.5, -0.9], [], 800)
    validation = Examples.within(values.astype(np.float32), 600, 800, 30, 6)
    heard: list[str] = []
    order, arrays = fitted(values[:600], validation, heard.append)
    assert order.p >= 2
    assert order.d == 0
    white = np.square(errors(Order(0, 0, 0, 6), {"lags": np.empty(0), "shocks": np.empty(0), "mean": np.array([0.4])}, validation)).mean()
    assert np.square(errors(order, arrays, validation)).mean() < 0.7 * white
    assert heard[0].startswith("ARIMA(0, 0, 0): validation ")


def test_a_series_that_hardly_changes_has_one_too() -> None:
    values = np.zeros(400)
    values[200] = 1.0
    order, arrays = fitted(values[:300], Examples.within(values.astype(np.float32), 300, 400, 10, 3), lambda text: None)
    assert np.isfinite(order.predictions(arrays, np.zeros((1, 10)))).all()


def test_an_order_that_cannot_be_kept_is_left_out() -> None:
    assert coefficients(np.cumsum(np.cumsum(np.random.default_rng(1).normal(size=500))), Order(3, 0, 0, 1)) is None


def test_a_window_has_room_for_the_lags_of_every_order() -> None:
    values = series([0.7], [], 200)
    order, _ = fitted(values[:150], Examples.within(values.astype(np.float32), 150, 200, 2, 1), lambda text: None)
    assert order.p + order.d < 2


def test_coefficients_are_those_of_statsmodels() -> None:
    arima = pytest.importorskip("statsmodels.tsa.arima.model", reason="statsmodels comes with Darts")
    values = series([0.7, -0.2], [0.4], 1_500)
    ours = coefficients(values, Order(2, 0, 1, 1))
    assert ours is not None
    theirs = arima.ARIMA(values, order=(2, 0, 1)).fit()
    assert ours["lags"] == pytest.approx(theirs.arparams, abs=0.03)
    assert ours["shocks"] == pytest.approx(theirs.maparams, abs=0.03)
