"""A spout that replays a trace in real time, whether or not the topology keeps up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pasps.api.component import Outputs
from pasps.api.context import TopologyContext
from pasps.api.spout import Spout
from pasps.clock import Clock, SystemClock, wall_of
from pasps.errors import EndOfInput
from pasps.spouts.trace import FirstEvents, Trace
from pasps.spouts.trace_settings import trace_of

_MOST = 256
_BATCH_SECONDS = 0.002
"""At high rates events wait for a batch, one millisecond in the mean; waking up for each would cost more than they do."""
_SAVE_SECONDS = 0.5


class TraceSpout(Spout):
    """Emits each event when the trace says that it is due; `trace.*` keys say which trace (docs/spouts.md).

    Events are numbered from 0, and the number is the tuple id; task t of n emits those with number % n == t. Time runs from the
    first call of `next_tuple`, and does not stop: what was due while the spout was held back, deactivated or dead is its backlog,
    and is emitted with the time at which it was due. A failed event is emitted again until it is acked; none is dropped.

    The position is the first event that is not acked, when the trace began, and when that was by the wall clock as it is set now.
    Memory is bounded by what is in flight.
    """

    outputs: Outputs = ("id", "due")
    path_keys: ClassVar[Mapping[str, str | None]] = {"trace.file": None}
    clock: ClassVar[Clock] = SystemClock()
    """A test puts its own here."""

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        """Read the trace. A subclass that overrides it calls it first.

        Raises:
            InvalidError: a key or a line of the file is wrong.
        """
        self._trace: Trace | FirstEvents = trace_of(conf, f"component {ctx.component_id!r}")
        self._stride = len(ctx.component_tasks(ctx.component_id))
        self._next = ctx.task_index
        self._began: float | None = None
        """Seconds since the epoch; events are due by it, and say the same each time, also after the wall clock was set."""
        self._zero: float | None = None
        """The same moment by the monotonic clock, so that whoever sets the wall clock neither holds the trace up nor makes it late."""
        if ctx.position is not None:
            self._next, self._began, *by_now = ctx.position
            self._zero = self.clock.now() - (self.clock.wall() - (by_now[0] if by_now else self._began))
        self._over = False
        self._pending: dict[int, float] = {}  # by number, in order: when it was due. What failed stays until it is acked
        self._again: list[int] = []
        self._save_at = 0.0

    def values(self, number: int, due: float) -> Sequence[Any]:
        """The tuple of an event, for subclasses with `outputs` of their own. The same each time: a failed event is made again.

        Args:
            number: From 0 in the order in which events are due, over all tasks.
            due: Seconds since the epoch.
        """
        return (number, due)

    def next_tuple(self) -> float | None:
        """Emit what is due, some hundred events at most."""
        if self._began is None or self._zero is None:
            self._began, self._zero = self.clock.wall(), self.clock.now()
            self._save()
        if self._again:
            again = self._again[:_MOST]
            self._emit_rows(again, [self._pending[number] for number in again])
            del self._again[: len(again)]
            return None
        seconds, total = self.clock.now() - self._zero, self._trace.total
        due = self._trace.count(seconds)
        numbers = range(self._next, min(due, self._next + _MOST * self._stride), self._stride)
        if numbers:
            self._emit_rows(numbers, [self._began + at for at in self._trace.times(numbers)])
            self._next = numbers[-1] + self._stride
            self._save()
        if total is not None and self._next >= total:
            self._over = True
            raise EndOfInput
        if self._next < due:
            return None
        return max(_BATCH_SECONDS, self._trace.times((self._next,))[0] - seconds)

    def _emit_rows(self, numbers: Sequence[int], due: list[float]) -> None:
        self.emit_batch([tuple(row) for row in map(self.values, numbers, due)], numbers)
        self._pending.update(zip(numbers, due, strict=True))

    def backlog(self) -> int:
        """Events of this task that are due and not yet emitted; what failed is not among them."""
        if self._zero is None:
            return 0
        return len(range(self._next, self._trace.count(self.clock.now() - self._zero), self._stride))

    def due_at(self, tup_id: int) -> float | None:
        """When the trace has it, by the wall clock as it is set now: so long ago as it is."""
        due, began, zero = self._pending.get(tup_id), self._began, self._zero
        return None if due is None or began is None or zero is None else wall_of(self.clock, zero + (due - began))

    def ack(self, tup_id: int) -> None:
        """Forget it."""
        self._pending.pop(tup_id, None)
        if self._over:  # `next_tuple` is not called any more
            self._save()

    def fail(self, tup_id: int) -> None:
        """Emit it again, before anything new."""
        if tup_id in self._pending:
            self._again.append(tup_id)

    def close(self) -> None:
        """Save the position: whoever goes on emits again what is in flight, and nothing else."""
        self._save(at_once=True)

    def _save(self, *, at_once: bool = False) -> None:
        """Twice a second, and when there is nothing left to do."""
        now = self.clock.now()
        if self._zero is None or (now < self._save_at and (self._pending or not self._over) and not at_once):
            return
        self._save_at = now + _SAVE_SECONDS
        low = next(iter(self._pending), self._next)
        self.save_position((low, self._began, wall_of(self.clock, self._zero)))
