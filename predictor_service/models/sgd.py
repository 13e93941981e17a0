"""`sgd`: linear regression by stochastic gradient descent on the time index."""

from __future__ import annotations

from predictor_service.time_regression import regression_model

MODEL = regression_model(
    "sgd",
    "sklearn.linear_model:SGDRegressor",
    "scikit-learn SGDRegressor with its defaults",
    parameters={"random_state": 0},
    cost="light",
)
