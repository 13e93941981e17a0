"""`auto`: a tournament of the cheap models over the samples of the request."""

from __future__ import annotations

from predictor_service.online import online_model
from predictor_service.tournament import DAMPING, MEMORY, POWER, tournament

MODEL = online_model(
    "auto",
    "a tournament: levels and trends from slow to fast and an autoregression, each weighed by what it would have cost of late",
    tournament,
    parameters={"memory": MEMORY, "power": POWER, "damping": DAMPING},
    cost="heavy",
)
