"""What a plan must keep to that anybody's policy made: checked before it is carried out. Pure."""

from __future__ import annotations

import math
from collections.abc import Set as AbstractSet
from itertools import pairwise
from typing import Any, get_args

import msgspec

from pasps.control.plan import Plan, Reconfigure
from pasps.errors import InvalidError

MOST_MEMORY = 16_384
"""Bytes of JSON that a policy may leave for its next plan: it stands in every record."""
MOST_MEMORY_OF_BOLT = 1_024
"""And so many more for each bolt, of which a policy may remember something."""


def remembered(memory: Any, bolts: int) -> Any:
    """What a policy gets back of what it left: the same as a replay reads. The topology has so many bolts.

    Raises:
        InvalidError: it is no JSON, or too much.
    """
    if memory is None:
        return None
    try:
        text = msgspec.json.encode(memory)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidError(f"expected a JSON value as the plan's memory: {error}") from error
    most = MOST_MEMORY + bolts * MOST_MEMORY_OF_BOLT
    if len(text) > most:
        raise InvalidError(f"expected at most {most} bytes of JSON as the plan's memory, got {len(text)}")
    return msgspec.json.decode(text)


def check_plan(plan: Plan, bolts: AbstractSet[str]) -> None:
    """Whether what is to happen later, and how, makes sense.

    Raises:
        InvalidError: says what does not.
    """
    if plan.reconfigure not in get_args(Reconfigure):
        raise InvalidError(f"expected reconfigure to be 'pool' or 'restart', got {plan.reconfigure!r}")
    times = [step.after_seconds for step in plan.timetable]
    if not all(0 < time < math.inf for time in times) or any(later <= time for time, later in pairwise(times)):
        raise InvalidError(f"expected the timetable's steps one after another, each so many seconds after the plan, got {times}")
    for step in plan.timetable:
        if not step.replicas.keys() <= bolts or not all(isinstance(count, int) and count >= 1 for count in step.replicas.values()):
            raise InvalidError(f"expected replicas of at least 1 for bolts of this topology in the timetable, got {dict(step.replicas)!r}")
