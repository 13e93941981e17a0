"""`autoarima`: an ARIMA of the order that suits the samples best."""

from __future__ import annotations

from predictor_service.searched import Search, searched_model

MODEL = searched_model(
    "autoarima",
    "statsforecast AutoARIMA: an ARIMA of the order that suits the samples best, searched for by approximation",
    Search("AutoARIMA", {"season_length": 1, "approximation": True}),
)
