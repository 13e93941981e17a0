"""Tweets: stop words out, a sentiment score, the user's class, counts by class; at a rate with waves and bursts.

    pasps run topologies/tweets/tweets.py --duration 60
    pasps run topologies/tweets/tweets.py --duration 60 --scale user_class=32

The rows are generated, the same for the same seed. They become due by a schedule that does not wait for the topology, as events
of the world do, so a topology that is too slow builds up a backlog. `user_class` stands for a question to a service: its
replicas wait, so more of them carry more on any machine. The other bolts compute, so they are bound to the workers.

Configuration: `tweets.rate`, mean rows a second without the bursts (1500); `tweets.period.seconds` of a wave (20);
`tweets.seed` (1); `tweets.rows`, how many (without it: no end); `tweets.lookup.millis`, how long the service takes (2).
"""

from __future__ import annotations

import asyncio
import random
import time
import zlib
from collections import Counter
from functools import cache
from math import pi, sin
from typing import Any

from pasps import Bolt, EndOfInput, Grouping, Spout, Topology, TopologyContext, Tuple, bolt

SLOT_SECONDS = 0.1
BURST_SLOTS = 30
BATCH = 500
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


class Schedule:
    """How many rows are due: a wave, and in one of four stretches of three seconds a burst of two to three times as many. Pure."""

    def __init__(self, rate: float, period_seconds: float, seed: int) -> None:
        self.rate, self.period, self.seed = rate, period_seconds, seed
        self.slot = 0
        self.before = 0.0
        """Rows due before the slot."""

    def rate_in(self, slot: int) -> float:
        """Rows a second in a slot of 0.1 s."""
        dice = random.Random(f"{self.seed}/{slot // BURST_SLOTS}")
        burst = dice.uniform(2, 3) if dice.random() < 0.25 else 1.0
        return self.rate * burst * (1 + 0.5 * sin(2 * pi * slot * SLOT_SECONDS / self.period))

    def due(self, seconds: float) -> int:
        """Rows due in the first `seconds`; call it with growing values."""
        while (self.slot + 1) * SLOT_SECONDS <= seconds:
            self.before += self.rate_in(self.slot) * SLOT_SECONDS
            self.slot += 1
        return int(self.before + self.rate_in(self.slot) * (seconds - self.slot * SLOT_SECONDS))


class TweetSpout(Spout):
    """Emits rows when they are due. Goes on from the first row that is not acked when its worker died."""

    outputs = ["row", "user", "text"]

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        rate, period, seed = conf.get("tweets.rate", 1500), conf.get("tweets.period.seconds", 20), conf.get("tweets.seed", 1)
        self.schedule = Schedule(rate, period, seed)
        self.most: int | None = conf.get("tweets.rows")
        self.next: int = 0
        self.began: float | None = None
        if ctx.position is not None:
            self.next, self.began = ctx.position
        self.pending: dict[int, None] = {}
        self.again: list[int] = []
        self.save_at = 0.0

    def next_tuple(self) -> float | None:
        if self.again:
            again, self.again = self.again, []
            self.emit_rows(again)
        until = min(self.due(), self.next + BATCH)
        if until > self.next:
            rows = list(range(self.next, until))
            self.next = until
            self.pending.update(dict.fromkeys(rows))
            self.emit_rows(rows)
            self.save()
        if self.next == self.most:
            raise EndOfInput
        return None if until < self.due() else 0.002

    def emit_rows(self, rows: list[int]) -> None:
        self.emit_batch([(row, f"user{row * 7919 % USERS}", texts()[row % TEXTS]) for row in rows], rows)

    def due(self) -> int:
        if self.began is None:
            self.began = time.time()
        due = self.schedule.due(time.time() - self.began)
        return due if self.most is None else min(due, self.most)

    def backlog(self) -> int:
        return self.due() - self.next

    def save(self) -> None:
        if time.time() >= self.save_at:
            # pending rows stay in the order of their numbers, so the first is the lowest
            self.save_position((next(iter(self.pending), self.next), self.began))
            self.save_at = time.time() + 0.5

    def ack(self, tup_id: int) -> None:
        self.pending.pop(tup_id, None)

    def fail(self, tup_id: int) -> None:
        self.again.append(tup_id)


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
        self.wait_seconds = conf.get("tweets.lookup.millis", 2) / 1000

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

    config = {"topology.max.spout.pending": 2_000}

    tweets = TweetSpout.spec()
    filtered = stop_words.spec(inputs=[tweets], name="stop_words", par=2, pool=4)
    scored = sentiment.spec(inputs=[filtered], name="sentiment", par=2, pool=4)
    user_class = UserClass.spec(inputs=[scored], par=12, pool=32)
    count = Count.spec(inputs={user_class: Grouping.fields("user_class")}, par=2, pool=8)
