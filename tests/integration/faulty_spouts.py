"""Spouts that make the mistakes of users; see `test_spout_mistakes`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import numpy

from pasps import Blueprint, Spout, TopologyBuilder, TopologyContext, Tuple
from tests.integration.topologies import Numbers, WriteDown


class OwnError(BaseException):
    """No Exception."""


KINDS: dict[str, Callable[[], BaseException]] = {
    "cancelled": asyncio.CancelledError,
    "exit": lambda: SystemExit("in a spout"),
    "interrupt": KeyboardInterrupt,
    "generator": GeneratorExit,
    "stop": StopIteration,
    "own": OwnError,
}


class Raises(Numbers):
    """In each of its methods at the third call."""

    kind = ""

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        super().initialize(conf, ctx)
        self.calls: dict[str, int] = {}

    def trip(self, method: str, at: int = 3) -> None:
        self.calls[method] = self.calls.get(method, 0) + 1
        if self.calls[method] == at:
            raise KINDS[self.kind]()

    def next_tuple(self) -> float | None:
        self.trip("next_tuple")
        return super().next_tuple()

    def ack(self, tup_id: int) -> None:
        super().ack(tup_id)
        self.trip("ack")

    def backlog(self) -> int | None:
        self.trip("backlog", 2)
        return None

    def due_at(self, tup_id: int) -> float | None:
        self.trip("due_at")
        return None

    def activate(self) -> None:
        self.trip("activate", 1)

    def close(self) -> None:
        self.trip("close", 1)


ODD_BACKLOGS: dict[str, Any] = {"float": 3.0, "text": "3", "bool": True, "negative": -3, "array": numpy.array([1, 2])}
ODD_RETURNS: dict[str, Any] = {"word": "soon", "nan": float("nan"), "endless": float("inf"), "row": [1, 2]}
ODD_POSITIONS: dict[str, Any] = {"huge": b"x" * 3_000_000, "function": lambda: None}


class SaysOdd(Numbers):
    """Says something odd of itself, or of when it wants to be asked, next to emitting as it should."""

    kind = ""

    def next_tuple(self) -> float | None:
        found = super().next_tuple()
        return ODD_RETURNS.get(self.kind, found)

    def backlog(self) -> int | None:
        if self.kind == "numpy":
            return numpy.int64(3)  # type: ignore[return-value]
        return ODD_BACKLOGS.get(self.kind)

    def ack(self, tup_id: int) -> None:
        super().ack(tup_id)
        if self.kind in ODD_POSITIONS:
            self.save_position(ODD_POSITIONS[self.kind])
        elif self.kind == "numpy":
            self.save_position(numpy.int64(self.low))


class EmitsElsewhere(Numbers):
    def activate(self) -> None:
        self.emit((1, 1))

    def close(self) -> None:
        self.emit_batch([(1, 1)])


class Reads(WriteDown):
    """Takes what several spouts emit, and writes down whose it is."""

    def process(self, tup: Tuple) -> None:
        self.journal.write(self.ctx.component_tasks(tup.component)[0], tup.values[0])


def mistakes() -> Blueprint:
    """One topology of all of them, each with its own numbers."""
    builder = TopologyBuilder()
    names: list[str] = []

    def add(name: str, kind: type[Spout]) -> None:
        builder.set_spout(name, kind)
        names.append(name)

    for kind in KINDS:
        add(f"raises_{kind}", type(f"Raises_{kind}", (Raises,), {"kind": kind}))
    for kind in (*ODD_BACKLOGS, *ODD_RETURNS, *ODD_POSITIONS, "numpy"):
        add(f"says_{kind}", type(f"Says_{kind}", (SaysOdd,), {"kind": kind}))
    add("elsewhere", EmitsElsewhere)
    sink = builder.set_bolt("sink", Reads, 2)
    for name in names:
        sink.shuffle_grouping(name)
    return builder.create_topology("mistakes")
