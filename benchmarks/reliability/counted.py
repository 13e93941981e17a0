"""The topology that is watched while parts of its cluster die: numbers at a steady rate, saved, through three bolts to files.

Submitted as it is, so it imports nothing of the benchmarks.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pasps import BatchBolt, Bolt, EndOfInput, Grouping, Spout, Topology, Tuple
from pasps.api import TopologyContext

WAIT_SECONDS = 0.0025
RATE, TOTAL, DIRECTORY = "counted.rate", "counted.total", "counted.directory"


class Counted(Spout):
    """0, 1, 2, ... at `counted.rate` a second, tracked; what fails is emitted again, and how far all is done is saved."""

    outputs = ("n", "key")

    def initialize(self, conf: Mapping[str, Any], ctx: TopologyContext) -> None:
        self.rate, self.total = conf[RATE], conf.get(TOTAL)
        self.low = self.next = self.began_with = ctx.position or 0
        self.again: deque[int] = deque()
        self.open: set[int] = set()
        self.began: float | None = None

    def next_tuple(self) -> float | None:
        now = time.monotonic()
        if self.began is None:
            self.began = now
        if self.again:
            ids = [self.again.popleft() for _ in range(min(200, len(self.again)))]
        elif self.total is not None and self.next >= self.total:
            raise EndOfInput
        else:
            due = int((now - self.began) * self.rate) - (self.next - self.began_with)
            if due <= 0:
                return 0.002
            last = self.next + min(200, due)
            ids = list(range(self.next, last if self.total is None else min(self.total, last)))
            self.next = ids[-1] + 1
            self.open.update(ids)
        self.emit_batch([(n, n % 101) for n in ids], ids)
        return None

    def ack(self, tup_id: int) -> None:
        self.open.discard(tup_id)
        if tup_id == self.low:
            while self.low < self.next and self.low not in self.open:
                self.low += 1
            self.save_position(self.low)

    def fail(self, tup_id: int) -> None:
        self.again.append(tup_id)


class Step(Bolt):
    """Waits, and passes on: one replica carries 400 a second, so that the control loop keeps several at work."""

    execution = "thread"
    outputs = ("n", "key")

    def process(self, tup: Tuple) -> None:
        time.sleep(WAIT_SECONDS)
        self.emit(tup.values)


class Tally(Bolt):
    """Counts by key, so that there are keyed tasks with a state; waits as well."""

    execution = "thread"
    outputs = ("n", "key")

    def initialize(self, conf: Mapping[str, Any], ctx: TopologyContext) -> None:
        self.counts: dict[int, int] = {}

    def process(self, tup: Tuple) -> None:
        time.sleep(WAIT_SECONDS)
        key = tup.values[1]
        self.counts[key] = self.counts.get(key, 0) + 1
        self.emit(tup.values)


class Kept(BatchBolt):
    """Appends to a file of its own when each number came, with one system call for a batch: SIGKILL leaves what was written."""

    def initialize(self, conf: Mapping[str, Any], ctx: TopologyContext) -> None:
        self.name = Path(conf[DIRECTORY]) / f"{ctx.task_index}-{os.getpid()}-{time.monotonic_ns()}.kept"
        self.file = -1

    def process_batch(self, tuples: list[Tuple]) -> None:
        if self.file < 0:
            self.file = os.open(self.name, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        numbers = " ".join(str(tup.values[0]) for tup in tuples)
        os.write(self.file, f"{time.time():.4f} {numbers}\n".encode())


class CountedTopology(Topology):
    """Four replicas of each bolt work, so that every worker has some."""

    counted = Counted.spec()
    step = Step.spec(inputs={counted: Grouping.SHUFFLE}, par=4, pool=8)
    tally = Tally.spec(inputs={step: Grouping.fields("key")}, par=4, pool=8)
    kept = Kept.spec(inputs={tally: Grouping.SHUFFLE}, par=4, pool=8)
