"""`ann-published`: scikit-learn's network as the published PA-SPS controller calls it, on thousandths of its input."""

from __future__ import annotations

from collections.abc import Sequence

from predictor_service.model import Model
from predictor_service.time_regression import TimeRegression

PARAMETERS: dict[str, object] = {"random_state": 1, "max_iter": 1000}
_THOUSAND = 1000.0
_REGRESSION = TimeRegression("sklearn.neural_network:MLPRegressor", PARAMETERS, scaled=False)


def predict(samples: Sequence[float], horizon: int, step_seconds: float) -> Sequence[float]:
    """On the steps' numbers as they are, and on the samples divided by a thousand."""
    return [_THOUSAND * value for value in _REGRESSION([sample / _THOUSAND for sample in samples], horizon, step_seconds)]


MODEL = Model(
    name="ann-published",
    about="scikit-learn MLPRegressor on thousandths of the input, as the published PA-SPS controller calls it",
    predict=predict,
    parameters=PARAMETERS,
    least_samples=2,
)
