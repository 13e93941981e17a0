"""Components and topologies that the tests run in real workers; imported by name there.

What must outlive a killed worker is written to files: every instance appends to one of its own, with one system call a line.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter, deque
from pathlib import Path
from typing import Any

from pasps import Bolt, EndOfInput, Grouping, Spout, Topology, TopologyContext, Tuple, bolt


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


class Chain(Topology):
    """What the tests that kill workers run: every kind of edge, and a sink whose lines survive."""

    numbers = Numbers.spec()
    work = Pass.spec(inputs=[numbers], par=3, pool=6)
    keyed = KeyedCount.spec(inputs={work: Grouping.fields("key")}, par=3, pool=6)
    sink = WriteDown.spec(inputs=[keyed], par=2, pool=4)
