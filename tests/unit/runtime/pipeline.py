"""A topology with load-aware, shuffle and fields edges that writes down what must hold, and the checks on it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

from pasps import Blueprint, Bolt, EndOfInput, Spout, StatefulFunction, TopologyBuilder, TopologyContext, Tuple, bolt
from pasps.runtime.executor import BoltExecutor
from pasps.runtime.hosting import ReplicaState
from pasps.runtime.waiting_executors import WaitingExecutor
from pasps.runtime.worker import Worker
from pasps.testing import StepRun
from pasps.testing.journal import Report

KEYS = 13


class Numbers(Spout):
    """Stands for the list spouts that take its place."""

    outputs = ["number"]

    def next_tuple(self) -> float | None:
        raise EndOfInput


@bolt(outputs=["number"])
def same(number: int) -> tuple[int]:
    return (number,)


class Stamp(Bolt):
    """Adds the key, its own task and the number of tuples of that key that it has sent."""

    outputs = ["key", "number", "sender", "position"]

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.sent: Counter[int] = Counter()

    def process(self, tup: Tuple) -> None:
        number = tup.values[0]
        key = number % KEYS
        self.sent[key] += 1
        self.emit((key, number, f"{self.ctx.task_id}@{id(self)}", self.sent[key]))


class Count(Bolt):
    """Counts by key; its state moves with its task."""

    outputs = ["key", "number", "sender", "position", "count", "worker"]

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.counts: Counter[int] = Counter()

    def process(self, tup: Tuple) -> None:
        self.counts[tup.values[0]] += 1
        self.emit((*tup.values, self.counts[tup.values[0]], f"{self.ctx.worker_id}/{self.ctx.task_index}"))


class AsyncCount(Count):
    async def process(self, tup: Tuple) -> None:  # type: ignore[override]
        super().process(tup)


class ThreadCount(Count):
    execution = "thread"


class StatefulCount(StatefulFunction):
    outputs = Count.outputs
    initialize = Count.initialize
    counts: Counter[int]

    def __call__(self, key: int, number: int, sender: str, position: int) -> tuple[Any, ...]:
        self.counts[key] += 1
        return key, number, sender, position, self.counts[key], f"{self.ctx.worker_id}/{self.ctx.task_index}"


def pipeline(count: type[Any] = Count, pool: int = 4, spouts: int = 2, config: dict[str, Any] | None = None) -> Blueprint:
    builder = TopologyBuilder()
    builder.set_spout("numbers", Numbers, spouts)
    builder.set_bolt("same", same, 2, pool).load_aware_grouping("numbers")
    builder.set_bolt("stamp", Stamp, 2, pool).shuffle_grouping("same")
    builder.set_bolt("count", count, 3, pool + 2).fields_grouping("stamp", "key")
    builder.set_bolt("last", Last, 2, pool).fields_grouping("count", "key")
    builder.set_bolt("sink", same_row, 1, 2).load_aware_grouping("last")
    return builder.create_topology("pipeline", {"topology.executor.receive.buffer.size": 64, **(config or {})})


@bolt(outputs=["key", "number"])
def same_row(key: int, number: int, count: int) -> tuple[int, int]:
    return key, number


class Last(Bolt):
    """Keyed behind a keyed bolt: sees what `count` emitted for a key, in the order in which it came."""

    outputs = ["key", "number", "count"]

    def process(self, tup: Tuple) -> None:
        self.emit((tup["key"], tup["number"], tup["count"]))


class Watch:
    """Looks at a run after every step: no replica that reported PARKED works until a table activates it again."""

    def __init__(self, run: StepRun) -> None:
        self.run = run
        self._frozen: dict[BoltExecutor, int] = {}

    def step(self) -> None:
        if not self.run.step():
            self.run.wait_outside()
        for worker in self.run.workers.values():
            for (component, replica), executor in worker.residents.executors.items():
                if worker.pool.states.get((component, replica)) is not ReplicaState.INACTIVE:
                    self._frozen.pop(executor, None)
                    continue
                done = sum(executor.meter.executed.values()) + executor.inbox.waits_for(executor)
                if isinstance(executor, WaitingExecutor):
                    done += executor.under_way
                assert self._frozen.setdefault(executor, done) == done, f"{component}[{replica}] worked after it had parked"


class NeverBack:
    """Looks at the counts after every step: one goes back only when a worker has died that had the state since it was counted."""

    def __init__(self, run: StepRun) -> None:
        self.run = run
        self._read = self._heard = 0
        self._counts: dict[int, int] = {}
        self._tasks: dict[int, int] = {}
        self._holders: defaultdict[int, list[Worker]] = defaultdict(list)  # by key, since its last count
        self._live: dict[str, Worker] = {}

    def look(self) -> None:
        self._live |= self.run.workers
        moved = [report for report in self.run.journal.reports[self._heard :] if report.kind == "moved" and report.component == "count"]
        self._arrived(moved)
        self._heard = len(self.run.journal.reports)
        rows = self.run.emitted.get("count", {}).get("default", [])
        for key, _, _, _, count, where in rows[self._read :]:
            name, task = where.split("/")
            before, holders = self._counts.get(key, 0), self._holders[key]
            if all(self.run.workers.get(holder.id) is holder for holder in holders):
                on = [holder.id for holder in holders]
                assert count == before + 1, f"key {key}: {count} on {where} after {before} on {on}, all alive"
            self._counts[key], self._tasks[key], self._holders[key] = count, int(task), [self.run.workers[name]]
        self._read = len(rows)
        self._arrived(moved)  # again: what a thread counted in the same step may have been before the move

    def _arrived(self, moved: list[Report]) -> None:
        for report in moved:
            for key in [key for key, task in self._tasks.items() if task == report.index]:
                self._holders[key].append(self._live[report.worker])


def check_counts(run: StepRun, total: int) -> None:
    """Nothing was lost, duplicated or reordered, and every key's count is continuous."""
    assert run.journal.of("error") == []
    assert sorted(row[1] for row in run.emitted["sink"]["default"]) == list(range(total))
    assert run.verdicts.failed["numbers"] == []
    rows = run.emitted["count"]["default"]
    counted: Counter[int] = Counter()
    for key, _, _, _, count, _ in rows:
        counted[key] += 1
        assert count == counted[key], f"key {key}: count {count} after {counted[key] - 1}"
    check_order(run)


def check_order(run: StepRun) -> None:
    """What one sender sent with one key arrived in that order."""
    positions: defaultdict[tuple[int, str], list[int]] = defaultdict(list)
    for key, _, sender, position, *_ in run.emitted["count"]["default"]:
        positions[key, sender].append(position)
    for (key, sender), found in positions.items():
        assert found == sorted(found), f"key {key} from {sender}: {found}"


def step_until(run: StepRun, watch: Watch, condition: Callable[[], bool], most: int = 20_000) -> None:
    for _ in range(most):
        if condition():
            return
        watch.step()
    raise AssertionError(f"not reached in {most} steps; left: {run.left()}")
