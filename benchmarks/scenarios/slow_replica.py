"""One replica slowed ten times: what it gets and what the slowest hundredth waits, beside the same with none slowed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from benchmarks.board import COUNT, Board, count_latency, latency_percentile
from benchmarks.event_source import EventSource
from benchmarks.options import Options, inherited
from benchmarks.scenarios.row import Row, at_most
from pasps import Bolt, EndOfInput, Grouping, LocalCluster, Spout, TopologyBuilder, Tuple
from pasps.api import Blueprint, GroupingSpec, TopologyContext

_REPLICAS = 8
_SLOW = 3
_SERVICE_SECONDS = 0.002
_SLOWED = 10
# About 55% of what all replicas together can do: too much for the slow one at an equal share.
_RATE = 2_000.0
_WARM_UP_SECONDS = 2.0
_MOST_WORSE = 1.5


class Paced(Spout):
    """Events at a steady rate, each with the moment it was due."""

    outputs = ("id", "user", "text", "ts")

    def initialize(self, conf: Mapping[str, Any], ctx: TopologyContext) -> None:
        self.source = EventSource(inherited(), ctx.task_index, len(ctx.component_tasks(ctx.component_id)))

    def next_tuple(self) -> float:
        events = self.source.take()
        if events is None:
            raise EndOfInput
        if events:
            self.emit_batch(events)
        return self.source.wait_seconds()


class Unequal(Bolt):
    """Waits for each tuple, so that a slow replica does not slow its worker; one of them waits longer."""

    execution = "thread"

    def initialize(self, conf: Mapping[str, Any], ctx: TopologyContext) -> None:
        self.row = Board.shared().row(1 + ctx.task_index)
        self.service = _SERVICE_SECONDS * (conf["slowed"] if ctx.task_index == _SLOW else 1)
        self.count_from = time.monotonic() + _WARM_UP_SECONDS

    def process(self, tup: Tuple) -> None:
        time.sleep(self.service)
        now = time.monotonic()
        if now >= self.count_from:
            self.row[COUNT] += 1
            count_latency(self.row, now - tup.values[3])


def build(grouping: GroupingSpec) -> Blueprint:
    """One spout, one bolt, by `grouping`."""
    builder = TopologyBuilder()
    builder.set_spout("paced", Paced, 1)
    builder.set_bolt("unequal", Unequal, _REPLICAS).grouping("paced", grouping)
    return builder.create_topology("slow-replica")


def run(workers: int, seconds: float) -> list[Row]:
    """The same load by each grouping, with none slowed and with one; LOAD_AWARE_PAPER sends to replicas, not to queues."""
    Options("w1", 1, 0, seconds + 3600, _RATE).export()
    groupings = (Grouping.LOAD_AWARE, Grouping.SHUFFLE, Grouping.LOAD_AWARE_PAPER)
    return [row for grouping in groupings for row in _compare(grouping, workers, seconds)]


def _compare(grouping: GroupingSpec, workers: int, seconds: float) -> list[Row]:
    _, _, plain = _measure(grouping, workers, seconds, 1)
    share, rate, slowed = _measure(grouping, workers, seconds, _SLOWED)
    what, worse = f"one of {_REPLICAS} replicas slowed {_SLOWED} times, {grouping}", f"{grouping}: its p99 over that with none slowed"
    ratio = slowed / plain if plain else 0.0
    aimed = grouping is Grouping.LOAD_AWARE
    return [
        Row(f"{what}: its share", 100 * share, "% of the tuples"),
        Row(f"{what}: done of {_RATE:,.0f}/s offered", rate, "tuples/s"),
        Row(f"{what}: p99", slowed * 1e3, "ms"),
        at_most(worse, ratio, _MOST_WORSE, "times") if aimed else Row(worse, ratio, "times"),
    ]


def _measure(grouping: GroupingSpec, workers: int, seconds: float, slowed: int) -> tuple[float, float, float]:
    """The share of the one that may be slowed, tuples done in a second, and p99 in seconds."""
    board = Board.create(1 + _REPLICAS)
    rows = [board.row(1 + replica) for replica in range(_REPLICAS)]
    with LocalCluster(workers=workers) as cluster:
        running = cluster.submit(build(grouping), config={"slowed": slowed})
        time.sleep(_WARM_UP_SECONDS + seconds)
        counts = [row[COUNT] for row in rows]
        p99 = latency_percentile(rows, 0.99)
        running.kill(wait=0)
    return counts[_SLOW] / max(sum(counts), 1.0), sum(counts) / seconds, p99
