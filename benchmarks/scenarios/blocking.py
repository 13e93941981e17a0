"""Blocking bolts scale in waiting: replicas on threads of their own that each wait 10 ms for a tuple."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from benchmarks.board import COUNT, Board
from benchmarks.scenarios.row import Row, at_least
from pasps import Bolt, LocalCluster, Spout, TopologyBuilder, Tuple
from pasps.api import Blueprint, TopologyContext

_REPLICAS = 32
_WAIT_SECONDS = 0.010
_WARM_UP_SECONDS = 2.0


class Endless(Spout):
    """Emits as fast as it is asked, untracked."""

    outputs = ("number",)

    def initialize(self, conf: Mapping[str, Any], ctx: TopologyContext) -> None:
        self.next = 0

    def next_tuple(self) -> float:
        self.emit_batch([(number,) for number in range(self.next, self.next + 100)])
        self.next += 100
        return 0.0


class Waiting(Bolt):
    """Stands for a call to a database or a service."""

    execution = "thread"

    def initialize(self, conf: Mapping[str, Any], ctx: TopologyContext) -> None:
        self.row = Board.shared().row(1 + ctx.task_index)

    def process(self, tup: Tuple) -> None:
        time.sleep(_WAIT_SECONDS)
        self.row[COUNT] += 1


def build() -> Blueprint:
    """One spout, one waiting bolt."""
    builder = TopologyBuilder()
    builder.set_spout("endless", Endless, 1)
    builder.set_bolt("waiting", Waiting, _REPLICAS).load_aware_grouping("endless")
    return builder.create_topology("blocking")


def run(workers: int, seconds: float) -> list[Row]:
    """Tuples per second, and that over what waiting alone allows."""
    board = Board.create(1 + _REPLICAS)
    with LocalCluster(workers=workers) as cluster:
        running = cluster.submit(build())
        time.sleep(_WARM_UP_SECONDS)
        began, before = time.monotonic(), _executed(board)
        time.sleep(seconds)
        rate = (_executed(board) - before) / (time.monotonic() - began)
        running.kill(wait=0)
    possible = _REPLICAS / _WAIT_SECONDS
    return [
        Row(f"blocking: {_REPLICAS} replicas that wait {_WAIT_SECONDS * 1e3:g} ms", rate, "tuples/s"),
        at_least(f"blocking: of the {possible:,.0f}/s possible", 100 * rate / possible, 95.0, "%"),
    ]


def _executed(board: Board) -> float:
    return sum(board.row(1 + replica)[COUNT] for replica in range(_REPLICAS))
