"""Bolts of every kind, by name. What an event costs is arithmetic on its number, so that it is the same wherever it runs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from pasps import BatchBolt, Bolt, Tuple, bolt
from pasps.spouts import TraceSpout

WAIT_SECONDS = 0.005
_TEXT = " ".join(f"word{number % 50}" for number in range(200))
"""Counting its words takes some 20 microseconds."""


def count_words(times: int) -> int:
    """Work for the processor."""
    counts: dict[str, int] = {}
    for _ in range(times):
        counts = {}
        for word in _TEXT.split():
            counts[word] = counts.get(word, 0) + 1
    return len(counts)


class Numbers(TraceSpout):
    """Events with a value from 1 to 100: all values are as frequent, and neighbours differ."""

    outputs = ("number", "value")

    def values(self, number: int, due: float) -> tuple[int, int]:
        """See `TraceSpout`."""
        return number, number * 37 % 100 + 1


@bolt(outputs=["number"])
def cheap(number: int, value: int) -> tuple[int]:
    """Some 20 microseconds."""
    count_words(1)
    return (number,)


class Cheap(Bolt):
    """The same as a class."""

    outputs = ("number",)

    def process(self, tup: Tuple) -> None:
        """See `Bolt`."""
        count_words(1)
        self.emit((tup.values.number,))


@bolt(outputs=["number"])
def heavy(number: int, value: int) -> tuple[int]:
    """Some 2 milliseconds."""
    count_words(100)
    return (number,)


@bolt(outputs=["number"])
def varying(number: int, value: int) -> tuple[int]:
    """From 20 microseconds to 2 milliseconds, all as frequent."""
    count_words(value)
    return (number,)


@bolt(outputs=["number"])
def skewed(number: int, value: int) -> tuple[int]:
    """Most events are cheap, a few cost a hundred times as much: 100 / value."""
    count_words(100 // value)
    return (number,)


@bolt(outputs=["number"], execution="thread")
def blocking(number: int, value: int) -> tuple[int]:
    """Waits on a thread."""
    time.sleep(WAIT_SECONDS)
    return (number,)


class Waiting(Bolt):
    """Waits on the event loop."""

    outputs = ("number",)

    async def process(self, tup: Tuple) -> None:
        """See `Bolt`."""
        await asyncio.sleep(WAIT_SECONDS)
        self.emit((tup.values.number,))


class Batched(BatchBolt):
    """Some 200 microseconds for a batch, however many are in it."""

    outputs = ("number",)

    def process_batch(self, tuples: list[Tuple]) -> list[Any]:
        """See `BatchBolt`."""
        count_words(10)
        return [(tup.values.number,) for tup in tuples]


class Sink(Bolt):
    """Takes what comes."""

    def process(self, tup: Tuple) -> None:
        """See `Bolt`."""


SUBJECTS: Mapping[str, Any] = {
    "cheap": cheap,
    "cheap_class": Cheap,
    "heavy": heavy,
    "varying": varying,
    "skewed": skewed,
    "batch": Batched,
    "blocking": blocking,
    "waiting": Waiting,
}
"""By the names that the table has."""
