"""Where batches wait, bounded by the credit of their senders: the inbox that replicas take from, and a task's own door to it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from pasps.api.splitting import Observer
from pasps.runtime.batch import Batch, Payload, join


class Host(Protocol):
    """The executor that runs a task."""

    def receive(self, batch: Batch) -> None:
        """Queue the batch and run soon."""


class TaskSlot:
    """Batches go to the executor that hosts the task, or are held while the task is on its way here.

    `open` counts tuples that were taken from an inbox and not yet acked or failed. `finished` says that the instance's `finish`
    has been called, or that there is no need to, and that nothing came for it since.
    """

    __slots__ = ("collector", "component", "finished", "held", "host", "instance", "observers", "open", "running", "task", "task_id")

    def __init__(self, component: str, task: int, task_id: int, host: Host) -> None:
        self.component = component
        self.task = task
        self.task_id = task_id
        self.host = host
        self.instance: Any = None
        self.collector: Any = None
        self.held: list[Batch] | None = None
        self.open = 0
        self.running = 0  # calls of its instance under way on a thread or awaited
        self.finished = False
        self.observers: Mapping[int, Observer] = {}  # by edge

    def accept(self, batch: Batch, weight: int = 0) -> None:
        """Take a batch: from a sender in this worker, or from a connection. Whatever it weighs, it comes by reference."""
        # whoever has said its last has to do it once more behind this (docs/decisions/0014)
        self.finished = False
        if self.held is None:
            self.host.receive(batch)
        else:
            self.held.append(batch)

    def accept_payload(self, payload: Payload) -> None:
        """The same; but the instance does not get it, and has not finished the less for it."""
        if self.held is None:
            self.host.receive(payload)
        else:
            self.held.append(payload)

    def hold(self) -> None:
        """From now on keep what arrives."""
        if self.held is None:
            self.held = []

    def release(self) -> None:
        """Hand over what was held, in order, and hold no more; a task that has no instance yet goes on holding."""
        if self.instance is None:
            return
        held, self.held = self.held, None
        if held and any(batch.rows for batch in held):  # an instance that came meanwhile has not seen it
            self.finished = False
        for batch in held or ():
            self.host.receive(batch)


_LOOK_PAST = 64
"""Batches of other kinds that a chunk looks past. Several senders to several tasks alternate, and a bolt that works on batches,
as a store does, would get them one by one."""


NOBODY = "-"
"""The origin of tuples that hold nobody's credit."""


class Taker(Protocol):
    """A replica that takes from an inbox."""

    queued: bool
    """Whether it has asked for its turn already."""

    def may_take(self) -> bool:
        """Whether it can do something with one more tuple now."""

    def wake(self) -> None:
        """Ask for a turn, and take then."""


class Inbox:
    """Counts what arrives by edge; gives each sender its credit back when its tuples are taken.

    `takers` are the replicas that may take: the one it belongs to, or, of a `shared` one, those that are active; while none is, those
    that drain. Of several that compute, one has a turn at a time (they share a core anyway, and long chunks cost less); of several
    that wait for something, each that has nothing to do.
    """

    __slots__ = ("_batches", "_position", "_release", "_turn", "count", "dry", "one_at_a_time", "received", "shared", "takers")

    def __init__(self, release: Callable[[Batch, int], None], *, shared: bool = False, one_at_a_time: bool = True) -> None:
        self.shared = shared
        self.one_at_a_time = one_at_a_time
        self.takers: list[Taker] = []
        self.dry: Callable[[], None] | None = None
        """Called by a taker that found nothing more in it: other workers may have some."""
        self._turn = 0
        self._batches: deque[Batch] = deque()
        self._position = 0  # rows of the first batch that were taken already
        self._release = release
        self.count = 0
        self.received: dict[int, int] = {}

    def accept(self, batch: Batch, weight: int = 0) -> None:
        """Queue a batch, and see to it that somebody takes it. It is a door: whatever the batch weighs, it comes by reference."""
        self.put(batch)
        self.call()

    def call(self) -> None:
        """Give a turn to those who may take what waits, whose turn it is first."""
        takers = self.takers
        if len(takers) == 1:
            only = takers[0]
            if not only.queued and only.may_take():
                only.wake()
            return
        size, waiting = len(takers), self.count
        # one that holds output back may have its turn only to find that there is still no room
        if self.one_at_a_time and any(taker.queued and taker.may_take() for taker in takers):
            return
        for place in range(self._turn, self._turn + size):
            if waiting <= 0:
                return
            taker = takers[place % size]
            if taker.may_take():
                self._turn = (place + 1) % size
                waiting -= waiting if self.one_at_a_time else 1
                taker.wake()

    def waits_for(self, taker: Taker) -> int:
        """How many tuples this one has before it, alone or with others."""
        return self.count if taker in self.takers else 0

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
            if part.source != first.source or (part.task != first.task and not self.shared):
                others.append(batches.popleft())
                continue
            # of the same sender to the same task: what does not fit ends it, since nothing behind may pass
            if len(part.rows) > room or not first.joins(part, self.shared):
                break
            batches.popleft()
            parts.append(part)
            room -= len(part.rows)
            self._release(part, len(part.rows))
        batches.extendleft(reversed(others))
        return first if len(parts) == 1 else join(parts)

    def remove_task(self, task: int) -> list[Batch]:
        """Take out everything queued for one task, in order, without giving credit back: it moves on as it is."""
        self._cut()
        moved = [batch for batch in self._batches if batch.task == task]
        self._batches = deque(batch for batch in self._batches if batch.task != task)
        for batch in moved:
            self.count -= len(batch.rows)
            self.sent_on(batch.edge, len(batch.rows))
        return moved

    def take_back(self, batch: Batch) -> None:
        """Put rows in front that were taken and not begun; they hold nobody's credit any more."""
        self._cut()
        batch.origin = NOBODY
        self._batches.appendleft(batch)
        self.count += len(batch.rows)

    def sent_on(self, edge: int, count: int) -> None:
        """So many of what came were sent elsewhere: they do not count as received here any more."""
        self.received[edge] -= count

    def _cut(self) -> None:
        """Have the first batch begin with what was not taken of it."""
        if self._position:
            first = self._batches[0]
            self._batches[0] = first.part(self._position, len(first.rows))
            self._position = 0
