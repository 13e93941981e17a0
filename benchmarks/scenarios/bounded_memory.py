"""A spout without end before a slow bolt: the memory of the process tree must stop growing."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any

from benchmarks.process_tree import TreeSampler
from benchmarks.scenarios.row import Row, at_most
from benchmarks.workloads import prepared
from pasps import Bolt, LocalCluster, Spout, TopologyBuilder, Tuple
from pasps.api import Blueprint, TopologyContext

_SERVICE_SECONDS = 0.001
_GROWTH_MB = 5.0


class Flood(Spout):
    """Emits as much as it is asked for; with ids when the topology says so."""

    outputs = ("id", "text")
    tracked = False

    def initialize(self, conf: Mapping[str, Any], ctx: TopologyContext) -> None:
        self.next = 0
        self.texts = [text for _, text in prepared()]

    def next_tuple(self) -> float:
        ids = range(self.next, self.next + 500)
        self.next += 500
        self.emit_batch([(id, self.texts[id % len(self.texts)] + str(id)) for id in ids], ids if self.tracked else None)
        return 0.0


class TrackedFlood(Flood):
    """The same with ids."""

    tracked = True


class Slow(Bolt):
    """Keeps its worker busy for a millisecond with each tuple."""

    def process(self, tup: Tuple) -> None:
        until = time.monotonic() + _SERVICE_SECONDS
        while time.monotonic() < until:
            pass


def build(spout: type[Flood], workers: int) -> Blueprint:
    """flood -> pass -> slow, so that pressure has a hop to go back."""
    builder = TopologyBuilder()
    builder.set_spout("flood", spout, 1)
    builder.set_bolt("forward", Forward, workers).load_aware_grouping("flood")
    builder.set_bolt("slow", Slow, workers).load_aware_grouping("forward")
    return builder.create_topology("bounded-memory")


class Forward(Bolt):
    """Hands on."""

    outputs = ("id", "text")

    def process(self, tup: Tuple) -> None:
        self.emit(tup.values)


def run(workers: int, seconds: float) -> list[Row]:
    """Untracked and tracked: after half of the time, and after all of it."""
    return [row for spout in (Flood, TrackedFlood) for row in _measure(spout, workers, seconds)]


def _measure(spout: type[Flood], workers: int, seconds: float) -> list[Row]:
    with LocalCluster(workers=workers) as cluster:
        running = cluster.submit(build(spout, workers))
        sampler = TreeSampler(os.getpid())
        for _ in range(2):
            time.sleep(seconds / 2)
            sampler.sample()
        running.kill(wait=0)
    half, full = (size / 2**20 for _, size in sampler.rss_bytes)
    what = f"endless {'tracked' if spout.tracked else 'untracked'} spout, slow bolt"
    return [
        Row(f"{what}: RSS after {seconds / 2:g} s", half, "MB"),
        at_most(f"{what}: growth in the next {seconds / 2:g} s", full - half, _GROWTH_MB, "MB"),
    ]
