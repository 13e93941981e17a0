"""`autoets`: exponential smoothing, with the error, trend and damping that suit the samples best."""

from __future__ import annotations

from predictor_service.searched import Search, searched_model

MODEL = searched_model(
    "autoets",
    "statsforecast AutoETS: exponential smoothing with the error, trend and damping that suit the samples best",
    Search("AutoETS", {"season_length": 1}),
)
