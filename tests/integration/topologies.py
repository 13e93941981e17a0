"""Components and topologies that the tests run in real workers; imported by name there.

What must outlive a killed worker is written to files: every instance appends to one of its own, with one system call a line.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import time
from collections import Counter, deque
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from pasps import BatchBolt, Bolt, EndOfInput, Grouping, Spout, Topology, TopologyContext, Tuple, bolt


class Journal:
    """Lines appended to a file of this instance and process; a line that was written survives SIGKILL."""

    def __init__(self, conf: dict[str, Any], ctx: TopologyContext, what: str = "") -> None:
        name = f"{ctx.component_id}{what}-{ctx.task_index}-{os.getpid()}-{time.monotonic_ns()}.log"
        self._file = os.open(Path(conf["test.dir"]) / name, os.O_CREAT | os.O_APPEND | os.O_WRONLY)

    def write(self, *values: object) -> None:
        os.write(self._file, (" ".join(map(str, values)) + "\n").encode())


class Numbers(Spout):
    """0, 1, 2, ... `test.total` numbers with `test.keys` keys, tracked; what fails is emitted again, and its position is kept.

    With several tasks each takes every so many-th; then `next` and `low` count its own ones only.

    `test.rate` in numbers a second; without it, as fast as they are asked for.
    """

    outputs = ("n", "key")

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.keys, self.rate = conf.get("test.keys", 13), conf.get("test.rate")
        self.first, self.stride = ctx.task_index, len(ctx.component_tasks(ctx.component_id))
        self.total = len(range(self.first, conf["test.total"], self.stride))
        self.saves = conf.get("test.save", True)
        self.low = self.next = ctx.position or 0
        self.again: deque[int] = deque()
        self.open: set[int] = set()
        self.began: float | None = None
        self.begun_at = self.next

    def next_tuple(self) -> float | None:
        if self.began is None:
            self.began = time.monotonic()
        if self.again:
            ids = [self.again.popleft() for _ in range(min(100, len(self.again)))]
        else:
            if self.next >= self.total:
                raise EndOfInput
            most = 100
            if self.rate is not None:
                most = min(most, int((time.monotonic() - self.began) * self.rate) - (self.next - self.begun_at))
            if most <= 0:
                return 0.002
            ids = list(range(self.next, min(self.total, self.next + most)))
            self.next = ids[-1] + 1
            self.open.update(ids)
        numbers = [self.first + i * self.stride for i in ids]
        self.emit_batch([(n, n % self.keys) for n in numbers], ids)
        return None

    def ack(self, tup_id: int) -> None:
        self.open.discard(tup_id)
        if tup_id == self.low or len(self.open) == 0:
            while self.low < self.next and self.low not in self.open:
                self.low += 1
            if self.saves:
                self.save_position(self.low)

    def fail(self, tup_id: int) -> None:
        self.again.append(tup_id)


class Words(Spout):
    """`test.total` words out of 97, tracked, as fast as they are asked for."""

    outputs = ("word",)

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.next, self.total = 0, conf["test.total"]

    def next_tuple(self) -> None:
        if self.next >= self.total:
            raise EndOfInput
        ids = range(self.next, min(self.total, self.next + 200))
        self.next = ids[-1] + 1
        self.emit_batch([(f"w{n % 97}",) for n in ids], ids)


@bolt(outputs=["word"])
def upper(word: str) -> tuple[str]:
    return (word.upper(),)


class Pass(Bolt):
    """Passes n and key on, load-aware or however it is wired."""

    outputs = ("n", "key")

    def process(self, tup: Tuple) -> None:
        self.emit(tup.values)


class PassWord(Bolt):
    outputs = ("word",)

    def process(self, tup: Tuple) -> None:
        self.emit(tup.values)


class CountWords(Bolt):
    """Counts by word, and writes its counts down when it is closed."""

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.counts: Counter[str] = Counter()
        self.dir = conf["test.dir"]

    def process(self, tup: Tuple) -> None:
        self.counts[tup.values[0]] += 1

    def close(self) -> None:
        if self.counts:
            (Path(self.dir) / f"counts-{self.ctx.task_index}.json").write_text(json.dumps(self.counts))


class WordCount(Topology):
    words = Words.spec()
    up = upper.spec(inputs=[words], par=2, pool=4)
    same = PassWord.spec(inputs={up: Grouping.SHUFFLE}, par=2, pool=3)
    count = CountWords.spec(inputs={same: Grouping.fields("word")}, par=2, pool=8)


class KeyedCount(Bolt):
    """Counts by key, and says which number of the key came before."""

    outputs = ("n", "key", "count", "before")

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.counts: Counter[int] = Counter()
        self.last: dict[int, int] = {}

    def process(self, tup: Tuple) -> None:
        n, key = tup.values[:2]
        self.counts[key] += 1
        self.emit((n, key, self.counts[key], self.last.get(key, -1)))
        self.last[key] = n


class PassCount(Bolt):
    outputs = ("n", "key", "count", "before")

    def process(self, tup: Tuple) -> None:
        self.emit(tup.values)


class SecondCount(Bolt):
    """Counts by key again, behind edges that keep no order."""

    outputs = ("n", "key", "count", "before", "second")

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.counts: Counter[int] = Counter()

    def process(self, tup: Tuple) -> None:
        key = tup.values[1]
        self.counts[key] += 1
        self.emit((*tup.values, self.counts[key]))


class WriteDown(Bolt):
    """The sink: every tuple is a line."""

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.journal = Journal(conf, ctx)

    def process(self, tup: Tuple) -> None:
        self.journal.write(*tup.values)


class Elastic(Topology):
    """Keyed first, so that its order is the spout's; then load-aware and shuffle; then keyed again."""

    numbers = Numbers.spec()
    first = KeyedCount.spec(inputs={numbers: Grouping.fields("key")}, par=2, pool=6)
    aware = PassCount.spec(inputs=[first], par=2, pool=5)
    shuffled = PassCount.spec(inputs={aware: Grouping.SHUFFLE}, par=2, pool=5)
    second = SecondCount.spec(inputs={shuffled: Grouping.fields("key")}, par=2, pool=6)
    sink = WriteDown.spec(inputs={second: Grouping.GLOBAL})


class Chain(Topology):
    """What the tests that kill workers run: every kind of edge, and a sink whose lines survive."""

    numbers = Numbers.spec()
    work = Pass.spec(inputs=[numbers], par=3, pool=6)
    keyed = KeyedCount.spec(inputs={work: Grouping.fields("key")}, par=3, pool=6)
    sink = WriteDown.spec(inputs=[keyed], par=2, pool=4)


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

    config = {"topology.tick.tuple.freq.secs": 0.05}  # noqa: RUF012 - as users write it

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
    config = {"topology.tick.tuple.freq.secs": 0.02}  # noqa: RUF012

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
