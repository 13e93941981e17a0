"""`ann`: a neural network on the time index."""

from __future__ import annotations

from predictor_service.time_regression import regression_model

MODEL = regression_model(
    "ann",
    "sklearn.neural_network:MLPRegressor",
    "scikit-learn MLPRegressor with its defaults",
    parameters={"random_state": 0},
)
