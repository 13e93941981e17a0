"""The queue in front of one replica: batches in order of arrival, taken in chunks. Bounded by its senders' credit."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from pasps.runtime.batch import Batch


class Inbox:
    """Counts what arrives by edge; gives each sender its credit back when its tuples are taken."""

    __slots__ = ("_batches", "_position", "_release", "count", "received")

    def __init__(self, release: Callable[[Batch, int], None]) -> None:
        self._batches: deque[Batch] = deque()
        self._position = 0  # rows of the first batch that were taken already
        self._release = release
        self.count = 0
        self.received: dict[int, int] = {}

    def put(self, batch: Batch) -> None:
        """Append a batch."""
        count = len(batch.rows)
        self._batches.append(batch)
        self.count += count
        self.received[batch.edge] = self.received.get(batch.edge, 0) + count

    def take(self, most: int) -> Batch:
        """The next rows, at most `most` and all of one batch. The inbox must not be empty."""
        batch, start = self._batches[0], self._position
        size = len(batch.rows)
        if size - start <= most:
            self._batches.popleft()
            self._position = 0
            taken = batch if start == 0 else batch.part(start, size)
        else:
            self._position = start + most
            taken = batch.part(start, start + most)
        count = len(taken.rows)
        self.count -= count
        self._release(batch, count)
        return taken

    def remove_task(self, task: int) -> list[Batch]:
        """Take out everything queued for one task, in order, without giving credit back: it moves on as it is."""
        if self._position:
            first = self._batches[0]
            self._batches[0] = first.part(self._position, len(first.rows))
            self._position = 0
        gone = [batch for batch in self._batches if batch.task == task]
        self._batches = deque(batch for batch in self._batches if batch.task != task)
        for batch in gone:
            self.count -= len(batch.rows)
            self.received[batch.edge] -= len(batch.rows)
        return gone
