"""Who lives in a worker: executors by replica, tasks by number, spout tasks. Plain registers, shared by the worker's parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from pasps.metrics import GONE, ReplicaCounts
from pasps.runtime.executor import BoltExecutor
from pasps.runtime.inbox import Inbox, Taker
from pasps.runtime.replica_pool import Key, ReplicaState
from pasps.runtime.spout_executor import SpoutExecutor
from pasps.runtime.task_slot import TaskSlot


@dataclass
class Residents:
    """Keys are (component, replica) for `executors`, (component, task index) for `slots`, task ids for `spouts`.

    `retired` is what replicas had done here that live elsewhere now. `inboxes` are those that all replicas of a bolt share.
    """

    executors: dict[Key, BoltExecutor] = field(default_factory=dict)
    retired: dict[Key, ReplicaCounts] = field(default_factory=dict)
    inboxes: dict[str, Inbox] = field(default_factory=dict)
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
        if executor.inbox.shared and not self.replicas(key[0]):  # the last of them, and nothing is in it any more
            counts.received = self.inboxes.pop(key[0]).received
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

    def replicas(self, component: str) -> list[BoltExecutor]:
        """The replicas of a bolt that live here, in the order of their indices."""
        return [self.executors[key] for key in sorted(key for key in self.executors if key[0] == component)]

    def counts(self, worker: str, state: Callable[[Key], str]) -> list[ReplicaCounts]:
        """What all replicas of bolts have done here; an inbox that several share is counted at the first of them."""
        found = {key: executor.counts(worker, state(key)) for key, executor in self.executors.items()}
        for component, inbox in self.inboxes.items():
            first = min(key for key in found if key[0] == component)
            found[first].queued, found[first].received = inbox.count, dict(inbox.received)
        return [*found.values(), *self.retired.values()]

    def share_out(self, state: Callable[[Key], ReplicaState]) -> None:
        """Who takes from the inboxes that are shared: the active replicas that have their instance, else those that drain."""
        for component, inbox in self.inboxes.items():
            by_state: dict[ReplicaState, list[Taker]] = {each: [] for each in ReplicaState}
            for executor in self.replicas(component):
                slot = executor.slots.get(executor.replica)
                if slot is not None and slot.held is None:
                    by_state[state((component, executor.replica))].append(executor)
            takers = by_state[ReplicaState.ACTIVE] or by_state[ReplicaState.DRAINING]
            if takers != inbox.takers:
                inbox.takers = takers
            if inbox.count:
                inbox.call()
            elif inbox.dry is not None and takers:
                inbox.dry()
