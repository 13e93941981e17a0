"""What the cores can carry: replicas of bolts that compute add capacity only as far as there are cores and workers. Pure."""

from __future__ import annotations

from dataclasses import replace

from pasps.control.model import never_resting, rounded_up
from pasps.control.plan import BoltPlan, Clamp, Plan
from pasps.control.situation import Situation


def within_the_cores(situation: Situation, plan: Plan) -> Plan:
    """The plan with the CPU time of all computing bolts within the cores, shared in proportion; what is not met is written down."""
    interval = situation.interval
    cores = min(interval.cores, interval.workers)
    # in the topology's order, so that the sum is the same to the last digit when the plan is made again
    computing = [bolt.id for bolt in situation.shape.bolts if not bolt.waits and bolt.id in plan.bolts]
    total = sum(_usable(plan.bolts[name]) for name in computing)
    part = min(1.0, cores / total) if total > 0 else 1.0
    bolts = {name: _capped(bolt, part, max(1, cores)) if name in computing else bolt for name, bolt in plan.bolts.items()}
    return replace(plan, bolts=bolts)


def _usable(bolt: BoltPlan) -> float:
    """Cores that it would keep busy if there were enough; no more than its pool can."""
    return 0.0 if bolt.terms is None else min(never_resting(bolt.terms), bolt.allowed)


def _capped(bolt: BoltPlan, part: float, most: int) -> BoltPlan:
    """`part` of what it asks for, and never more than a replica for each core."""
    if bolt.terms is None or bolt.terms.replicas is None:
        return bolt
    granted = min(bolt.allowed, rounded_up(min(bolt.terms.replicas, bolt.allowed) * part), most)
    if part >= 1.0 and granted == bolt.allowed:
        return bolt
    busy = never_resting(bolt.terms)
    unmet = bolt.terms.total * _usable(bolt) * (1.0 - part) / busy if busy > 0 else 0.0
    return replace(bolt, allowed=granted, replicas=granted, clamps=(*bolt.clamps, Clamp.CAPPED), unmet=unmet)
