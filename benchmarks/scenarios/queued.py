"""What is queued already follows the replicas: tuples that wait for one replica, and then many are activated."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from benchmarks.board import COUNT, Board
from benchmarks.scenarios.row import Row, at_most
from pasps import Bolt, EndOfInput, LocalCluster, Spout, TopologyBuilder, Tuple
from pasps.api import Blueprint, TopologyContext

_TUPLES = 800
_REPLICAS = 16
_WAIT_SECONDS = 0.010
_MOST_SECONDS = 0.7
_PATIENCE_SECONDS = 30.0


class Burst(Spout):
    """Emits everything at once."""

    outputs = ("number",)

    def next_tuple(self) -> None:
        self.emit_batch([(number,) for number in range(_TUPLES)], list(range(_TUPLES)))
        raise EndOfInput


class Waiting(Bolt):
    """Stands for a call to a database or a service."""

    def initialize(self, conf: Mapping[str, Any], ctx: TopologyContext) -> None:
        self.row = Board.shared().row(1 + ctx.task_index)

    async def process(self, tup: Tuple) -> None:
        await asyncio.sleep(_WAIT_SECONDS)
        self.row[COUNT] += 1


def build() -> Blueprint:
    """One spout, one waiting bolt of which one replica is active."""
    builder = TopologyBuilder()
    builder.set_spout("burst", Burst, 1)
    builder.set_bolt("waiting", Waiting, 1, pool=_REPLICAS).load_aware_grouping("burst")
    return builder.create_topology("queued")


def run(workers: int, seconds: float) -> list[Row]:
    """From `set_active` until the last is done, in one worker and in `workers`."""
    return [_measure(count) for count in sorted({1, workers})]


def _measure(workers: int) -> Row:
    board = Board.create(1 + _REPLICAS)
    with LocalCluster(workers=workers) as cluster:
        running = cluster.submit(build(), config={"topology.max.spout.pending": 2 * _TUPLES})
        while _done(board) < 10:
            time.sleep(0.001)
        began = time.monotonic()
        running.set_active("waiting", _REPLICAS)
        while _done(board) < _TUPLES and time.monotonic() - began < _PATIENCE_SECONDS:
            time.sleep(0.001)
        took = time.monotonic() - began
        running.kill(wait=0)
    what = f"{_TUPLES} tuples of {_WAIT_SECONDS * 1e3:g} ms before one replica, {workers} workers: done after {_REPLICAS} are active"
    return at_most(what, took, _MOST_SECONDS, "s")


def _done(board: Board) -> float:
    return sum(board.row(1 + replica)[COUNT] for replica in range(_REPLICAS))
