"""Opinions of users about topics, and the tables that they are joined with. Made up; the same in every process."""

from __future__ import annotations

import random
from functools import cache
from typing import NamedTuple

from topologies.simple_sensitive.sensitive import MOST_VALUE, SKEW, zipf_value

TOPICS = ("transport", "schools", "weather", "football", "taxes", "housing", "celebrities", "energy")
IRRELEVANT = frozenset({"weather", "celebrities"})
REGIONS = ("north", "east", "south", "west")
MOST_AGE = 150
AGES = ((18, "minor"), (30, "young"), (45, "adult"), (65, "senior"), (MOST_AGE, "elder"))
"""The age that ends a group, and its name."""
STRONG = 0.25
"""An opinion nearer to 0 says nothing about its subgroup."""


class Opinion(NamedTuple):
    """What a user said: `opinion` from -1, against it, to 1."""

    user: int
    age: int
    code: int
    topic: str
    opinion: float


def opinion_of(number: int, seed: int, skew: float = SKEW) -> Opinion:
    """The opinion of an event. Codes of places follow Zipf's law: most users live in few of them; with skew 0 in all alike."""
    dice = random.Random(f"{seed}:{number}")
    code = zipf_value(dice, skew)
    return Opinion(dice.randrange(100_000), dice.randint(12, 95), code, dice.choice(TOPICS), round(dice.uniform(-1, 1), 3))


@cache
def city_of(code: int) -> str:
    """The city that has the code."""
    if not 1 <= code <= MOST_VALUE:
        raise ValueError(f"expected the code of a city, from 1 to {MOST_VALUE}, got {code!r}")
    return f"{REGIONS[code % len(REGIONS)]}-{code:03d}"


def age_group(age: int) -> str:
    """The group that an age belongs to."""
    return next(name for end, name in AGES if age < end)


def verdict(opinion: float) -> str | None:
    """What an opinion comes to; None when it is not strong enough to count."""
    if abs(opinion) < STRONG:
        return None
    return "for" if opinion > 0 else "against"
