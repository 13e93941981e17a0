"""What the cores and the workers can carry: replicas that compute need a core each, replicas that block a worker each. Pure."""

from __future__ import annotations

from dataclasses import replace

from msgspec import structs

from pasps.control.model import never_resting, rounded_up
from pasps.control.plan import BoltPlan, Clamp, Plan
from pasps.control.situation import Situation


def within_the_cores(situation: Situation, plan: Plan) -> Plan:
    """The plan with the CPU time of all computing bolts within the cores, and the time of all inline ones within the workers' loops.

    Both are shared in proportion; what is not met is written down.
    """
    interval = situation.interval
    cores, loops = min(interval.cores, interval.workers), interval.workers
    # in the topology's order, so that the sums are the same to the last digit when the plan is made again
    inline = [bolt.id for bolt in situation.shape.bolts if not bolt.waits and bolt.id in plan.bolts]
    blocking = [name for name in inline if interval.bolts[name].blocks]
    computing = [name for name in inline if name not in blocking]
    total, waited = (sum(_usable(plan.bolts[name]) for name in names) for names in (computing, blocking))
    part = min(1.0, cores / total) if total > 0 else 1.0
    of_loops = min(1.0, loops / (total * part + waited)) if waited > 0 else 1.0
    shares = {name: (part * of_loops, max(1, cores)) for name in computing} | {name: (of_loops, max(1, loops)) for name in blocking}
    bolts = {name: _capped(bolt, *shares[name]) if name in shares else bolt for name, bolt in plan.bolts.items()}
    return replace(plan, bolts=bolts)


def _usable(bolt: BoltPlan) -> float:
    """Cores that it would keep busy if there were enough; no more than its pool can."""
    return 0.0 if bolt.terms is None else min(never_resting(bolt.terms), bolt.allowed)


def _capped(bolt: BoltPlan, part: float, most: int) -> BoltPlan:
    """`part` of what it asks for, and never more than a replica for each core, or loop (`most`)."""
    if bolt.terms is None or bolt.terms.replicas is None:
        return bolt
    granted = min(bolt.allowed, rounded_up(min(bolt.terms.replicas, bolt.allowed) * part), most)
    if part >= 1.0 and granted == bolt.allowed:
        return bolt
    busy = never_resting(bolt.terms)
    unmet = bolt.terms.total * _usable(bolt) * (1.0 - part) / busy if busy > 0 else 0.0
    return structs.replace(bolt, allowed=granted, replicas=granted, clamps=(*bolt.clamps, Clamp.CAPPED), unmet=unmet)
