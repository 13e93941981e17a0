"""`ensemble`: the inverse-error mean of the cheap models."""

from __future__ import annotations

from predictor_service.online import mixed, online_model

MODEL = online_model(
    "ensemble",
    "the mean of naive and of all that ses and holt choose from, each weighed by a high power of the inverse of its errors of late",
    mixed,
    cost="light",
)
