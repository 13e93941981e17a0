"""A topology that has every kind of bolt in a row, tracked, with ticks, replays and state that is bounded: what a soak runs.

Each kind raises for one event in a thousand, the first time that the event comes by; the spout emits it again, and it passes.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.workloads import prepared
from pasps import BatchBolt, Bolt, Spout, TopologyBuilder, Tuple, bolt
from pasps.api import Blueprint, TopologyContext

KINDS = ("inline", "function", "batch_function", "batch_bolt", "awaited", "threaded", "keyed", "join", "generator")
_FIELDS = ("id", "tries", "key", "text")
_ONE_IN = 1000
_KEYS = 997
_MOST_HELD = 10_000
_BATCH = 200
_RATE = "soak.rate"


def stumble(kind: str, id: int, tries: int) -> None:
    """Raise for one event in a thousand, another one for each kind, unless it was tried before."""
    if not tries and id % _ONE_IN == 100 * KINDS.index(kind):
        raise ValueError(f"{kind} does not like {id}")


class Pairs(Spout):
    """Events two by two, so that a join finds the other one; at a steady rate over all tasks, or (0) at full speed.

    A task counts its own events, and that number is the tuple id.
    """

    outputs = _FIELDS

    def initialize(self, conf: Mapping[str, Any], ctx: TopologyContext) -> None:
        self.part, self.parts = ctx.task_index, len(ctx.component_tasks(ctx.component_id))
        self.rate = float(conf[_RATE]) / self.parts
        self.texts = [text for _, text in prepared()]
        self.next = self.first = 0 if ctx.position is None else int(ctx.position)
        self.tries: dict[int, int] = {}  # of what is pending, in the order of first emissions
        self.started = time.monotonic()

    def next_tuple(self) -> float:
        end = self.next + _BATCH
        if self.rate:
            end = min(end, self.first + int((time.monotonic() - self.started) * self.rate) // 2 * 2)
        numbers = range(self.next, end)
        self.next += len(numbers)
        self.tries |= dict.fromkeys(numbers, 0)
        self.emit_batch([self.event(number) for number in numbers], numbers)
        self.save_position(next(iter(self.tries), self.next) // 2 * 2)
        return 0.005 if self.rate else 0.0

    def event(self, number: int) -> tuple[int, int, int, str]:
        """Its id is unlike that of any other task's events; both of a pair are one task's."""
        id = (number // 2 * self.parts + self.part) * 2 + number % 2
        return id, self.tries[number], id % _KEYS, self.texts[id % len(self.texts)] + str(id)

    def ack(self, tup_id: int) -> None:
        self.tries.pop(tup_id, None)

    def fail(self, tup_id: int) -> None:
        if tup_id in self.tries:
            self.tries[tup_id] += 1
            self.emit(self.event(tup_id), tup_id)


class Inline(Bolt):
    """A class on the worker's loop."""

    outputs = _FIELDS

    def process(self, tup: Tuple) -> None:
        stumble("inline", tup.values[0], tup.values[1])
        self.emit(tup.values)


@bolt(outputs=_FIELDS)
def function(id: int, tries: int, key: int, text: str) -> tuple[int, int, int, str]:
    """A function of one event."""
    stumble("function", id, tries)
    return id, tries, key, text


@bolt(outputs=_FIELDS, batch=True)
def batch_function(rows: list[Any]) -> list[Any]:
    """A function of many."""
    for row in rows:
        stumble("batch_function", row[0], row[1])
    return rows


class Batched(BatchBolt):
    """A class that takes many; a failure fails them all."""

    outputs = _FIELDS
    max_batch = 64

    def process_batch(self, tuples: list[Tuple]) -> list[Any]:
        for tup in tuples:
            stumble("batch_bolt", tup.values[0], tup.values[1])
        return [tup.values for tup in tuples]


class Awaited(Bolt):
    """A class that awaits, sixteen events at a time."""

    outputs = _FIELDS
    concurrency = 16

    async def process(self, tup: Tuple) -> None:
        await asyncio.sleep(0)
        stumble("awaited", tup.values[0], tup.values[1])
        self.emit(tup.values)

    async def process_tick(self, tup: Tuple) -> None:
        await asyncio.sleep(0.001)


