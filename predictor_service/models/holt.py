"""`holt`: exponential smoothing with a damped trend."""

from __future__ import annotations

from predictor_service.online import TRENDS, damped, online_model

MODEL = online_model(
    "holt",
    "Holt's smoothing with a damped trend, its parameters those that fitted best of late",
    damped,
    parameters={"alpha, beta, damping": [list(each) for each in TRENDS]},
)
