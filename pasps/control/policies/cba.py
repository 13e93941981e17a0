"""BGElasor's CBA: what the epochs to come need, with actions moved together or cancelled where that is cheaper; its Algorithm 1.

Its steps 2 and 3 as they must be meant: what is printed of them differs, see docs/policies.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from pasps.control.plan import Plan
from pasps.control.policies.epochs import Priced, Prices, looking_ahead, planned_ahead
from pasps.control.policies.policy import Policy
from pasps.control.situation import Situation


def plan(situation: Situation, options: Priced) -> Plan:
    """One decision: the first epoch of the balanced plan; the others are its timetable."""
    return planned_ahead(situation, options, balanced)


def balanced(base: Sequence[int], prices: Prices, start: int | None = None) -> list[int]:
    """Replicas of each epoch, never fewer than `base`. `start`: what there is before; None: the first epoch is free.

    1. as many as each epoch needs; 2. an action is moved to a neighbouring one where routing anew is dearer than the replicas that
    are there an epoch longer; 3. of a scale-in and the scale-out that follows it as many are cancelled as both have in common, where
    stopping and starting them is dearer than keeping them.
    """
    # epoch 0 is what there is: it is over, so nothing is moved to before it
    replicas = list(base) if start is None else [start, *base]
    _move_up_earlier(replicas, prices)
    _move_down_later(replicas, prices)
    while _cancel_one(replicas, prices):
        pass
    return replicas if start is None else replicas[1:]


def _move_up_earlier(replicas: list[int], prices: Prices) -> None:
    """Step 2 for scale-outs, from the last one on: a moved one may be moved again, with what it was moved to."""
    for at in range(len(replicas) - 1, 1, -1):
        more = replicas[at] - replicas[at - 1]
        if more > 0 and replicas[at - 1] != replicas[at - 2] and prices.route > prices.replica * more:
            replicas[at - 1] = replicas[at]


def _move_down_later(replicas: list[int], prices: Prices) -> None:
    """Step 2 for scale-ins, from the first one on."""
    for at in range(1, len(replicas) - 1):
        fewer = replicas[at - 1] - replicas[at]
        if fewer > 0 and replicas[at + 1] != replicas[at] and prices.route > prices.replica * fewer:
            replicas[at] = replicas[at - 1]


def _cancel_one(replicas: list[int], prices: Prices) -> bool:
    """Step 3 for the first pair that it is worth it for; whether there was one."""
    actions = [(at, after - before) for at, (before, after) in enumerate(pairwise(replicas), 1) if after != before]
    for (down_at, down), (up_at, up) in pairwise(actions):
        number = min(-down, up)
        if number > 0 and (prices.start + prices.stop) * number + prices.route > prices.replica * number * (up_at - down_at):
            for at in range(down_at, up_at):
                replicas[at] += number
            return True
    return False


POLICY = Policy(
    "cba",
    "BGElasor's CBA: what the epochs to come will need, where starting and stopping are worth it",
    plan,
    Priced,
    looking_ahead(Priced()),
    looking_ahead,
)
