"""ARIMA(p, d, q) with a mean, by conditional least squares; its order is the one that forecasts the validation part best.

Forecasts need numpy alone; scipy is loaded for a fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from predictor_service.trained.examples import Examples, errors
from predictor_service.trained.form import Array, Arrays

LAGS = (0, 1, 2, 3, 6, 12)
DIFFERENCES = (0, 1)
SHOCKS = (0, 1, 2)
"""Orders that are tried: p, d and q."""


@dataclass(frozen=True, slots=True)
class Order:
    """p lags of the series, differenced d times (0 or 1), and q of what was unexpected."""

    p: int
    d: int
    q: int
    horizon: int

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """See `Form`."""
        return {"lags": (self.p,), "shocks": (self.q,), "mean": (1,)}

    def predictions(self, arrays: Arrays, windows: Array) -> Array:
        """See `Form`. Before a window everything is taken to have been as on average."""
        mean = float(arrays["mean"][0])
        lags, shocks = arrays["lags"].astype(np.float64), arrays["shocks"].astype(np.float64)
        series = windows.astype(np.float64)
        last = series[:, -1:]
        if self.d:
            series = np.diff(series, axis=1)
        known = self.p + series.shape[1]
        path = np.pad(series - mean, ((0, 0), (self.p, self.horizon)))
        unexpected = np.zeros_like(path)
        for at in range(self.p, path.shape[1]):
            first = max(self.p, at - self.q)
            expected = path[:, at - self.p : at][:, ::-1] @ lags + unexpected[:, first:at][:, ::-1] @ shocks[: at - first]
            if at < known:
                unexpected[:, at] = path[:, at] - expected
            else:
                path[:, at] = expected
        coming: Array = path[:, known:] + mean
        return last + np.cumsum(coming, axis=1) if self.d else coming


def fitted(training: NDArray[np.float64], validation: Examples, tell: Callable[[str], None]) -> tuple[Order, dict[str, Array]]:
    """The order that is best on the validation part, and its coefficients."""
    best: tuple[float, Order, dict[str, Array]] | None = None
    for order in _orders(validation.window, validation.horizon):
        arrays = coefficients(training, order)
        if arrays is None:
            continue
        wrong = float(np.square(errors(order, arrays, validation)).mean())
        if math.isfinite(wrong) and (best is None or wrong < best[0]):
            best = wrong, order, arrays
            tell(f"ARIMA({order.p}, {order.d}, {order.q}): validation {wrong:.6g}, the best so far")
    assert best is not None  # (0, 0, 0), the mean, is always among them
    return best[1], best[2]


def _orders(window: int, horizon: int) -> Iterator[Order]:
    return (Order(p, d, q, horizon) for d in DIFFERENCES for p in LAGS for q in SHOCKS if p + d < window)


def coefficients(series: NDArray[np.float64], order: Order) -> dict[str, Array] | None:
    """Those that leave the least unexpected, each step known to the next; None: they would let it grow without end."""
    from scipy.optimize import least_squares
    from scipy.signal import lfilter

    steps = np.diff(series) if order.d else series
    mean = float(steps.mean())
    scale = float(steps.std()) or 1.0
    centred = (steps - mean) / scale

    def unexpected(values: NDArray[np.float64]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = lfilter([1.0, *-values[: order.p]], [1.0, *values[order.p :]], centred)[order.p :]
        return np.clip(np.nan_to_num(found, nan=1e6, posinf=1e6, neginf=-1e6), -1e6, 1e6)

    values = np.asarray(_first_guess(centred, order), dtype=np.float64)
    if order.p + order.q:
        values = least_squares(unexpected, values, max_nfev=100).x
    lags, shocks = values[: order.p], values[order.p :]
    if _largest_root(-lags) >= 1.0 or _largest_root(shocks) >= 1.0:
        return None
    found = {"lags": lags, "shocks": shocks, "mean": np.array([mean])}
    # what is judged is what is kept
    return {name: kept.astype(np.float32) for name, kept in found.items()}


def _first_guess(centred: NDArray[np.float64], order: Order) -> list[float]:
    """By Hannan and Rissanen: a long autoregression says what was unexpected, and least squares do the rest."""
    count = len(centred)
    long = min(count // 4, 20 + order.p)
    if not order.p + order.q or count <= 2 * (long + order.q + order.p):
        return [0.0] * (order.p + order.q)
    shocks = np.zeros(count)
    if order.q:
        past = _lagged(centred, long)
        shocks[long:] = centred[long:] - past @ np.linalg.lstsq(past, centred[long:], rcond=None)[0]
    first = long + order.q if order.q else order.p
    columns = [centred[first - lag : count - lag] for lag in range(1, order.p + 1)]
    columns += [shocks[first - lag : count - lag] for lag in range(1, order.q + 1)]
    guess: list[float] = np.linalg.lstsq(np.stack(columns, axis=1), centred[first:], rcond=None)[0].tolist()
    # least squares start where nothing explodes
    shocked = np.asarray(guess[order.p :])
    return guess if _largest_root(shocked) < 1.0 else [*guess[: order.p], *[0.0] * order.q]


def _lagged(series: NDArray[np.float64], lags: int) -> NDArray[np.float64]:
    return np.lib.stride_tricks.sliding_window_view(series, lags)[:-1, ::-1]


def _largest_root(values: NDArray[np.float64]) -> float:
    """Of z^n + v1 z^(n-1) + ... + vn, by its distance from 0."""
    roots = np.roots([1.0, *values])
    return float(np.abs(roots).max()) if len(roots) else 0.0
