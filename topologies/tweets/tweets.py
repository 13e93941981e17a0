"""Tweets: stop words out, a sentiment score, the user's class, counts by class; at a rate with waves and bursts.

    pasps run topologies/tweets/tweets.py --duration 60
    pasps run topologies/tweets/tweets.py --duration 60 -o pasps.policy=static --scale user_class=48

The tweets are generated, the same for the same seed. They become due by a trace that does not wait for the topology, as events
of the world do, so a topology that is too slow builds up a backlog. `user_class` stands for a question to a service: its
replicas wait, so more of them carry more on any machine, and they are what follows the load. The other bolts compute, so they
are bound to the workers.

Configuration: `tweets.rate`, mean tweets a second without the bursts (1500); `tweets.period.seconds` of a wave (20);
`tweets.seed` (9); `tweets.rows`, how many (without it: no end); `trace.file` and the other keys of TraceSpout for a trace of your
own; `tweets.lookup.millis`, how long the service takes (6).
"""

from __future__ import annotations

import asyncio
import random
import zlib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import count, islice
from math import pi, sin
from typing import Any

from pasps import Bolt, Grouping, Topology, TopologyContext, Tuple, bolt
from pasps.spouts import TraceSpout

SLOT_SECONDS = 0.5
SLOTS = 1_200
BURST_SLOTS = 6
TEXTS = 5_000
USERS = 4_000
CLASSES = ("press", "company", "celebrity", "politician", "student", "sports", "music", "machine", "shop", "other")
STOP_WORDS = frozenset(
    "a about all and are as at be but by for from had has have he her i in is it my not of on or so that the they to was".split()
)


@cache
def vocabulary() -> list[str]:
    """Words of no language."""
    dice = random.Random(7)
    syllables = [first + second for first in "bdfgklmnprst" for second in "aeiou"]
    return sorted({"".join(dice.choices(syllables, k=dice.randint(2, 4))) for _ in range(1_000)})


@cache
def lexicon() -> dict[str, int]:
    """The words that mean something: good ones and bad ones."""
    return {word: 1 if place % 2 else -1 for place, word in enumerate(vocabulary()[:250])}


@cache
def texts() -> list[str]:
    """What is tweeted; about one word in three is a stop word."""
    dice = random.Random(11)
    words = vocabulary() * 2 + sorted(STOP_WORDS) * 32
    return [" ".join(dice.choices(words, k=dice.randint(6, 20))) for _ in range(TEXTS)]


def bursty(rate: float, period_seconds: float, seed: int) -> Iterator[int]:
    """Tweets in each half second, without end: a wave, and in one of four stretches of three seconds a burst of two to three times."""
    dice = random.Random(seed)
    burst = 1.0
    for slot in count():
        if slot % BURST_SLOTS == 0:
            burst = dice.uniform(2, 3) if dice.random() < 0.25 else 1.0
        yield round(rate * SLOT_SECONDS * burst * (1 + 0.5 * sin(2 * pi * slot * SLOT_SECONDS / period_seconds)))


def first(total: int, counts: Iterator[int]) -> list[int]:
    """As many of the counts as it takes for `total` tweets."""
    found = []
    while total > 0:
        found.append(min(total, next(counts)))
        total -= found[-1]
    return found


class TweetSpout(TraceSpout):
    """Tweets at the times that the trace says; the trace is generated, unless `trace.file` names one."""

    outputs = ["row", "user", "text"]

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        if not conf.get("trace.file"):
            counts = bursty(conf.get("tweets.rate", 1500), conf.get("tweets.period.seconds", 20), conf.get("tweets.seed", 9))
            most = conf.get("tweets.rows")
            rows = list(islice(counts, SLOTS)) if most is None else first(most, counts)
            conf = {**conf, "trace.rows": rows, "trace.step.seconds": SLOT_SECONDS, "trace.repeat": most is None}
        super().initialize(conf, ctx)

    def values(self, number: int, due: float) -> tuple[int, str, str]:
        return number, f"user{number * 7919 % USERS}", texts()[number % TEXTS]


@bolt(outputs=["row", "user", "text"])
def stop_words(row: int, user: str, text: str) -> tuple[int, str, str]:
    """The text without its stop words."""
    return row, user, " ".join([word for word in text.split() if word not in STOP_WORDS])


@bolt(outputs=["row", "user", "score"])
def sentiment(row: int, user: str, text: str) -> tuple[int, str, int]:
    """The text's score, in place of the text."""
    score = lexicon().get
    return row, user, sum(score(word, 0) for word in text.split())


class UserClass(Bolt):
    """The user's class in place of the user, as a service far away would tell it: each replica waits for one answer at a time."""

    outputs = ["row", "user_class", "score"]

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.wait_seconds = conf.get("tweets.lookup.millis", 6) / 1000

    async def process(self, tup: Tuple) -> None:
        row, user, score = tup.values
        if self.wait_seconds:
            await asyncio.sleep(self.wait_seconds)
        self.emit([row, CLASSES[zlib.crc32(user.encode()) % len(CLASSES)], score])


class Count(Bolt):
    """Tweets and mean score of each class; a class belongs to one task, wherever that runs."""

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.tweets: Counter[str] = Counter()
        self.score: Counter[str] = Counter()

    def process(self, tup: Tuple) -> None:
        _, user_class, score = tup.values
        self.tweets[user_class] += 1
        self.score[user_class] += score


class Tweets(Topology):
    """tweets -> stop_words -> sentiment -> user_class -> count, by class."""

    config = {"topology.max.spout.pending": 20_000, "pasps.interval.secs": 10}

    tweets = TweetSpout.spec()
    filtered = stop_words.spec(inputs=[tweets], name="stop_words", par=2, pool=4)
    scored = sentiment.spec(inputs=[filtered], name="sentiment", par=2, pool=4)
    user_class = UserClass.spec(inputs=[scored], par=16, pool=48)
    count = Count.spec(inputs={user_class: Grouping.fields("user_class")}, par=2, pool=8)
