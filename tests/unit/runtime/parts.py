"""Small components that the tests of the runtime put together."""

from __future__ import annotations

from typing import Any

from pasps import Bolt, EndOfInput, Spout, Stream, TopologyBuilder, Tuple, bolt
from pasps.testing import CompletedTopology, complete_topology


class Numbers(Spout):
    """Stands for the list spout that takes its place."""

    outputs = ["number"]

    def next_tuple(self) -> float | None:
        raise EndOfInput


class TwoStreams(Spout):
    outputs = [Stream(["number"], "default"), Stream(["text", "number"], "texts"), Stream(["number"], "chosen", direct=True)]

    def next_tuple(self) -> float | None:
        raise EndOfInput


@bolt(outputs=["number"])
def add_one(number: int) -> tuple[int]:
    return (number + 1,)


@bolt(outputs=["number"])
def only_even(number: int) -> tuple[int] | None:
    return (number,) if number % 2 == 0 else None


class Forward(Bolt):
    """Emits what it got, and the task that it is."""

    outputs = ["number", "task"]

    def process(self, tup: Tuple) -> None:
        self.emit([tup["number"], self.ctx.task_index])


class Explode(Bolt):
    outputs = ["number"]

    def process(self, tup: Tuple) -> None:
        if tup.values[0] % 5 == 3:
            raise ValueError(f"no {tup.values[0]}")
        self.emit(tup.values)


def rows(count: int) -> list[list[Any]]:
    return [[i] for i in range(count)]


def completed(kind: Any, count: int = 3, **options: Any) -> CompletedTopology:
    """What came of numbers that went through one bolt, called "bolt"."""
    builder = TopologyBuilder()
    builder.set_spout("numbers", Numbers)
    builder.set_bolt("bolt", kind).shuffle_grouping("numbers")
    return complete_topology(builder.create_topology("calls"), {"numbers": rows(count)}, **options)
