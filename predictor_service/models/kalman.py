"""`kalman`: a filter of a level and a trend."""

from __future__ import annotations

from predictor_service.online import VARIANCES, kalman, online_model

MODEL = online_model(
    "kalman",
    "Kalman filter of a local level and trend, its variances those that fitted best of late",
    kalman,
    parameters={"level variance, trend variance, damping": [list(each) for each in VARIANCES]},
)
