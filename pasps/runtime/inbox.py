"""The queue in front of one replica: batches in order of arrival, taken in chunks. Bounded by its senders' credit."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from pasps.runtime.batch import Batch, join

_LOOK_PAST = 64
"""Batches of other kinds that a chunk looks past. Several senders to several tasks alternate, and a bolt that works on batches,
as a store does, would get them one by one."""


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
        """The next rows, at most `most`, all of one edge, task and source; small batches are joined. Must not be empty."""
        batch, start = self._batches[0], self._position
        size = len(batch.rows)
        count = size - start
        if count > most:
            self._position = start + most
            taken, count = batch.part(start, start + most), most
        else:
            self._batches.popleft()
            self._position = 0
            taken = batch if start == 0 else batch.part(start, size)
            if count < most and self._batches:
                taken = self._joined(taken, most)
        self.count -= len(taken.rows)
        self._release(batch, count)
        return taken

    def _joined(self, first: Batch, most: int) -> Batch:
        """With those behind it that are of the same kind and still fit; each gives its own credit back.

        What one task sent to one task keeps its order, over all streams: nothing of theirs is looked past.
        """
        parts, room, batches = [first], most - len(first.rows), self._batches
        others: list[Batch] = []
        while batches and len(others) < _LOOK_PAST:
            part = batches[0]
            if part.source != first.source or part.task != first.task:
                others.append(batches.popleft())
                continue
            if len(part.rows) > room or not first.joins(part):
                break
            batches.popleft()
            parts.append(part)
            room -= len(part.rows)
            self._release(part, len(part.rows))
        batches.extendleft(reversed(others))
        return first if len(parts) == 1 else join(parts)

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
