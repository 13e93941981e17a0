"""`theta`: the Theta method, which won the M3 competition."""

from __future__ import annotations

from predictor_service.online import online_model, theta

MODEL = online_model("theta", "the Theta method: the mean of a smoothed level and a straight line that forgets", theta)
