"""PRESPS: the next interval is taken to be as the last one; each bolt counts its own queue alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pasps.control.model import Reading, terms
from pasps.control.plan import Plan
from pasps.control.policies.options import option
from pasps.control.policies.policy import Policy, as_asked
from pasps.control.situation import Situation


@dataclass(frozen=True, slots=True)
class Options:
    """How the equations are read; the defaults are the paper's."""

    target: float = option(1.0, "Share of its time a replica is to be busy with what comes in", above=0, most=1.5)
    drain_seconds: float | None = option(None, "Time in which queues are to be gone; null: an interval", unit="seconds", above=0)
    queue_share: Literal["paper", "edge", "own"] = option("own", "Of queues before a bolt: θ_p, as printed, θ_i^p, or none")


def plan(situation: Situation, options: Options) -> Plan:
    """One decision for the next td: λ̂_G(t+1) = λ_G(t), λ̂_i^q = |q_i|."""
    seconds = situation.settings.interval_seconds
    events = situation.interval.due * seconds / situation.interval.seconds
    reading = Reading(seconds, options.queue_share, options.target, options.drain_seconds)
    return as_asked(situation, terms(situation, events, reading), events)


POLICY = Policy("presps", "PRESPS: as much input as in the last interval, and each bolt's own queue", plan, Options)
