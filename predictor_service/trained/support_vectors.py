"""Support vector regression with Gaussian kernels, one for each coming step over the same windows.

Fitted by scikit-learn, which is loaded for that; forecasts are a few products and need numpy alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from predictor_service.trained.examples import Examples
from predictor_service.trained.form import Array, Arrays

MOST_VECTORS = 3_000
"""A fit takes the square of the number of windows; of more than these it gets every second, third, ..."""
WIDTHS = (0.1, 0.3, 1.0, 3.0)
"""Of a kernel, as shares of the inverse of what windows differ by."""
COSTS = (1.0, 10.0)
"""Of an error, in units of what the steps differ by."""
_TOLERATED = 0.1
"""An error that is smaller, in the same units, costs nothing."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """How near two windows are: exp(-gamma |a - b|^2); `vectors` windows stand for all that was learned."""

    vectors: int
    gamma: float
    window: int
    horizon: int

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """See `Form`."""
        return {"vectors": (self.vectors, self.window), "coefficients": (self.vectors, self.horizon), "intercepts": (self.horizon,)}

    def predictions(self, arrays: Arrays, windows: Array) -> Array:
        """See `Form`."""
        near = _near(windows.astype(np.float64), arrays["vectors"].astype(np.float64), self.gamma)
        said: Array = near @ arrays["coefficients"].astype(np.float64) + arrays["intercepts"]
        return said


def _near(some: NDArray[np.float64], others: NDArray[np.float64], gamma: float) -> NDArray[np.float64]:
    squares = np.square(some).sum(axis=1)[:, np.newaxis] + np.square(others).sum(axis=1)
    apart = np.maximum(squares - 2.0 * (some @ others.T), 0.0)
    near: NDArray[np.float64] = np.exp(-gamma * apart)
    return near


def fitted(training: Examples, validation: Examples, tell: Callable[[str], None]) -> tuple[Kernel, dict[str, Array]]:
    """Kernel and cost that are best on the validation part, the same for all steps; and the arrays."""
    known, validation = training.thinned(MOST_VECTORS), validation.thinned(MOST_VECTORS)
    inputs, targets = known.inputs(slice(None)).astype(np.float64), known.targets(slice(None)).astype(np.float64)
    looked_at = sorted({0, (training.horizon - 1) // 2, training.horizon - 1})
    base = 1.0 / (training.window * float(inputs.var()) or 1.0)
    best: tuple[float, float, float] | None = None
    for gamma in (base * width for width in WIDTHS):
        gram = _near(inputs, inputs, gamma)
        seen = _near(validation.inputs(slice(None)).astype(np.float64), inputs, gamma)
        for cost in COSTS:
            wrong = 0.0
            for (coefficients, intercept), step in zip(_regressions(gram, targets, looked_at, cost), looked_at, strict=True):
                wrong += float(np.square(seen @ coefficients + intercept - validation.targets(slice(None))[:, step]).mean())
            if math.isfinite(wrong) and (best is None or wrong < best[0]):
                best = wrong, gamma, cost
                tell(f"gamma {gamma:.4g}, C {cost:g}: validation {wrong / len(looked_at):.6g}, the best so far")
    assert best is not None  # a regression is finite
    _, gamma, cost = best
    gram = _near(inputs, inputs, gamma)
    found = []
    for step, one in enumerate(_regressions(gram, targets, range(training.horizon), cost), 1):
        found.append(one)
        if step % 10 == 0 or step == training.horizon:
            tell(f"{step} of {training.horizon} steps are fitted")
    coefficients = np.stack([column for column, _ in found], axis=1)
    used = np.abs(coefficients).max(axis=1) > 0
    used[0] = True  # there is always one
    arrays = {
        "vectors": inputs[used].astype(np.float32),
        "coefficients": coefficients[used].astype(np.float32),
        "intercepts": np.array([intercept for _, intercept in found], dtype=np.float32),
    }
    return Kernel(int(used.sum()), gamma, training.window, training.horizon), arrays


def _regressions(
    gram: NDArray[np.float64], targets: NDArray[np.float64], steps: Sequence[int], cost: float
) -> Iterator[tuple[NDArray[np.float64], float]]:
    """For each of the steps what each window weighs, and what is added."""
    from sklearn.svm import SVR

    for step in steps:
        spread = float(targets[:, step].std()) or 1.0
        middle = float(targets[:, step].mean())
        regression = SVR(kernel="precomputed", C=cost, epsilon=_TOLERATED).fit(gram, (targets[:, step] - middle) / spread)
        weights = np.zeros(len(gram))
        weights[regression.support_] = regression.dual_coef_[0]
        yield weights * spread, float(regression.intercept_[0]) * spread + middle