class Threaded(Bolt):
    """A class on a thread of its own."""

    outputs = _FIELDS
    execution = "thread"

    def process(self, tup: Tuple) -> None:
        stumble("threaded", tup.values[0], tup.values[1])
        self.emit(tup.values)

    def process_tick(self, tup: Tuple) -> None:
        time.sleep(0.001)


class Keyed(Bolt):
    """A count and the last texts by key, which its ticks cut."""

    outputs = (*_FIELDS, "pair")

    def initialize(self, conf: Mapping[str, Any], ctx: TopologyContext) -> None:
        self.counts: dict[int, int] = {}
        self.last: deque[str] = deque(maxlen=1000)

    def process(self, tup: Tuple) -> None:
        id, tries, key, text = tup.values
        stumble("keyed", id, tries)
        self.counts[key] = self.counts.get(key, 0) + 1
        self.last.append(text)
        self.emit((id, tries, key, text, id // 2))

    def process_tick(self, tup: Tuple) -> None:
        while len(self.counts) > _KEYS:
            self.counts.popitem()


class Join(Bolt):
    """Keeps an event until the other of its pair is there, and anchors what comes of them to both."""

    outputs = _FIELDS
    auto_ack = False

    def initialize(self, conf: Mapping[str, Any], ctx: TopologyContext) -> None:
        self.held: dict[int, Tuple] = {}

    def process(self, tup: Tuple) -> None:
        values = tup.values
        stumble("join", values.id, values.tries)
        other = self.held.pop(values.pair, None)
        if other is not None and other.values.id != values.id:
            self.pass_on(other, tup)
            return
        if other is not None:  # the same again: its first try timed out
            self.ack(other)
        self.held[values.pair] = tup
        if len(self.held) > _MOST_HELD:
            self.pass_on(self.held.pop(next(iter(self.held))))

    def pass_on(self, *tups: Tuple) -> None:
        """One event of all of them."""
        values = tups[0].values
        self.emit((values.id, min(tup.values.tries for tup in tups), values.key, values.text), anchors=tups)
        for tup in tups:
            self.ack(tup)


@bolt(outputs=_FIELDS)
def generator(id: int, tries: int, key: int, text: str) -> Iterator[tuple[int, int, int, str]]:
    """A function that yields, twice for each event."""
    yield id, tries, key, text
    stumble("generator", id, tries)
    yield id, tries, key, text.upper()


class Sink(Bolt):
    """Counts."""

    def initialize(self, conf: Mapping[str, Any], ctx: TopologyContext) -> None:
        self.count = 0

    def process(self, tup: Tuple) -> None:
        self.count += 1


def build(rate: float, workers: int, most_pending: int) -> Blueprint:
    """`rate` events a second over all spout tasks, 0: at full speed."""
    builder = TopologyBuilder()
    builder.set_spout("events", Pairs, workers)
    builder.set_bolt("inline", Inline, workers).shuffle_grouping("events")
    builder.set_bolt("function", function, workers).shuffle_grouping("inline")
    builder.set_bolt("batch_function", batch_function, workers).load_aware_grouping("function")
    builder.set_bolt("batch_bolt", Batched, workers).load_aware_grouping("batch_function")
    builder.set_bolt("awaited", Awaited, workers).shuffle_grouping("batch_bolt")
    builder.set_bolt("threaded", Threaded, workers).load_aware_grouping("awaited")
    builder.set_bolt("keyed", Keyed, workers).fields_grouping("threaded", ["key"])
    builder.set_bolt("join", Join, workers).fields_grouping("keyed", ["pair"])
    builder.set_bolt("generator", generator, workers).shuffle_grouping("join")
    builder.set_bolt("sink", Sink, workers).load_aware_grouping("generator")
    return builder.create_topology(
        "nine-kinds", {_RATE: rate, "topology.tick.tuple.freq.secs": 1, "topology.max.spout.pending": most_pending}
    )
