"""Plain Storm: a fixed number of replicas."""

from __future__ import annotations

from dataclasses import dataclass

from pasps.control.plan import BoltPlan, Clamp, Plan
from pasps.control.policies.options import option
from pasps.control.policies.policy import Needs, Policy
from pasps.control.situation import Situation


@dataclass(frozen=True, slots=True)
class Options:
    """The number, if any."""

    replicas: int | None = option(None, "Replicas of every bolt, as far as its pool goes; null: as at the start", unit="replicas", least=1)


def plan(situation: Situation, options: Options) -> Plan:
    """That number for every bolt, as far as its pool goes; without it everything stays as it is."""
    wanted = options.replicas
    bolts = {}
    for bolt in situation.shape.bolts:
        active = situation.interval.bolts[bolt.id].active
        asked = wanted or active
        # what somebody set stays, also when it is more than the bolt has use for
        allowed = min(asked, max(active, bolt.pool))
        bolts[bolt.id] = BoltPlan(active, asked, allowed, allowed, clamps=(Clamp.AT_POOL,) if asked > allowed else ())
    return Plan(bolts)


POLICY = Policy("static", "plain Storm: as many replicas as at the start, or a fixed number", plan, Options, Needs(warm_up=1.0))
