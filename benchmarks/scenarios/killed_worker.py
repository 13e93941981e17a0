"""SIGKILL of a worker under load: how long until everything executes again, until the worker is back, and what came twice.

Tracked events at a steady rate, replayed when they fail; the worker that is killed hosts a spout, too.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.board import LAST, Board, wait_for
from benchmarks.options import records_directory
from benchmarks.scenarios.replaying_spout import ReplayingSpout
from benchmarks.scenarios.row import Row, at_most
from pasps import Bolt, LocalCluster, TopologyBuilder, Tuple
from pasps.api import Blueprint, TopologyContext

_RATE = 4_000.0
_KEYS = 64
_BEFORE_SECONDS, _AFTER_SECONDS = 4.0, 8.0
_EVENTS = int(_RATE * (_BEFORE_SECONDS + _AFTER_SECONDS))
_SPOUT, _STEP, _SINK = "events", "step", "sink"
# first row on the board of each component, after the driver's
_ROWS = {_SPOUT: 1, _STEP: 20, _SINK: 40}
_REPLICAS = 4
_SEEN = "seen"
# After so long the killed process has written its last; what a row says later comes from who took over.
_DYING_SECONDS = 0.05


class Step(Bolt):
    """A shuffled step in the middle."""

    outputs = ("id", "key")

    def initialize(self, conf: Mapping[str, Any], ctx: TopologyContext) -> None:
        self.row = Board.shared().row(_ROWS[_STEP] + ctx.task_index)

    def process(self, tup: Tuple) -> None:
        self.row[LAST] = time.monotonic()
        self.emit(tup.values)


class Appended:
    """A file that is only appended to; pickles as a reference, so that who holds it can move."""

    def __init__(self, path: Path) -> None:
        self.path, self.descriptor = path, os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)

    def __reduce__(self) -> tuple[Any, ...]:
        return Appended, (self.path,)

    def add(self, number: int) -> None:
        """Append one number, whole: also when the process is killed the next moment."""
        os.write(self.descriptor, number.to_bytes(4, "little"))

    def numbers(self) -> memoryview[int]:
        """All of them so far."""
        content = self.path.read_bytes()
        return memoryview(content[: len(content) // 4 * 4]).cast("I")


class Sink(Bolt):
    """Keyed; notes every id it sees, in a file that outlives its worker."""

    def initialize(self, conf: Mapping[str, Any], ctx: TopologyContext) -> None:
        self.board, self.place = Board.shared(), _ROWS[_SINK] + ctx.task_index
        self.seen = Appended(records_directory() / _SEEN)

    def process(self, tup: Tuple) -> None:
        self.seen.add(tup.values[0])
        self.board.row(self.place)[LAST] = time.monotonic()


def build(workers: int) -> Blueprint:
    """events -> step -> sink by key."""
    builder = TopologyBuilder()
    builder.set_spout(_SPOUT, ReplayingSpout, workers)
    builder.set_bolt(_STEP, Step, _REPLICAS).load_aware_grouping(_SPOUT)
    builder.set_bolt(_SINK, Sink, _REPLICAS).fields_grouping(_STEP, ["key"])
    return builder.create_topology("killed-worker")


def run(workers: int, seconds: float) -> list[Row]:
    """One kill, of the last worker; `seconds` does not change it."""
    board = Board.create(64)
    seen = Appended(records_directory() / _SEEN)
    ReplayingSpout.describe(board, events=_EVENTS, rate=_RATE, parts=workers, keys=_KEYS)
    with LocalCluster(workers=workers) as cluster:
        running = cluster.submit(build(workers))
        time.sleep(_BEFORE_SECONDS)
        before = {worker.pid for worker in running.workers}
        victim = running.workers[-1].pid
        killed = time.monotonic()
        os.kill(victim, signal.SIGKILL)
        rows = _watch(board, lambda: {worker.pid for worker in running.workers if worker.port} - before, workers, killed)
        wait_for(lambda: len(set(seen.numbers())) >= _EVENTS, _AFTER_SECONDS + 60, look_every=0.2)
        replayed = running.stats().replayed
        running.kill(wait=1)
    delivered, distinct = len(seen.numbers()), len(set(seen.numbers()))
    return [
        *rows,
        at_most("worker killed: events missing at the sink", _EVENTS - distinct, 0, "events"),
        Row("worker killed: events that came more than once", delivered - distinct, "events"),
        Row("worker killed: replayed by the spouts", replayed, "events"),
    ]


def _watch(board: Board, new_workers: Callable[[], set[int]], workers: int, killed: float) -> list[Row]:
    """When each component's replicas have all executed again, and when there is a new worker."""
    back: dict[str, float] = {}

    def all_back() -> bool:
        now = time.monotonic()
        for component, first in _ROWS.items():
            replicas = workers if component == _SPOUT else _REPLICAS
            if component not in back and all(board.row(first + replica)[LAST] > killed + _DYING_SECONDS for replica in range(replicas)):
                back[component] = now - killed
        if "worker" not in back and new_workers():
            back["worker"] = now - killed
        return len(back) == len(_ROWS) + 1

    wait_for(all_back, 30.0)
    never = float("inf")
    return [
        at_most(
            "worker killed: all replicas and tasks of all components execute again", max(back.get(name, never) for name in _ROWS), 1.5, "s"
        ),
        Row("worker killed: the worker is back", back.get("worker", never), "s"),
    ]
