"""What the tests of restarts run, beside `topologies`; imported by name in workers."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from pasps import Bolt, Grouping, Topology, TopologyContext, Tuple
from tests.integration.topologies import Numbers, Pass, WriteDown


class Slowly(Bolt):
    """2 ms for each tuple, so that some always wait before it."""

    outputs = ("n", "key")

    def process(self, tup: Tuple) -> None:
        time.sleep(0.002)
        self.emit(tup.values)


class Queueing(Topology):
    """One tuple for each number everywhere, so that what is lost is counted by tuples."""

    numbers = Numbers.spec()
    work = Pass.spec(inputs=[numbers], par=2, pool=4)
    slowly = Slowly.spec(inputs={work: Grouping.SHUFFLE}, par=2, pool=4)
    sink = WriteDown.spec(inputs={slowly: Grouping.SHUFFLE}, par=2, pool=4)


class Life(Bolt):
    """Writes down its life: what it was told at its begin, and its end. Does not begin while there is a file `refuse`."""

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        if (Path(conf["test.dir"]) / "refuse").exists():
            raise ConnectionError("no database here")
        self.path = Path(conf["test.dir"]) / f"{ctx.component_id}-{ctx.task_index}-{time.time_ns()}.log"
        self.seen, self.closes = 0, conf.get("test.closes", 0.0)
        self._write("begins", int(ctx.restarted))

    def process(self, tup: Tuple) -> None:
        self.seen += 1
        self._write("seen", self.seen)

    def close(self) -> None:
        self._write("closes", self.seen)
        time.sleep(self.closes)

    def _write(self, *values: object) -> None:
        # no file is kept open: the instance may move to another worker
        with self.path.open("a") as file:
            print(*values, file=file)


class Lives(Topology):
    numbers = Numbers.spec()
    life = Life.spec(inputs={numbers: Grouping.fields("key")}, par=1, pool=2)
