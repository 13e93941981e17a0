"""Keyed tasks that change replica within a worker, by reference, and tasks that have to wait for their own past.

A task goes on at its new host only when no call of its instance is under way and what it emitted before has left.
"""

from __future__ import annotations

from pasps.runtime.batch import Batch
from pasps.runtime.executor import BoltExecutor
from pasps.runtime.hosting import Hosting
from pasps.runtime.replica_pool import Key
from pasps.runtime.residents import Residents
from pasps.runtime.task_slot import TaskSlot


class HostChanges:
    """Of one worker. While a task waits, its slot holds what arrives for it, in order."""

    def __init__(self, residents: Residents, hosting: Hosting) -> None:
        self._residents = residents
        self._hosting = hosting
        self._waiting: dict[Key, tuple[TaskSlot, list[BoltExecutor]]] = {}

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def attach(self, slot: TaskSlot, executor: BoltExecutor) -> tuple[list[Batch], list[BoltExecutor]]:
        """Make `executor` the host; returns what was queued at the one before, and who that was."""
        before = slot.host
        if before is executor or not isinstance(before, BoltExecutor):
            return [], []
        queued = before.inbox.remove_task(slot.task)
        self._residents.attach(slot, executor)
        self._hosting.adopt(slot, executor)
        return queued, [before]

    def resume(self, slot: TaskSlot, queued: list[Batch], former: list[BoltExecutor]) -> None:
        """Run the task, `queued` first: at once, or when it is not `in_use` any more where it ran before."""
        slot.held = [*queued, *(slot.held or [])]
        hosts = [*self.give_up(slot), *former]
        if in_use(slot, hosts):
            self._waiting[slot.component, slot.task] = (slot, hosts)
        else:
            slot.release()

    def give_up(self, slot: TaskSlot) -> list[BoltExecutor]:
        """The task goes elsewhere: wait for it no more; returns its former hosts."""
        return self._waiting.pop((slot.component, slot.task), (slot, []))[1]

    def progress(self) -> None:
        """Let go of every task that need not wait any more."""
        for key, (slot, hosts) in list(self._waiting.items()):
            if not in_use(slot, hosts):
                del self._waiting[key]
                slot.release()


def in_use(slot: TaskSlot, former: list[BoltExecutor]) -> bool:
    """Whether a call of the instance is under way, or output of it waits for credit where it ran before."""
    return slot.running > 0 or any(batch.source == slot.task_id for executor in former for _, batch in executor.emitter.parked)
