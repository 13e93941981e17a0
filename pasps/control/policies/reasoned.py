"""The plan of one bolt by a policy that gives reasons of its own, and does not go by the terms of PA-SPS. Pure."""

from __future__ import annotations

from pasps.control.model import rounded_up
from pasps.control.plan import BoltPlan, Clamp, Reason
from pasps.control.situation import BoltShape

MOST_REPLICAS = 1_000_000
"""What is asked for where there is no end to it: more than any pool has."""


def whole(replicas: float) -> int:
    """Rounded up, at least one."""
    return rounded_up(min(replicas, MOST_REPLICAS))


def granted(bolt: BoltShape, active: int, asked: int, *reasons: Reason) -> BoltPlan:
    """As many as are asked for, at least one and as far as the pool goes."""
    allowed = min(max(1, asked), bolt.pool)
    return BoltPlan(active, asked, allowed, allowed, clamps=(Clamp.AT_POOL,) if asked > bolt.pool else (), reasons=reasons)


def kept(active: int, *reasons: Reason) -> BoltPlan:
    """As it is."""
    return BoltPlan(active, active, active, active, reasons=reasons)


def unknown(active: int) -> BoltPlan:
    """As it is: nothing was executed yet, so nobody knows what an event takes."""
    return BoltPlan(active, active, active, active, clamps=(Clamp.UNKNOWN,))
