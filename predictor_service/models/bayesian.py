"""`bayesian`: Bayesian ridge regression on the time index."""

from __future__ import annotations

from predictor_service.time_regression import regression_model

MODEL = regression_model(
    "bayesian",
    "sklearn.linear_model:BayesianRidge",
    "scikit-learn BayesianRidge with its defaults",
    cost="light",
)
