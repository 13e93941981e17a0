"""PA-SPS: the replicas that the forecast of the next interval and all queues need (its Eq. 2 to 7 and Algorithm 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pasps.control.model import Reading, terms
from pasps.control.plan import Plan
from pasps.control.policies.options import option
from pasps.control.policies.policy import INTERVAL, Needs, Policy, as_asked
from pasps.control.situation import Situation


@dataclass(frozen=True, slots=True)
class Options:
    """How the equations are read; the defaults are the paper's."""

    target: float = option(1.0, "Share of its time a replica is to be busy with what comes in", above=0, most=1.5)
    drain_seconds: float | None = option(None, "Time in which queues are to be gone; null: an interval", unit="seconds", above=0)
    queue_share: Literal["paper", "edge", "own"] = option("paper", "Of queues before a bolt: θ_p, as printed, θ_i^p, or none")


def plan(situation: Situation, options: Options) -> Plan:
    """One decision for the next td."""
    seconds = situation.settings.interval_seconds
    forecast = situation.forecast
    if forecast is None:
        return Plan({}, held="there is no forecast")
    events = forecast.total(situation.interval.ended, seconds)
    reading = Reading(seconds, options.queue_share, options.target, options.drain_seconds)
    return as_asked(situation, terms(situation, events, reading), events)


POLICY = Policy(
    "pa-sps", "PA-SPS as published: the predicted input and all queues, once an interval", plan, Options, Needs(horizon_seconds=INTERVAL)
)
