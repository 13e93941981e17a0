"""Who lives in a worker: executors by replica, tasks by number, spout tasks. Plain registers, shared by the worker's parts."""

from __future__ import annotations

from dataclasses import dataclass, field

from pasps.runtime.executor import BoltExecutor
from pasps.runtime.replica_pool import Key
from pasps.runtime.spout_executor import SpoutExecutor
from pasps.runtime.task_slot import TaskSlot


@dataclass
class Residents:
    """Keys are (component, replica) for `executors`, (component, task index) for `slots`, task ids for `spouts`."""

    executors: dict[Key, BoltExecutor] = field(default_factory=dict)
    slots: dict[Key, TaskSlot] = field(default_factory=dict)
    spouts: dict[int, SpoutExecutor] = field(default_factory=dict)

    def attach(self, slot: TaskSlot, executor: BoltExecutor) -> None:
        """Make `executor` the host of the task; it is listed there, and what it emits goes through there."""
        for other in self.executors.values():
            if other.plan.id == slot.component and other.slots.get(slot.task) is slot:
                del other.slots[slot.task]
        executor.slots[slot.task] = slot
        slot.host = executor
        if slot.collector is not None:
            slot.collector.emitter = executor.emitter
        self.slots[slot.component, slot.task] = slot

    def detach(self, slot: TaskSlot) -> None:
        """The task lives here no more."""
        self.slots.pop((slot.component, slot.task), None)
        for executor in self.executors.values():
            if executor.plan.id == slot.component and executor.slots.get(slot.task) is slot:
                del executor.slots[slot.task]
