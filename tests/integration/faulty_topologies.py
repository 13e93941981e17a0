"""Topologies whose components fail, cannot move, or emit what is hard to send; see `topologies`."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import sys
import threading
import time
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from pasps import BatchBolt, Bolt, EndOfInput, Grouping, Spout, Topology, TopologyContext, Tuple, bolt
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


class Stubborn(Bolt):
    """Passes the last number on at the two thousandth try."""

    outputs = ("n", "key")

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.last, self.tries = conf["test.total"] - 1, 0

    def process(self, tup: Tuple) -> None:
        if tup.values[0] == self.last:
            self.tries += 1
            if self.tries < 2000:
                raise ValueError("not yet")
        self.emit(tup.values)


class WithStubborn(Topology):
    """On two workers the failures come from the other one."""

    numbers = Numbers.spec()
    stubborn = Stubborn.spec(inputs={numbers: Grouping.GLOBAL})
    sink = WriteDown.spec(inputs=[stubborn])


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


class EmitsInInitialize(Bolt):
    outputs = ("n",)

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.emit([1])

    def process(self, tup: Tuple) -> None:
        raise AssertionError("never started")


class EmitsTooEarly(Topology):
    numbers = Numbers.spec()
    bolt = EmitsInInitialize.spec(inputs=[numbers])


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


class Trips(Bolt):
    """Does to its worker what `test.trip` names, at number 50, and, unless that is over then, whenever it sees it again."""

    outputs = ("n", "key")

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.trip = getattr(self, conf["test.trip"])
        self.dir = Path(conf["test.dir"])

    def process(self, tup: Tuple) -> None:
        if tup.values[0] == 50:
            self.trip()
        self.emit(tup.values)

    def exit(self) -> None:
        os._exit(7)

    def crash(self) -> None:
        os.kill(os.getpid(), signal.SIGSEGV)

    def loop(self) -> None:
        while not (self.dir / "enough").exists():
            time.monotonic()

    def loop_in_c(self) -> None:
        sum(range(200_000_000))  # seconds in which no other thread runs

    def sleep_in_c(self) -> None:
        ctypes.PyDLL(None).sleep(1000)  # keeps the interpreter, and uses no CPU time

    def exit_in_a_task(self) -> None:
        async def leave() -> None:
            sys.exit(3)

        self.task = asyncio.get_running_loop().create_task(leave())

    def interrupt_in_a_callback(self) -> None:
        def leave() -> None:
            raise KeyboardInterrupt

        asyncio.get_running_loop().call_soon(leave)

    def stop_the_loop(self) -> None:
        asyncio.get_running_loop().stop()

    def cancel_all_tasks(self) -> None:
        for task in asyncio.all_tasks():
            task.cancel()


class WithTrips(Topology):
    config = {"topology.max.spout.pending": 100}
    numbers = Numbers.spec()
    trips = Trips.spec(inputs={numbers: Grouping.GLOBAL})
    sink = WriteDown.spec(inputs=[trips])


class SickPlace(Bolt):
    """No instance lives for long on worker w1."""

    outputs = ("n", "key")

    def process(self, tup: Tuple) -> None:
        if self.ctx.worker_id == "w1":
            os._exit(7)
        self.emit(tup.values)


class WithASickPlace(Topology):
    numbers = Numbers.spec()
    bolt = SickPlace.spec(inputs={numbers: Grouping.SHUFFLE}, par=2, pool=2)
    sink = WriteDown.spec(inputs=[bolt])


class FullPlace(Bolt):
    """Ends worker w1 a second after its first tuple, as a system does whose memory fills up in that time."""

    outputs = ("n", "key")

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.fills_up = ctx.worker_id == "w1"

    def process(self, tup: Tuple) -> None:
        if self.fills_up:
            self.fills_up = False
            threading.Timer(1, os.kill, (os.getpid(), signal.SIGKILL)).start()
        self.emit(tup.values)


class UntilEnough(Numbers):
    """Its input ends when the file `enough` is there; writes down how many there were."""

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        super().initialize(conf, ctx)
        self.enough = Path(conf["test.dir"]) / "enough"
        self.journal = Journal(conf, ctx)

    def next_tuple(self) -> float | None:
        if self.next < self.total and self.enough.exists():
            self.total = self.next
            self.journal.write(self.total)
        return super().next_tuple()


class WithAFullPlace(Topology):
    numbers = UntilEnough.spec()
    bolt = FullPlace.spec(inputs={numbers: Grouping.SHUFFLE}, par=2, pool=2)
    sink = WriteDown.spec(inputs=[bolt])


class GoesAway(Bolt):
    """Its first instance runs until it is killed; none can be made after that while the file `away` is there."""

    outputs = ("n", "key")

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        if (Path(conf["test.dir"]) / "away").exists():
            raise ConnectionError("the database is away")

    def process(self, tup: Tuple) -> None:
        self.emit(tup.values)


class WithGoesAway(Topology):
    numbers = Numbers.spec()
    bolt = GoesAway.spec(inputs=[numbers], par=1, pool=4)
    sink = WriteDown.spec(inputs=[bolt])


@bolt(outputs=["n", "key"])
def same(n: int, key: str) -> tuple[int, str]:
    return n, key


class Nowhere(BatchBolt):
    def process_batch(self, tuples: list[Tuple]) -> None:
        pass


class Fast(Spout):
    """As many tuples as anybody takes, tracked, until the file `enough` is there."""

    outputs = ("n", "key")

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.next, self.enough = 0, Path(conf["test.dir"]) / "enough"

    def next_tuple(self) -> None:
        if self.next % 5000 == 0 and self.enough.exists():
            raise EndOfInput
        numbers = range(self.next, self.next + 500)
        self.emit_batch([(n, "key") for n in numbers], list(numbers))
        self.next += 500


class Functions(Topology):
    """A pipeline of functions, which leave the interpreter to other threads for an instant after each pass only."""

    config = {"topology.max.spout.pending": 5000}
    fast = Fast.spec()
    first = same.spec(inputs=[fast])
    second = same.spec(inputs=[first])
    third = same.spec(inputs=[second])
    fourth = same.spec(inputs=[third])
    sink = Nowhere.spec(inputs=[fourth])
