"""`gaussian`: a Gaussian process on the time index."""

from __future__ import annotations

from predictor_service.time_regression import regression_model

MODEL = regression_model(
    "gaussian",
    "sklearn.gaussian_process:GaussianProcessRegressor",
    "scikit-learn GaussianProcessRegressor that takes a tenth of the variance for noise",
    parameters={"alpha": 0.1, "random_state": 0},
    most_samples=1_000,
)
