"""The workers of a step run and what surrounds them: links, coroutines, threads, a recorder. Made, killed and closed here."""

from __future__ import annotations

from functools import partial
from random import Random

from pasps.api.blueprint import Blueprint
from pasps.config import RuntimeSettings
from pasps.ids import IdSource
from pasps.runtime.waiting_executors import ThreadExecutor
from pasps.runtime.worker import Worker
from pasps.testing.background import Bell, Coroutines
from pasps.testing.clock import FakeClock
from pasps.testing.journal import Journal, WorkerReports
from pasps.testing.net import Net
from pasps.testing.tally import ComponentCounts, counts_of, merged
from pasps.testing.tap import Recorder, WireCheck
from pasps.transport.values import RowWrapper

_LONGEST_CALL = 10.0
"""Real seconds that a call on a thread may take before a run gives it up."""


class Crew:
    """Live workers by name, each connected with all others; what dead ones had counted is kept."""

    def __init__(self, blueprint: Blueprint, size: int, clock: FakeClock, random: Random, check_wire: bool) -> None:
        self.workers: dict[str, Worker] = {}
        self.incarnations: dict[str, int] = {}
        self.journal = Journal()
        self.coroutines = Coroutines(clock)
        self.bell = Bell()
        settings = RuntimeSettings.from_config(blueprint.config)
        self.net = Net(blueprint.name, settings.wire_pickle, settings.max_frame_bytes)
        wire = WireCheck(settings.wire_pickle, settings.max_frame_bytes) if check_wire else None
        self.recorder = Recorder(wire, self._report)
        self._blueprint = blueprint
        self._size = size
        self._clock = clock
        self._random = random
        self._rows: dict[str, RowWrapper] = {}
        self._past: list[dict[str, ComponentCounts]] = []

    def make(self, name: str) -> Worker:
        """A new worker, one incarnation after the last of that name, without a table yet."""
        self.incarnations[name] = self.incarnations.get(name, 0) + 1
        self._rows[name] = self.net.rows()
        worker = Worker(
            self._blueprint,
            name,
            self._size,
            clock=self._clock,
            ids=IdSource(self._random.getrandbits(64)),
            reports=WorkerReports(name, self.journal),
            rows=self._rows[name],
            spawn=partial(self.coroutines.spawn, name),
            notify=self.bell.ring,
            emitter=partial(self.recorder.emitter, name),
            restarted=self.incarnations[name] > 1,
        )
        others = list(self.workers.values())
        self.workers[name] = worker
        for other in others:
            self.join(name, other.id)
        return worker

    def join(self, one: str, other: str) -> None:
        """Connect two live workers."""
        first, second = (one, other) if self._random.random() < 0.5 else (other, one)
        self.net.join(self.workers[first], self.workers[second], self._rows, self.incarnations)

    def kill(self, name: str) -> Worker:
        """The worker is gone, with everything in it; the others lose their links to it."""
        dead = self.workers.pop(name)
        for spout in dead.residents.spouts.values():
            spout.meter.replayed += len(spout.fates.ledger)  # as the last counters of a worker are taken: it comes again
        self._past.append(counts_of(dead.residents))
        for executor in _threads_of(dead):
            executor.stop()
        self.coroutines.drop(name)
        self.net.cut(name)
        return dead

    def close(self) -> None:
        """Call the `close` of everything, end threads and coroutines. More calls do nothing."""
        for worker in self.workers.values():
            worker.close()
            for executor in _threads_of(worker):
                executor.stop()
            self._past.append(counts_of(worker.residents))
        self.workers.clear()
        self.coroutines.close()

    def has_work(self) -> bool:
        """Whether a worker, a link or a coroutine can go on at once."""
        ready = any(worker.pump.has_work() for worker in self.workers.values())
        return ready or bool(self.net.in_flight()) or self.coroutines.ready()

    def waits(self) -> bool:
        """Whether a call on a thread, or a coroutine, is under way."""
        return self.coroutines.under_way() or self._calls()

    def wait_outside(self) -> bool:
        """Wait in real time for a thread or a socket; False when there is none to wait for, or it takes too long."""
        return self.bell.wait(_LONGEST_CALL) if self._calls() else self.coroutines.wait(_LONGEST_CALL)

    def _calls(self) -> bool:
        return any(executor.under_way for worker in self.workers.values() for executor in _threads_of(worker))

    def next_at(self) -> float | None:
        """When the next thing is due."""
        times = [worker.next_at() for worker in self.workers.values()] + [self.coroutines.next_at()]
        return min((when for when in times if when is not None), default=None)

    def counts(self) -> dict[str, ComponentCounts]:
        """What every component has done so far, dead workers included."""
        return merged([*self._past, *(counts_of(worker.residents) for worker in self.workers.values())])

    def _report(self, worker: str, component: str, task: int, error: BaseException) -> None:
        """A row that cannot travel: told as its worker does when it finds out."""
        self.workers[worker].report_error(component, task, error)


def _threads_of(worker: Worker) -> list[ThreadExecutor]:
    return [executor for executor in worker.residents.executors.values() if isinstance(executor, ThreadExecutor)]
