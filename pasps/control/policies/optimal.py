"""The cheapest plan of BGElasor's Eq. 9, by dynamic programming: what its CBA comes near to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from operator import add, sub

from pasps.control.plan import Plan
from pasps.control.policies.epochs import Priced, Prices, looking_ahead, planned_ahead
from pasps.control.policies.policy import Policy
from pasps.control.situation import Situation


def plan(situation: Situation, options: Priced) -> Plan:
    """One decision: the first epoch of the cheapest plan; the others are its timetable."""
    return planned_ahead(situation, options, cheapest)


def cheapest(base: Sequence[int], prices: Prices, start: int | None = None) -> list[int]:
    """Replicas of each epoch, never fewer than `base`, of which none cost less. `start`: what there is before; None: the first is free.

    Of several that cost the same the one that stays longer as it is. Takes time in proportion to epochs times different numbers.
    """
    # a stretch of epochs with another number than these may be moved up or down, and one of both costs no more
    counts = sorted({*base} if start is None else {start, *base})
    up, down, kept = ([price * n for n in counts] for price in (prices.start, prices.stop, prices.replica))
    came: list[list[float]] = []
    """By epoch, for each number: the least cost of getting there."""
    reached: list[list[float]] = []
    """The same with the epoch itself; without end where it would be too few."""
    for epoch, least in enumerate(base):
        if not epoch:
            came.append([0.0 if start is None else _step(start, n, prices) for n in counts])
        else:
            before = reached[-1]
            # who comes from fewer comes from the cheapest of them, whatever it goes to, and so does who comes from more
            from_fewer = accumulate(map(sub, before, up), min)
            from_more = list(accumulate(map(add, reversed(before), reversed(down)), min))
            from_more.reverse()
            by_start, by_stop = map(add, from_fewer, up), map(sub, from_more, down)
            came.append(list(map(min, before, [prices.route + least_moved for least_moved in map(min, by_start, by_stop)])))
        reached.append([cost + n_cost if n >= least else math.inf for n, cost, n_cost in zip(counts, came[-1], kept, strict=True)])
    at = min(range(len(counts)), key=reached[-1].__getitem__)
    found = [counts[at]]
    for epoch in range(len(base) - 1, 0, -1):
        before = reached[epoch - 1]
        if before[at] > came[epoch][at]:
            moved = [cost + _step(n, found[-1], prices) for n, cost in zip(counts, before, strict=True)]
            at = moved.index(min(moved))
        found.append(counts[at])
    return found[::-1]


def _step(before: int, after: int, prices: Prices) -> float:
    """What going from one number to the other costs."""
    if before == after:
        return 0.0
    return prices.route + (prices.start * (after - before) if after > before else prices.stop * (before - after))


POLICY = Policy(
    "optimal",
    "the cheapest plan of BGElasor's costs for the epochs to come, which its CBA comes near to",
    plan,
    Priced,
    looking_ahead(Priced()),
    looking_ahead,
)
