"""`ridge`: ridge regression on the time index."""

from __future__ import annotations

from predictor_service.time_regression import regression_model

MODEL = regression_model(
    "ridge",
    "sklearn.linear_model:Ridge",
    "scikit-learn Ridge with its defaults",
    cost="light",
)
