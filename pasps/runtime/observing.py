"""What observers of a grouping see: each tuple that was executed with its seconds, and payloads in their place among them.

Only for bolts with an observed edge: `hosting` gives these their parts in place of the plain ones.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from pasps.clock import Clock
from pasps.errors import Interrupt
from pasps.ids import IdSource
from pasps.runtime.acks import AckBox
from pasps.runtime.batch import Batch, Payload
from pasps.runtime.emitter import Emitter
from pasps.runtime.inbox import Inbox, TaskSlot
from pasps.runtime.meters import Blocking, Meter
from pasps.runtime.outcome import Call, Outcome, Records
from pasps.runtime.settler import Settler, TellFailure
from pasps.runtime.ways import Origin, Way


class ObservedInbox(Inbox):
    """An inbox of one replica, in which payloads stand behind the rows after which they are to be heard.

    A payload whose rows were all taken is due as soon as these are settled; they are in the order in which they were taken, since one
    call runs at a time.
    """

    __slots__ = ("_due", "_settled", "_standing", "_taken", "hear")

    def __init__(self, release: Callable[[Batch, int], None]) -> None:
        super().__init__(release)
        self.hear: Callable[[Payload], None] = lambda payload: None
        self._taken = self._settled = 0  # rows
        self._standing = 0  # payloads among the batches
        self._due: deque[tuple[int, Payload]] = deque()  # and how many rows are to be settled before

    def put(self, batch: Batch) -> None:
        """Append a batch, or a payload."""
        if isinstance(batch, Payload):
            self.received.setdefault(batch.edge, 0)
            self._batches.append(batch)
            self._standing += 1
            self._find_due()
            return
        super().put(batch)

    def take(self, most: int) -> Batch:
        """See `Inbox.take`."""
        batch = super().take(most)
        self._taken += len(batch.rows)
        if self._standing:
            self._find_due()
        return batch

    def _joined(self, first: Batch, most: int) -> Batch:
        # nothing is looked past a payload
        return first if self._standing else super()._joined(first, most)

    def remove_task(self, task: int) -> list[Batch]:
        """See `Inbox.remove_task`; payloads are among them."""
        moved = super().remove_task(task)
        self._standing -= sum(isinstance(batch, Payload) for batch in moved)
        self._find_due()
        return moved

    def _find_due(self) -> None:
        """Payloads in front are behind nothing but what was taken: they never stay there, so that a batch of rows is first."""
        while self._batches and isinstance(payload := self._batches[0], Payload):
            self._batches.popleft()
            self._standing -= 1
            self._due.append((self._taken, payload))
        self.settled(0)

    def settled(self, rows: int) -> None:
        """So many more rows that were taken are settled."""
        self._settled += rows
        while self._due and self._due[0][0] <= self._settled:
            self.hear(self._due.popleft()[1])


class ObservedWay(Way):
    """Measures the calls of another: their outcomes have `seconds`."""

    def __init__(self, way: Way, clock: Clock, blocking: Blocking | None) -> None:
        """`blocking` of an executor that runs on the worker's loop, whose CPU time counts unless it blocks; None: wall time counts."""
        self._way = way
        self._clock = clock
        self._blocking = blocking

    def run(self, slot: TaskSlot, batch: Batch) -> Outcome:
        """See `Way`."""
        time = self._clock.now if self._blocking is None or self._blocking.blocks else self._clock.cpu
        begun = time()
        outcome = self._way.run(slot, batch)
        outcome.seconds = time() - begun
        return outcome

    async def wait(self, slot: TaskSlot, batch: Batch, records: Records) -> Outcome:
        """See `Way`."""
        begun = self._clock.now()
        outcome = await self._way.wait(slot, batch, records)
        outcome.seconds = self._clock.now() - begun
        return outcome

    def call(self, slot: TaskSlot, name: str, *args: Any) -> Call:
        """See `Way`."""
        return self._way.call(slot, name, *args)

    async def wait_call(self, slot: TaskSlot, records: Records, name: str, *args: Any) -> Call:
        """See `Way`."""
        return await self._way.wait_call(slot, records, name, *args)


class ObservedSettler(Settler):
    """Shows what it has settled to the observers of its task, and has them hear what was carried."""

    __slots__ = ("_inbox", "_slot_of")

    def __init__(
        self,
        emitter: Emitter,
        acks: AckBox,
        ids: IdSource,
        meter: Meter,
        origins: dict[int, Origin],
        tell: TellFailure,
        inbox: ObservedInbox,
        slot_of: Callable[[int], TaskSlot | None],
    ) -> None:
        """`slot_of` finds a task of the bolt in this worker: one whose call is settled here may be another replica's by then."""
        super().__init__(emitter, acks, ids, meter, origins, tell)
        self._inbox = inbox
        self._slot_of = slot_of
        inbox.hear = self._hear

    def settle(self, slot: TaskSlot, batch: Batch, outcome: Outcome) -> None:
        """See `Settler.settle`."""
        super().settle(slot, batch, outcome)
        observer = slot.observers.get(batch.edge)
        # a call that was cancelled before it began has none
        seconds = getattr(outcome, "seconds", None)
        if observer is not None and seconds is not None:
            each = seconds / len(batch.rows)
            for row in batch.rows:
                self._show(slot, observer.executed, row, each)
        self._inbox.settled(len(batch.rows))

    def _hear(self, payload: Payload) -> None:
        slot = self._slot_of(payload.task)
        observer = None if slot is None else slot.observers.get(payload.edge)
        if slot is not None and observer is not None:
            self._show(slot, observer.heard, payload.source, payload.payload)

    def _show(self, slot: TaskSlot, call: Callable[..., None], *args: Any) -> None:
        try:
            call(*args)
        except Interrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - somebody else's code, which must not cost a tuple
            self._tell(slot.task_id, error)
