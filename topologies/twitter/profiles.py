"""What is known of the user who published a tweet, and the numbers that a classifier reads in it. Pure."""

from __future__ import annotations

import math
from typing import TypedDict


class Profile(TypedDict):
    """A user as the spout emits it; None where the tweet did not say it."""

    screen_name: str
    name: str
    description: str
    followers: int | None
    friends: int | None
    statuses: int | None
    verified: bool
    age_days: float | None
    """The account's, when it tweeted."""


NUMBERS = ("followers", "friends", "statuses", "followers_to_friends", "statuses_a_day", "verified", "age_years", "description_length")


def numbers_of(profile: Profile) -> tuple[float, ...]:
    """The values of NUMBERS, counts as logarithms, since what tells classes apart is how many times more; NaN where unknown."""
    followers, friends, statuses = _log(profile["followers"]), _log(profile["friends"]), _log(profile["statuses"])
    age = math.nan if profile["age_days"] is None else max(profile["age_days"], 1.0)
    return (
        followers,
        friends,
        statuses,
        followers - friends,
        statuses - math.log(age),
        float(profile["verified"]),
        age / 365.25,
        math.log1p(len(profile["description"])),
    )


def _log(count: int | None) -> float:
    return math.nan if count is None else math.log1p(count)
