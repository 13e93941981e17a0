"""Topologies that are slow, wait, or keep tuples, and one of everything; see `topologies`."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from pathlib import Path
from typing import Any

from pasps import BatchBolt, Bolt, Grouping, Spout, Topology, TopologyContext, Tuple
from tests.integration.topologies import Journal, KeyedCount, Numbers, Pass, WriteDown


class Slow(Bolt):
    """1 ms for each tuple."""

    outputs = ("n", "key")

    def process(self, tup: Tuple) -> None:
        time.sleep(0.001)
        self.emit(tup.values)


class Endless(Spout):
    """Could emit without end."""

    outputs = ("n", "key")

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.next = 0
        self.tracked = conf.get("test.tracked", True)

    def next_tuple(self) -> None:
        ids = range(self.next, self.next + 100)
        self.next += 100
        self.emit_batch([(n, n % 7) for n in ids], ids if self.tracked else None)


class Fan(Bolt):
    """A thousand for one."""

    outputs = ("n", "key")

    def process(self, tup: Tuple) -> None:
        for i in range(1000):
            self.emit((tup.values[0], i))


class Swallow(Bolt):
    def process(self, tup: Tuple) -> None:
        pass


class SlowSwallow(Bolt):
    def process(self, tup: Tuple) -> None:
        time.sleep(0.001)


class SlowChain(Topology):
    source = Endless.spec()
    a = Pass.spec(inputs=[source], par=2)
    b = Pass.spec(inputs={a: Grouping.SHUFFLE}, par=2)
    slow = SlowSwallow.spec(inputs={b: Grouping.fields("key")}, par=2)


class SlowDiamond(Topology):
    source = Endless.spec()
    left = Pass.spec(inputs=[source], par=2)
    right = Slow.spec(inputs=[source], par=2)
    join = Swallow.spec(inputs={left: Grouping.fields("n"), right: Grouping.fields("n")}, par=2)


class SlowFan(Topology):
    source = Endless.spec()
    fan = Fan.spec(inputs=[source], par=2)
    slow = SlowSwallow.spec(inputs=[fan], par=2)


class TwoPaths(Topology):
    """A path that blocks, and one beside it."""

    source = Endless.spec()
    stuck = SlowSwallow.spec(inputs=[source])
    numbers = Numbers.spec()
    swift = Pass.spec(inputs=[numbers], par=2)
    sink = Swallow.spec(inputs=[swift], par=2)


class InThread(Bolt):
    """Waits in a thread."""

    execution = "thread"
    outputs = ("n", "key")

    def process(self, tup: Tuple) -> None:
        time.sleep(0.001)
        self.emit(tup.values)


class Awaits(Bolt):
    """Waits on the loop, eight at a time."""

    concurrency = 8
    outputs = ("n", "key")

    async def process(self, tup: Tuple) -> None:
        await asyncio.sleep(0.001)
        self.emit(tup.values[:2])


class Batches(BatchBolt):
    outputs = ("n", "key")

    def process_batch(self, tuples: list[Tuple]) -> list[Any]:
        return [tup.values for tup in tuples]


class Waiting(Topology):
    numbers = Numbers.spec()
    thread = InThread.spec(inputs=[numbers], par=4, pool=8)
    awaits = Awaits.spec(inputs={thread: Grouping.SHUFFLE}, par=2, pool=4)
    batches = Batches.spec(inputs={awaits: Grouping.partial_key("key")}, par=2, pool=4)
    keyed_thread = InThread.spec(inputs={batches: Grouping.fields("key")}, par=4, pool=8)
    sink = WriteDown.spec(inputs=[keyed_thread])


class Hooks(Bolt):
    """Writes down which hooks ran, where, and its ticks."""

    config = {"topology.tick.tuple.freq.secs": 0.05}

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.journal = Journal(conf, ctx)
        self.journal.write("initialize")

    def activate(self) -> None:
        self.journal.write("activate")

    def deactivate(self) -> None:
        self.journal.write("deactivate")

    def process(self, tup: Tuple) -> None:
        self.journal.write("process")

    def process_tick(self, tup: Tuple) -> None:
        self.journal.write("tick", tup.values[0])

    def close(self) -> None:
        self.journal.write("close")


class WithHooks(Topology):
    numbers = Numbers.spec()
    hooks = Hooks.spec(inputs=[numbers], par=2, pool=4)


class Holds(Bolt):
    """Keeps every tuple until the file `release` is there."""

    auto_ack = False
    config = {"topology.tick.tuple.freq.secs": 0.02}

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.kept: list[Tuple] = []
        self.release = Path(conf["test.dir"]) / "release"

    def process(self, tup: Tuple) -> None:
        self.kept.append(tup)

    def process_tick(self, tup: Tuple) -> None:
        if self.release.exists():
            kept, self.kept = self.kept, []
            for held in kept:
                self.ack(held)


class WithHolds(Topology):
    numbers = Numbers.spec()
    holds = Holds.spec(inputs=[numbers])


class SaysWhenStopped(Numbers):
    """Makes the file `asleep` when its topology is to sleep."""

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        super().initialize(conf, ctx)
        self.asleep = Path(conf["test.dir"]) / "asleep"

    def deactivate(self) -> None:
        self.asleep.touch()


class ClosesSlowly(Holds):
    """Makes the file `closing` when it is closed, which takes `test.closes` seconds."""

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        super().initialize(conf, ctx)
        self.closing, self.seconds = Path(conf["test.dir"]) / "closing", conf["test.closes"]

    def close(self) -> None:
        self.closing.touch()
        time.sleep(self.seconds)


class SlowToEnd(Topology):
    numbers = SaysWhenStopped.spec()
    holds = ClosesSlowly.spec(inputs=[numbers])


class Cuts(Bolt):
    """Breaks all of its worker's TCP connections at certain numbers, once each."""

    outputs = ("n", "key")

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.at = set(conf["test.cut_at"])

    def process(self, tup: Tuple) -> None:
        if tup.values[0] in self.at:
            self.at.discard(tup.values[0])
            for name in os.listdir("/proc/self/fd"):
                _cut(int(name))
        self.emit(tup.values)


def _cut(number: int) -> None:
    try:
        copy = socket.socket(fileno=os.dup(number))
    except OSError:
        return
    try:
        if copy.family == socket.AF_INET:
            copy.getpeername()
            copy.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    finally:
        copy.close()


class WithCuts(Topology):
    numbers = Numbers.spec()
    cuts = Cuts.spec(inputs={numbers: Grouping.fields("n")}, par=2)
    work = Pass.spec(inputs={cuts: Grouping.SHUFFLE}, par=2, pool=4)
    keyed = KeyedCount.spec(inputs={work: Grouping.fields("key")}, par=2, pool=4)
    sink = WriteDown.spec(inputs=[keyed], par=2)


class Everything(Topology):
    """Two spout tasks, all ways to run a bolt, several groupings, and a bolt that breaks connections."""

    numbers = Numbers.spec(par=2)
    cuts = Cuts.spec(inputs={numbers: Grouping.fields("n")}, par=2, pool=3)
    thread = InThread.spec(inputs=[cuts], par=3, pool=6)
    keyed = KeyedCount.spec(inputs={thread: Grouping.fields("key")}, par=2, pool=6)
    awaits = Awaits.spec(inputs={keyed: Grouping.partial_key("key")}, par=2, pool=4)
    sink = WriteDown.spec(inputs=[awaits], par=2, pool=3)
