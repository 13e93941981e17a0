"""Topologies whose components fail, cannot move, or emit what is hard to send; see `topologies`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from pasps import Bolt, EndOfInput, Grouping, Spout, Topology, TopologyContext, Tuple
from tests.integration.topologies import Journal, Numbers, WriteDown


class Fragile(Bolt):
    """Raises on every number that 10 divides, the first time that it sees it."""

    outputs = ("n", "key")

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.seen: set[int] = set()

    def process(self, tup: Tuple) -> None:
        n = tup.values[0]
        if n % 10 == 0 and n not in self.seen:
            self.seen.add(n)
            raise ValueError(f"cannot digest {n}")
        self.emit(tup.values)


class WithFragile(Topology):
    numbers = Numbers.spec()
    fragile = Fragile.spec(inputs={numbers: Grouping.fields("n")}, par=2, pool=2)
    sink = WriteDown.spec(inputs=[fragile])


class HoldsAFile(Bolt):
    """A keyed task that cannot be pickled."""

    outputs = ("n", "key")

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.log = (Path(conf["test.dir"]) / f"open-{ctx.task_index}-{os.getpid()}").open("w")

    def process(self, tup: Tuple) -> None:
        self.emit(tup.values)

    def close(self) -> None:
        self.log.close()


class DropsItsFile(HoldsAFile):
    """The same, with the hooks that let it move."""

    def on_move_out(self) -> None:
        self.log.close()
        del self.log

    def on_move_in(self, ctx: TopologyContext) -> None:
        self.log = Path(os.devnull).open("w")  # noqa: SIM115 - open for as long as the task lives here


class Unmovable(Topology):
    numbers = Numbers.spec()
    keyed = HoldsAFile.spec(inputs={numbers: Grouping.fields("key")}, par=1, pool=4)
    sink = WriteDown.spec(inputs=[keyed])


class MovableByHooks(Topology):
    numbers = Numbers.spec()
    keyed = DropsItsFile.spec(inputs={numbers: Grouping.fields("key")}, par=1, pool=4)
    sink = WriteDown.spec(inputs=[keyed])


class RefusesToStart(Bolt):
    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        raise RuntimeError("no database here")

    def process(self, tup: Tuple) -> None:
        raise AssertionError("never started")


class NeverStarts(Topology):
    numbers = Numbers.spec()
    bolt = RefusesToStart.spec(inputs=[numbers], par=2)


class Forgets(Bolt):
    """Neither acks nor fails the numbers that 10 divides, the first time."""

    auto_ack = False
    outputs = ("n", "key")

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.seen: set[int] = set()

    def process(self, tup: Tuple) -> None:
        n = tup.values[0]
        if n % 10 == 0 and n not in self.seen:
            self.seen.add(n)
            return
        self.emit(tup.values)
        self.ack(tup)


class WithForgets(Topology):
    numbers = Numbers.spec()
    forgets = Forgets.spec(inputs={numbers: Grouping.fields("n")}, par=2)
    sink = WriteDown.spec(inputs=[forgets])


@dataclass
class Point:
    x: float
    y: int
    at: datetime


class Opaque:
    """A value that no wire takes."""


class Things(Spout):
    """One tuple of everything that may travel; then, with `test.opaque`, one that may not."""

    outputs = ("number", "value")

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.left = [*enumerate(everything())]
        if conf.get("test.opaque"):
            self.left.insert(3, (99, Opaque()))
        self.journal = Journal(conf, ctx)

    def next_tuple(self) -> None:
        if not self.left:
            raise EndOfInput
        number, value = self.left.pop(0)
        self.emit((number, value), tup_id=number)

    def fail(self, tup_id: int) -> None:
        self.journal.write(tup_id)


def everything() -> list[Any]:
    when = datetime(2026, 2, 3, 4, 5, 6, 789, tzinfo=UTC)
    return [
        None, True, 17, -(2**63), 1.5, "Grüße", b"\x00\xff", [1, [2, None]], {"a": {"b": 1}}, (1, ("x", b"y")),
        when, datetime(2026, 2, 3), date(2026, 2, 3), timedelta(seconds=3), Point(1.5, 2, when), [Point(0.0, 0, when)],
    ]  # fmt: skip


class Compare(Bolt):
    """Writes down which things arrived as they were sent, type and all."""

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.journal = Journal(conf, ctx)
        self.expected = everything()

    def process(self, tup: Tuple) -> None:
        number, value = tup.values
        same = number < len(self.expected) and value == self.expected[number] and type(value) is type(self.expected[number])
        self.journal.write(number, int(same))


class Travel(Topology):
    """`ALL` to a pool over two workers, so that everything crosses."""

    things = Things.spec()
    sink = Compare.spec(inputs={things: Grouping.ALL}, par=2, pool=2)
