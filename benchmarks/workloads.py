"""The events and the operators: the same pure functions for every subject, so that only what runs them differs.

An operator takes the values of one event as positional arguments and returns the values of the next one.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable
from functools import cache
from math import exp, gcd, tanh
from typing import Any

Event = tuple[Any, ...]
Operator = Callable[..., Event]
WORKLOADS = ("w1", "w2", "w3", "w4")

EVENT_FIELDS = ("id", "user", "text", "ts")
SCORED_FIELDS = ("id", "user", "score", "ts")
CLASSED_FIELDS = ("id", "user_class", "score", "ts")
COUNTED_FIELDS = ("id", "user_class", "count", "ts")
FEATURE_FIELDS = ("id", "a", "b", "c", "d", "e", "f", "ts")
RATED_FIELDS = ("id", "rating", "ts")

EVENTS_PREPARED = 10_000
CLASSES = 10
_USERS = 5_000
_TEXT_LENGTH = 80
_WORDS_PER_TEXT = 18

STOP_WORDS = frozenset(
    "a about all an and are as at be been but by for from had has have he her his i if in is it its me my no not of on or our she so "
    "that the their them they this to was we were what when which who will with you your".split()
)


def _vocabulary() -> list[str]:
    letters = random.Random(11)
    return ["".join(letters.choices("abcdefghijklmnopqrstuvwxyz", k=letters.randint(3, 9))) for _ in range(900)]


_VOCABULARY = _vocabulary()
LEXICON = {word: 1 if place % 2 else -1 for place, word in enumerate(_VOCABULARY[:220])}


@cache
def prepared() -> list[tuple[str, str]]:
    """The (user, text) pairs that every source cycles through; made once in a process, the same in all processes."""
    dice = random.Random(2024)
    # About one word in three of a tweet is a stop word.
    words = _VOCABULARY * 2 + sorted(STOP_WORDS) * 16
    drawn = dice.choices(words, k=EVENTS_PREPARED * _WORDS_PER_TEXT)
    users = dice.choices(range(_USERS), k=EVENTS_PREPARED)
    starts = range(0, len(drawn), _WORDS_PER_TEXT)
    return [(f"user{user}", " ".join(drawn[at : at + _WORDS_PER_TEXT])[:_TEXT_LENGTH]) for user, at in zip(users, starts, strict=True)]


@cache
def features() -> list[tuple[float, ...]]:
    """The six numbers of an event of W4, of which every source cycles through as many; the same in all processes."""
    dice = random.Random(2025)
    return [tuple(dice.gauss(0.0, 1.0) for _ in range(6)) for _ in range(EVENTS_PREPARED)]


def ident(id: int, user: str, text: str, ts: float) -> Event:
    """W1: hand the event on."""
    return id, user, text, ts


def stopwords(id: int, user: str, text: str, ts: float) -> Event:
    """W2, first: the text without its stop words."""
    return id, user, " ".join([word for word in text.split() if word not in STOP_WORDS]), ts


def sentiment(id: int, user: str, text: str, ts: float) -> Event:
    """W2, second: the text's score by the lexicon, in place of the text."""
    score = LEXICON.get
    return id, user, sum([score(word, 0) for word in text.split()]), ts


def userclass(id: int, user: str, score: int, ts: float) -> Event:
    """W2, third: the user's class in place of the user, by a hash that is the same in every process."""
    return id, zlib.crc32(user.encode()) % CLASSES, score, ts


class RunningCount:
    """W3, fourth: how many of its class there were so far, in place of the score. Keyed by class; counts from 1."""

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}

    def __call__(self, id: int, user_class: int, score: int, ts: float) -> Event:
        count = self.counts[user_class] = self.counts.get(user_class, 0) + 1
        return id, user_class, count, ts


_drawn = random.Random(2026)
LAYER = [tuple(_drawn.gauss(0.0, 0.5) for _ in range(8)) for _ in range(8)]
"""The units of W4's model: a weight for each of six numbers, a bias, and the weight of the unit."""


def rate(id: int, a: float, b: float, c: float, d: float, e: float, f: float, ts: float) -> Event:
    """W4: a small neural network over six numbers, with a layer of eight units."""
    z = sum([out * tanh(bias + p * a + q * b + r * c + s * d + t * e + u * f) for p, q, r, s, t, u, bias, out in LAYER])
    return id, 1.0 / (1.0 + exp(-z)), ts


def ident_event(event: Event) -> Event:
    """`ident` for who hands events over whole; a wrapper around it would be charged to them. So the next three."""
    return event[0], event[1], event[2], event[3]


def stopwords_event(event: Event) -> Event:
    """`stopwords` of one whole event."""
    return event[0], event[1], " ".join([word for word in event[2].split() if word not in STOP_WORDS]), event[3]


def sentiment_event(event: Event) -> Event:
    """`sentiment` of one whole event."""
    score = LEXICON.get
    return event[0], event[1], sum([score(word, 0) for word in event[2].split()]), event[3]


def userclass_event(event: Event) -> Event:
    """`userclass` of one whole event."""
    return event[0], zlib.crc32(event[1].encode()) % CLASSES, event[2], event[3]


def count_event(count: int | None, event: Event) -> tuple[int, Event]:
    """`RunningCount` for who keeps the state of one key: the new state, and the event."""
    count = (count or 0) + 1
    return count, (event[0], event[1], count, event[3])


def rate_event(event: Event) -> Event:
    """`rate` of one whole event."""
    id, a, b, c, d, e, f, ts = event
    z = sum([out * tanh(bias + p * a + q * b + r * c + s * d + t * e + u * f) for p, q, r, s, t, u, bias, out in LAYER])
    return id, 1.0 / (1.0 + exp(-z)), ts


# W2's fourth operator is the sink: routed by class, it counts by class. W3's fourth is `RunningCount`, and its sink is like W1's.
OPERATORS: dict[str, tuple[Operator, ...]] = {
    "w1": (ident, ident, ident, ident),
    "w2": (stopwords, sentiment, userclass),
    "w3": (stopwords, sentiment, userclass),
    "w4": (rate,),
}
ON_EVENT: dict[str, tuple[Callable[[Event], Event], ...]] = {
    "w1": (ident_event,) * 4,
    "w2": (stopwords_event, sentiment_event, userclass_event),
    "w3": (stopwords_event, sentiment_event, userclass_event),
    "w4": (rate_event,),
}


def expected_classes(part: int, parts: int, emitted: int) -> dict[int, int]:
    """How many events of each class are among the first `emitted` of source `part` of `parts`: what W2 must have counted."""
    pairs = prepared()
    period = EVENTS_PREPARED // gcd(EVENTS_PREPARED, parts)
    rounds, rest = divmod(emitted, period)
    counts: dict[int, int] = {}
    for step in range(period):
        user_class = zlib.crc32(pairs[(part + step * parts) % EVENTS_PREPARED][0].encode()) % CLASSES
        counts[user_class] = counts.get(user_class, 0) + rounds + (step < rest)
    return {user_class: count for user_class, count in counts.items() if count}
