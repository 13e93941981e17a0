"""PRESPS: the next interval is taken to be as the last one; each bolt counts its own queue alone."""

from __future__ import annotations

from pasps.control.model import Reading, terms
from pasps.control.plan import Plan
from pasps.control.policies.policy import Policy, as_asked
from pasps.control.situation import Situation


def plan(situation: Situation) -> Plan:
    """One decision for the next td: λ̂_G(t+1) = λ_G(t), λ̂_i^q = |q_i|."""
    settings = situation.settings
    seconds = settings.interval_seconds
    events = situation.interval.due * seconds / situation.interval.seconds
    reading = Reading(seconds, settings.queue_share or "own", settings.target_utilisation or 1.0, settings.drain_seconds)
    return as_asked(situation, terms(situation, events, reading), events)


POLICY = Policy("presps", "PRESPS: as much input as in the last interval, and each bolt's own queue", plan)
