"""`naive`: as now. What every other model has to beat."""

from __future__ import annotations

from predictor_service.online import Naive, online_model

MODEL = online_model("naive", "as now: the last sample, again and again", lambda step_seconds, horizons: Naive())
