"""`rf`: a random forest on the time index."""

from __future__ import annotations

from predictor_service.time_regression import regression_model

MODEL = regression_model(
    "rf",
    "sklearn.ensemble:RandomForestRegressor",
    "scikit-learn RandomForestRegressor with its defaults; flat beyond the last sample",
    parameters={"random_state": 0},
    scaled=False,
)
