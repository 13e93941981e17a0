"""What a policy is: one pure function with a name, and what it needs of the loop that calls it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pasps.control.model import rounded_up
from pasps.control.plan import BoltPlan, Clamp, Plan, Terms
from pasps.control.situation import Situation


@dataclass(frozen=True, slots=True)
class Policy:
    """`plan` is pure, is called on the master's event loop, and must return soon.

    `forecasts`: it needs them, so a predictor is asked. `corrects`: it is called within the interval too. `warm_up_seconds`:
    how much of the first interval it must have seen before it decides for the first time; None: the whole.
    """

    name: str
    about: str
    plan: Callable[[Situation], Plan]
    forecasts: bool = False
    corrects: bool = False
    warm_up_seconds: float | None = None


def as_asked(situation: Situation, terms: Mapping[str, Terms], events: float) -> Plan:
    """Eq. 2 rounded up and clamped to the pool; a bolt of which nothing is known stays as it is."""
    bolts = {}
    for bolt in situation.shape.bolts:
        active, needs = situation.interval.bolts[bolt.id].active, terms[bolt.id]
        if needs.replicas is None:
            bolts[bolt.id] = BoltPlan(active, active, active, active, needs, (Clamp.UNKNOWN,))
            continue
        asked = rounded_up(needs.replicas)
        clamps = (Clamp.AT_POOL,) if asked > bolt.pool else ()
        allowed = min(asked, bolt.pool)
        bolts[bolt.id] = BoltPlan(active, asked, allowed, allowed, needs, clamps)
    return Plan(bolts, events)
