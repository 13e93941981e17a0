"""`ar`: each step from those before it."""

from __future__ import annotations

from predictor_service.online import Autoregression, online_model

MODEL = online_model(
    "ar",
    "ridge regression on the last 12 samples, and on the time of day and week where the last 600 samples hold two of them",
    Autoregression,
    parameters={"lags": Autoregression.LAGS, "samples": Autoregression.KEPT},
    least_samples=Autoregression.LEAST,
    cost="light",
)
