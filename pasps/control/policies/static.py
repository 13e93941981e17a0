"""Plain Storm: a fixed number of replicas."""

from __future__ import annotations

from pasps.control.plan import BoltPlan, Clamp, Plan
from pasps.control.policies.policy import Policy
from pasps.control.situation import Situation


def plan(situation: Situation) -> Plan:
    """`pasps.static.replicas` for every bolt, as far as its pool goes; without it everything stays as it is."""
    wanted = situation.settings.static_replicas
    bolts = {}
    for bolt in situation.shape.bolts:
        active = situation.interval.bolts[bolt.id].active
        asked = wanted or active
        # what somebody set stays, also when it is more than the bolt has use for
        allowed = min(asked, max(active, bolt.pool))
        bolts[bolt.id] = BoltPlan(active, asked, allowed, allowed, clamps=(Clamp.AT_POOL,) if asked > allowed else ())
    return Plan(bolts)


POLICY = Policy("static", "plain Storm: as many replicas as at the start, or a fixed number", plan, warm_up_seconds=1.0)
