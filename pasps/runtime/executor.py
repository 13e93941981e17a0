"""What all executors share: inbox, emitter, counters, and a place in the worker's list of those who are ready.

A worker steps executors in topological order; an executor asks for its turn with `wake`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pasps.api.blueprint import ComponentPlan
from pasps.api.tuples import Tuple
from pasps.clock import Clock
from pasps.runtime.batch import Batch
from pasps.runtime.collector import Raised
from pasps.runtime.emitter import Emitter
from pasps.runtime.inbox import Inbox
from pasps.runtime.meter import Meter
from pasps.runtime.settler import Flags, Settler
from pasps.runtime.task_slot import TaskSlot

Schedule = Callable[["Executor"], None]


@dataclass(frozen=True)
class Seat:
    """Where an executor sits: what it runs, its turn in topological order, and what its worker gives it.

    `release` is called when rows of a batch are taken from its inbox.
    """

    plan: ComponentPlan
    replica: int
    rank: int
    clock: Clock
    schedule: Schedule
    release: Callable[[Batch, int], None]


class Executor:
    """One replica of a bolt or one task of a spout, in this worker. `step()` does at most about 2 ms of work."""

    __slots__ = ("_schedule", "clock", "emitter", "meter", "plan", "queued", "rank", "replica")

    def __init__(self, plan: ComponentPlan, replica: int, rank: int, clock: Clock, schedule: Schedule) -> None:
        self.plan = plan
        self.replica = replica
        self.rank = rank
        self.clock = clock
        self.meter = Meter()
        self.emitter: Emitter
        self.queued = False  # whether it stands in the worker's list already
        self._schedule = schedule

    def wake(self) -> None:
        """Ask for a turn."""
        if not self.queued:
            self.queued = True
            self._schedule(self)

    def step(self) -> None:
        """Work for at most about 2 ms or one tuple, whichever is longer; asks for another turn when there is more."""
        raise NotImplementedError

    def used(self, seconds: float) -> None:
        """Its last step took so many CPU seconds."""
        self.meter.seconds += seconds

    def idle(self) -> bool:
        """Whether everything it took is acked or failed, and all it emitted has left."""
        raise NotImplementedError


class BoltExecutor(Executor):
    """A replica of a bolt with the tasks it hosts; subclasses say how a tuple is run."""

    __slots__ = ("_ticks", "flags", "inbox", "settler", "slots")

    def __init__(self, seat: Seat) -> None:
        super().__init__(seat.plan, seat.replica, seat.rank, seat.clock, seat.schedule)
        self.inbox = Inbox(seat.release)
        self.slots: dict[int, TaskSlot] = {}
        self.settler: Settler
        self.flags = Flags()
        self._ticks: list[Tuple] = []

    def receive(self, batch: Batch) -> None:
        """Queue a batch."""
        self.inbox.put(batch)
        self.wake()

    def tick(self, tup: Tuple) -> None:
        """Give every task this tick before its next tuple; at most one waits."""
        self._ticks = [tup]
        self.wake()

    def idle(self) -> bool:
        """Whether everything it took is acked or failed, and all it emitted has left."""
        return not self.inbox.count and not self.emitter.parked and all(slot.open == 0 for slot in self.slots.values())

    def call(self, hook: Callable[[], None]) -> None:
        """Run a lifecycle hook of an instance where its `process` runs; raises what the hook raises."""
        hook()

    def run_ticks(self) -> None:
        """Run the waiting tick, if there is one, on every task."""
        ticks, self._ticks = self._ticks, []
        for tup in ticks:
            for slot in list(self.slots.values()):
                if slot.held is None:  # else its instance is on its way to or from another host
                    self.run_tick(slot, tup)

    def run_tick(self, slot: TaskSlot, tup: Tuple) -> None:
        """`process_tick` of one task, on the worker's loop."""
        records = slot.collector.begin() if slot.collector is not None else []
        self._call_tick(slot, tup, records)
        self.settler.settle(None, records, self.flags, slot)
        self.settler.flush(slot)

    def _call_tick(self, slot: TaskSlot, tup: Tuple, records: list[Any]) -> None:
        handler = getattr(slot.instance, "process_tick", None)
        if handler is None:
            return
        try:
            handler(tup)
        except Exception as error:  # noqa: BLE001 - the step's door: reported, the worker goes on
            records.append(Raised(error))
