"""Tells what news are about."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pasps import BatchBolt, TopologyContext, Tuple
from topologies.twitter.linear_model import MOST_AT_ONCE, model_of
from topologies.twitter.stop_words import FUNCTION_WORDS
from topologies.twitter.tweet_text import tokens

MODEL = Path(__file__).with_name("topic.json")
OTHER, LEAST = "other", 0.3
"""What news are about when no topic is surer than that."""


def words_of(text: str) -> list[str]:
    """What a topic may be known by: no function words, and nothing that every topic has."""
    return [token for token in tokens(text) if token not in FUNCTION_WORDS and token[0].isalpha()]


def topics_of(texts: Sequence[str]) -> list[tuple[str, float]]:
    """The topic of each, and how sure the likeliest was, from 0 to 1."""
    found = model_of(MODEL).classify([words_of(text) for text in texts], [()] * len(texts))
    return [(topic if sure >= LEAST else OTHER, sure) for topic, sure in found]


class Topic(BatchBolt):
    """Adds the topic. A batch is classified at once."""

    outputs = ["event", "screen_name", "text", "topic", "confidence", "credibility"]
    max_batch = MOST_AT_ONCE

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        model_of(MODEL)  # now, not at the first tweet

    def process_batch(self, tuples: list[Tuple]) -> list[tuple[Any, ...]]:
        rows = [tup.values for tup in tuples]
        found = topics_of([row.text for row in rows])
        return [(row.event, row.screen_name, row.text, *told, row.credibility) for row, told in zip(rows, found, strict=True)]
