"""`ses`: simple exponential smoothing."""

from __future__ import annotations

from predictor_service.online import LEVELS, online_model, simple

MODEL = online_model(
    "ses",
    "simple exponential smoothing, as fast as fitted best of late",
    simple,
    parameters={"alpha": list(LEVELS)},
)
