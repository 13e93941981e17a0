"""PA-SPS: the replicas that the forecast of the next interval and all queues need (its Eq. 2 to 7 and Algorithm 2)."""

from __future__ import annotations

from pasps.control.model import Reading, terms
from pasps.control.plan import Plan
from pasps.control.policies.policy import Policy, as_asked
from pasps.control.situation import Situation


def plan(situation: Situation) -> Plan:
    """One decision for the next td."""
    settings = situation.settings
    seconds = settings.interval_seconds
    forecast = situation.forecast
    if forecast is None:
        return Plan({}, held="there is no forecast")
    events = forecast.total(situation.interval.ended, seconds)
    reading = Reading(seconds, settings.queue_share or "paper", settings.target_utilisation or 1.0, settings.drain_seconds)
    return as_asked(situation, terms(situation, events, reading), events)


POLICY = Policy("pa-sps", "PA-SPS as published: the predicted input and all queues, once an interval", plan, forecasts=True)
