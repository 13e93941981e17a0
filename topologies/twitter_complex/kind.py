"""Splits the stream by the type of information: news, and opinions, which is what is no news."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pasps import BatchBolt, Stream, TopologyContext, Tuple
from topologies.twitter.linear_model import MOST_AT_ONCE, model_of
from topologies.twitter.tweet_text import tokens

MODEL = Path(__file__).with_name("kind.json")
NUMBERS = ("words", "capitals")


def numbers_of(text: str) -> tuple[float, float]:
    """The values of NUMBERS: the logarithm of the count of words, and the share of them that begin with a capital."""
    words = text.split()
    return math.log1p(len(words)), sum(word[0].isupper() for word in words) / max(1, len(words))


def kinds_of(texts: Sequence[str]) -> list[str]:
    """ "news" or "opinion" for each."""
    found = model_of(MODEL).classify([tokens(text) for text in texts], [numbers_of(text) for text in texts])
    return [kind for kind, _ in found]


class KindOfInformation(BatchBolt):
    """Sends each tweet as it is to one of two streams. A batch is classified at once."""

    outputs = [Stream(["event", "text", "user"], name="news"), Stream(["event", "text", "user"], name="opinion")]
    max_batch = MOST_AT_ONCE

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        model_of(MODEL)  # now, not at the first tweet

    def process_batch(self, tuples: list[Tuple]) -> None:
        for tup, kind in zip(tuples, kinds_of([tup.values.text for tup in tuples]), strict=True):
            self.emit(tup.values, stream=kind, anchors=[tup])
