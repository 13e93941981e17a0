"""Tells what sort of user published a tweet, from the description and the numbers of the profile."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pasps import BatchBolt, TopologyContext, Tuple
from topologies.twitter.linear_model import MOST_AT_ONCE, model_of
from topologies.twitter.profiles import Profile, numbers_of
from topologies.twitter.tweet_text import tokens

MODEL = Path(__file__).with_name("user_class.json")


def classified(users: Sequence[Profile]) -> list[tuple[str, float]]:
    """The class of each user, and how sure that is, from 0 to 1."""
    return model_of(MODEL).classify([tokens(user["description"]) for user in users], [numbers_of(user) for user in users])


class UserClass(BatchBolt):
    """The user's class in place of the profile. A batch is one product of matrices, so many tweets cost little more than one."""

    outputs = ["event", "screen_name", "text", "sentiment", "score", "user_class", "confidence"]
    max_batch = MOST_AT_ONCE

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        model_of(MODEL)  # now, not at the first tweet

    def process_batch(self, tuples: list[Tuple]) -> list[tuple[Any, ...]]:
        rows = [tup.values for tup in tuples]
        found = classified([row.user for row in rows])
        return [
            (row.event, row.user["screen_name"], row.text, row.sentiment, row.score, user_class, confidence)
            for row, (user_class, confidence) in zip(rows, found, strict=True)
        ]
