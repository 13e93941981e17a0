"""Bolts that have something to say at the end, in every way to run them; see `topologies`."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from pathlib import Path
from typing import Any

from pasps import Bolt, Grouping, Topology, TopologyContext, Tuple
from tests.integration.topologies import Journal, Numbers


class Tally(Bolt):
    """How many came, said at the end; `test.finish` says what goes wrong then, in task 0."""

    outputs = ("n", "count")

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.counts: Counter[int] = Counter()
        self.dir, self.trouble = Path(conf["test.dir"]), conf.get("test.finish")

    def process(self, tup: Tuple) -> None:
        self.counts[tup["key"]] += 1

    def finish(self) -> Any:
        if self.trouble is not None and self.ctx.task_index == 0:
            self.fail_as_told()
        for key, count in self.counts.items():
            self.emit([key, count])

    def fail_as_told(self) -> None:
        if self.trouble == "exit":
            raise SystemExit("enough")
        if self.trouble == "die":
            os._exit(1)
        if self.trouble == "wait":
            (self.dir / f"waits-{self.ctx.worker_id}").touch()
            while not (self.dir / "release").exists():
                time.sleep(0.01)


class ThreadTally(Tally):
    execution = "thread"


class AsyncTally(Tally):
    async def process(self, tup: Tuple) -> None:  # type: ignore[override]
        await asyncio.sleep(0)
        self.counts[tup["key"]] += 1

    async def finish(self) -> None:
        await asyncio.sleep(0.3)
        super().finish()


class Sum(Bolt):
    """Adds up what tallies said, and writes the sum down at its own end, through a sink."""

    outputs = ("kind", "sum")

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.sums: Counter[str] = Counter()

    def process(self, tup: Tuple) -> None:
        self.sums[tup.component] += tup["count"]

    def finish(self) -> None:
        for kind, count in self.sums.items():
            self.emit([kind, count])


class Sink(Bolt):
    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.journal = Journal(conf, ctx)

    def process(self, tup: Tuple) -> None:
        self.journal.write(*tup.values)


class Tallies(Topology):
    """Every number is counted by each of three kinds of bolts; some of their replicas are put out on the way."""

    numbers = Numbers.spec(par=2)
    inline = Tally.spec(inputs={numbers: Grouping.fields("key")}, par=2, pool=5)
    thread = ThreadTally.spec(inputs={numbers: Grouping.SHUFFLE}, par=3)
    awaits = AsyncTally.spec(inputs=[numbers], par=3)
    sum = Sum.spec(inputs=[inline, thread, awaits], par=2)
    sink = Sink.spec(inputs=[sum])


class Inline(Topology):
    numbers = Numbers.spec()
    tally = Tally.spec(inputs={numbers: Grouping.SHUFFLE}, par=2)
    sink = Sink.spec(inputs=[tally])


class Threads(Topology):
    numbers = Numbers.spec()
    tally = ThreadTally.spec(inputs={numbers: Grouping.SHUFFLE}, par=2)
    sink = Sink.spec(inputs=[tally])


class Forgetful(Bolt):
    """Never acks."""

    auto_ack = False

    def process(self, tup: Tuple) -> None:
        pass


class WithForgetful(Topology):
    numbers = Numbers.spec()
    forgetful = Forgetful.spec(inputs=[numbers])
    tally = Tally.spec(inputs=[numbers])
    sink = Sink.spec(inputs=[tally])
