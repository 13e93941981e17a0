"""Idle costs nothing: four bolts with pools of 64, no input, and the CPU of the whole process tree over some seconds."""

from __future__ import annotations

import os
import time

from benchmarks.process_tree import TreeSampler
from benchmarks.scenarios.row import Row, at_most
from pasps import Bolt, LocalCluster, Spout, TopologyBuilder, Tuple
from pasps.api import Blueprint

_POOL = 64
_SETTLE_SECONDS = 8.0


class Silent(Spout):
    """Has nothing, and does not say when it will."""

    outputs = ("value",)

    def next_tuple(self) -> None:
        """Emit nothing."""


class Pass(Bolt):
    """Would hand on, if anything came."""

    outputs = ("value",)

    def process(self, tup: Tuple) -> None:
        self.emit([tup.values[0]])


def build(active: int) -> Blueprint:
    """Four bolts in a chain."""
    builder = TopologyBuilder()
    builder.set_spout("silent", Silent, 1)
    previous = "silent"
    for name in ("first", "second", "third", "fourth"):
        builder.set_bolt(name, Pass, active, pool=_POOL).load_aware_grouping(previous)
        previous = name
    return builder.create_topology(f"idle-{active}")


def run(workers: int, seconds: float) -> list[Row]:
    """With one replica of each active, and with all."""
    return [
        at_most(f"idle: 4 bolts, pools of 64, {active} active each", _cpu_share(active, workers, seconds), 1.0, "% of a core")
        for active in (1, _POOL)
    ]


def _cpu_share(active: int, workers: int, seconds: float) -> float:
    with LocalCluster(workers=workers) as cluster:
        running = cluster.submit(build(active))
        time.sleep(_SETTLE_SECONDS)
        sampler = TreeSampler(os.getpid())
        sampler.sample()
        time.sleep(seconds)
        sampler.sample()
        running.kill(wait=1)
    (began, before), (ended, after) = sampler.cpu_seconds
    return 100 * (after - before) / (ended - began)
