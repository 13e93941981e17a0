"""One task seen from the workers that send to it: where it is, and how many more tuples it takes."""

from __future__ import annotations

from typing import Protocol

from pasps.runtime.batch import Batch


class Door(Protocol):
    """Where a batch leaves the sender: a local task, or the outgoing buffer of a peer."""

    def accept(self, batch: Batch) -> None:
        """Take the batch; never blocks, never refuses: the credit was checked before."""


class Waiter(Protocol):
    """An executor that holds output back until there is credit again."""

    def wake(self) -> None:
        """Run again soon."""


class Target:
    """Credit of this worker at one task: at most `limit` tuples sent and not yet taken out of the inbox there.

    `door` None: the task has no live host at the moment, so nothing fits.
    """

    __slots__ = ("component", "door", "limit", "outstanding", "task", "waiters")

    def __init__(self, component: str, task: int, limit: int) -> None:
        self.component = component
        self.task = task
        self.limit = limit
        self.outstanding = 0
        self.door: Door | None = None
        self.waiters: list[Waiter] = []

    def room(self) -> int:
        """How many tuples may be sent now."""
        return self.limit - self.outstanding if self.door is not None else 0

    def send(self, batch: Batch) -> Batch | None:
        """Send what fits; returns the rest, or None."""
        if self.door is None:
            return batch
        count = len(batch.rows)
        room = self.limit - self.outstanding
        if count <= room:
            self.outstanding += count
            self.door.accept(batch)
            return None
        if room <= 0:
            return batch
        self.outstanding += room
        self.door.accept(batch.part(0, room))
        return batch.part(room, count)

    def release(self, count: int) -> None:
        """The receiver took `count` tuples. A late release from before a crash never makes the account negative."""
        self.outstanding = max(0, self.outstanding - count)
        if self.waiters:
            self.wake_waiters()

    def forget(self) -> None:
        """The host is gone, and all that was outstanding with it."""
        self.outstanding = 0
        self.wake_waiters()

    def wake_waiters(self) -> None:
        """Let everyone who held output back try again."""
        waiting, self.waiters = self.waiters, []
        for waiter in waiting:
            waiter.wake()
