"""From `set_active` to the first tuple on the replica that it activates, again and again under load."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from benchmarks.board import FIRST, LAST, Board, wait_for
from benchmarks.options import Options
from benchmarks.scenarios.slow_replica import Paced
from benchmarks.workloads import EVENT_FIELDS, ident
from pasps import Bolt, LocalCluster, TopologyBuilder, Tuple
from pasps.api import Blueprint, TopologyContext

_BOLT = "elastic"
# A replica that has executed nothing for so long under this load is parked.
_QUIET_SECONDS = 0.1
_PATIENCE_SECONDS = 5.0
_CHANGE = 0


class Elastic(Bolt):
    """Notes when it executed last, and when first since the driver announced a change."""

    outputs = EVENT_FIELDS

    def initialize(self, conf: Mapping[str, Any], ctx: TopologyContext) -> None:
        board = Board.shared()
        self.driver, self.row, self.change = board.row(0), board.row(1 + ctx.task_index), 0.0

    def process(self, tup: Tuple) -> None:
        now = self.row[LAST] = time.monotonic()
        if self.driver[_CHANGE] != self.change:
            self.change = self.driver[_CHANGE]
            self.row[FIRST] = now
        self.emit(ident(*tup.values))


class End(Bolt):
    """Takes what comes."""

    def process(self, tup: Tuple) -> None:
        """Nothing to do."""


class Scalable(Protocol):
    """What is needed of a running topology."""

    def set_active(self, component: str, n: int) -> int:
        """Change how many replicas are active; returns the table's version."""
        ...


@dataclass(frozen=True, slots=True)
class Change:
    """One activation: seconds until set_active returned, and until the first tuple; None when none came in time."""

    active: int
    returned: float
    first_tuple: float | None


def build(pool: int, workers: int) -> Blueprint:
    """paced -> elastic -> end."""
    builder = TopologyBuilder()
    builder.set_spout("paced", Paced, workers)  # one in each worker: a grouping may prefer its own
    builder.set_bolt(_BOLT, Elastic, 1, pool=pool).load_aware_grouping("paced")
    builder.set_bolt("end", End, workers).load_aware_grouping(_BOLT)
    return builder.create_topology("activation")


def run(changes: int, rate: float, pool: int, workers: int) -> list[Change]:
    """That many activations of one replica, from a random number of active ones."""
    Options("w1", 1, 0, 86_400.0, rate).export()
    board, dice = Board.create(1 + pool), random.Random(5)
    rows = [board.row(1 + replica) for replica in range(pool)]
    measured = []
    with LocalCluster(workers=workers) as cluster:
        running = cluster.submit(build(pool, workers))
        wait_for(lambda: rows[0][LAST] > 0, _PATIENCE_SECONDS)
        for _ in range(changes):
            active = dice.randint(1, pool - 1)
            running.set_active(_BOLT, active)
            wait_for(lambda: len(_parked(rows)) == pool - active, _PATIENCE_SECONDS)  # noqa: B023 - called before the next turn
            measured.append(_activate(running, board.row(0), rows, active + 1))
        running.kill(wait=0)
    return measured


def _parked(rows: list[memoryview[float]]) -> list[memoryview[float]]:
    now = time.monotonic()
    return [row for row in rows if now - row[LAST] > _QUIET_SECONDS]


def _activate(running: Scalable, driver: memoryview[float], rows: list[memoryview[float]], active: int) -> Change:
    parked = _parked(rows)
    driver[_CHANGE] += 1
    began = time.monotonic()
    running.set_active(_BOLT, active)
    returned = time.monotonic() - began
    came = wait_for(lambda: any(row[FIRST] > began for row in parked), _PATIENCE_SECONDS, look_every=0.001)
    first = min((row[FIRST] for row in parked if row[FIRST] > began), default=began)
    return Change(active, returned, first - began if came else None)
