"""A scikit-learn regressor on the time index as a model: what most files in `models/` need."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from predictor_service.model import MOST_SAMPLES, Cost, Model

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def regression_model(
    name: str,
    estimator: str,
    about: str,
    *,
    parameters: Mapping[str, object] | None = None,
    scaled: bool = True,
    most_samples: int = MOST_SAMPLES,
    cost: Cost = "heavy",
) -> Model:
    """The model that fits `estimator` ("module:Class") with `parameters`, its other ones at their defaults."""
    parameters = parameters or {}
    return Model(
        name=name,
        about=about + (", on scaled time and values" if scaled else ""),
        predict=TimeRegression(estimator, parameters, scaled),
        parameters=parameters,
        least_samples=2,
        most_samples=most_samples,
        cost=cost,
    )


@dataclass(frozen=True, slots=True)
class TimeRegression:
    """Fits the estimator, which is loaded at the first call, to the samples over their indices, and asks it for the next ones.

    With `scaled`, times and values are brought to mean 0 and deviation 1 first, for estimators that depend on their unit.
    """

    estimator: str
    parameters: Mapping[str, object]
    scaled: bool

    def __call__(self, samples: Sequence[float], horizon: int, step_seconds: float) -> Sequence[float]:
        import numpy as np
        from sklearn.exceptions import ConvergenceWarning

        count = len(samples)
        times = np.arange(count + horizon, dtype=np.float64)
        values = np.asarray(samples, dtype=np.float64)
        middle, spread = _scale(values) if self.scaled else (0.0, 1.0)
        if self.scaled:
            times = (times - times[:count].mean()) / times[:count].std()
        column = times.reshape(-1, 1)
        with warnings.catch_warnings():
            # a default's limit of iterations is how the fit is meant to end
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted = resolve_name(self.estimator)(**self.parameters).fit(column[:count], (values - middle) / spread)
        predictions: list[float] = (fitted.predict(column[count:]) * spread + middle).tolist()
        return predictions


def _scale(values: NDArray[np.float64]) -> tuple[float, float]:
    """Mean and deviation; a deviation too small to divide by counts as 1."""
    return float(values.mean()), float(values.std()) or 1.0
