"""Who lives in a worker: executors by replica, tasks by number, spout tasks. Plain registers, shared by the worker's parts."""

from __future__ import annotations

from dataclasses import dataclass, field

from pasps.metrics import GONE, ReplicaCounts
from pasps.runtime.executor import BoltExecutor
from pasps.runtime.replica_pool import Key
from pasps.runtime.spout_executor import SpoutExecutor
from pasps.runtime.task_slot import TaskSlot


@dataclass
class Residents:
    """Keys are (component, replica) for `executors`, (component, task index) for `slots`, task ids for `spouts`.

    `retired` is what replicas had done here that live elsewhere now.
    """

    executors: dict[Key, BoltExecutor] = field(default_factory=dict)
    retired: dict[Key, ReplicaCounts] = field(default_factory=dict)
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

    def retire(self, key: Key, worker: str) -> BoltExecutor:
        """The replica lives elsewhere now: neither it nor its tasks are listed here any more. What it did stays counted."""
        executor = self.executors.pop(key)
        for slot in executor.slots.values():
            self.slots.pop((slot.component, slot.task), None)
        counts = executor.counts(worker, GONE)
        counts.kept = 0
        if key in self.retired:
            counts.add(self.retired[key])
        self.retired[key] = counts
        return executor

    def detach(self, slot: TaskSlot) -> None:
        """The task lives here no more."""
        self.slots.pop((slot.component, slot.task), None)
        for executor in self.executors.values():
            if executor.plan.id == slot.component and executor.slots.get(slot.task) is slot:
                del executor.slots[slot.task]
