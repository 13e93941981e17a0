"""What `benchmarks.simulation` runs beside `benchmarks.elasticity.line`: bolts that compute, and a mixture; `pasps run` loads this file."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any, ClassVar

from pasps import Bolt, Grouping, Topology, Tuple
from pasps.spouts import TraceSpout


def _compute(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


class Computing(Bolt):
    """Keeps its worker's loop for 1.5 ms of CPU time a tuple."""

    outputs: Sequence[str] = ("id",)

    def process(self, tup: Tuple) -> None:
        """Compute, and hand the id on."""
        _compute(0.0015)
        self.emit((tup.values[0],))


class Splitting(Bolt):
    """Makes two of one, in half a millisecond of CPU time."""

    outputs: Sequence[str] = ("id", "part")

    def process(self, tup: Tuple) -> None:
        """Both parts."""
        _compute(0.0005)
        self.emit((tup.values[0], 0))
        self.emit((tup.values[0], 1))


class Looking(Bolt):
    """Awaits an answer for 15 ms, four at a time."""

    outputs: Sequence[str] = ("id", "part")
    concurrency = 4

    async def process(self, tup: Tuple) -> None:
        """Wait, and hand it on."""
        await asyncio.sleep(0.015)
        self.emit(tup.values)


class Storing(Bolt):
    """Blocks for 10 ms; what has the same id goes to the same task."""

    outputs: Sequence[str] = ()
    execution = "thread"

    def process(self, tup: Tuple) -> None:
        """Wait."""
        time.sleep(0.010)


class Compute(Topology):
    """Two bolts that share the loops of their workers."""

    trace = TraceSpout.spec()
    first = Computing.spec(inputs=[trace], par=2, pool=4)
    second = Computing.spec(inputs=[first], par=2, pool=4)
    config: ClassVar[dict[str, Any]] = {}


class Mixed(Topology):
    """Computes, awaits, blocks; one is two, and the last bolt is keyed."""

    trace = TraceSpout.spec()
    split = Splitting.spec(inputs=[trace], par=2, pool=2)
    look = Looking.spec(inputs=[split], par=2, pool=6)
    store = Storing.spec(inputs={look: Grouping.fields("id")}, par=4, pool=8)
    config: ClassVar[dict[str, Any]] = {}
