"""What a user derives a source from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from typing import Any, ClassVar

from pasps.api.component import Component
from pasps.api.context import TopologyContext
from pasps.api.tuples import DEFAULT_STREAM
from pasps.errors import EmitError


class Spout(Component):
    """A source of tuples. Everything is called on one thread, one call at a time, and nothing here may block it.

    A tuple emitted with a `tup_id` is tracked: `ack(tup_id)` or `fail(tup_id)` comes back to the same task, and both may
    come for one event: a tuple fails at the latest when it times out, though its work may still be done. Without one it is
    sent once and forgotten.
    """

    given_by_runtime: ClassVar[frozenset[str]] = frozenset({"emit", "emit_batch", "save_position"})

    def next_tuple(self) -> float | None:
        """Emit what is due now, and return at once.

        Returns:
            Seconds until it wants to be asked again; None leaves that to the runtime, which asks an idle spout less often.

        Raises:
            EndOfInput: it will emit nothing new any more; acks and fails still come, and it may emit again in `ack` and `fail`.
                Whatever else it raises is reported, what it had emitted stays emitted, and it is asked again after a pause.
        """
        raise NotImplementedError(f"{type(self).__name__} must define next_tuple()")

    def ack(self, tup_id: Any) -> None:
        """The tuple and all that came of it are done. Called at most once for each emission."""

    def fail(self, tup_id: Any) -> None:
        """The tuple timed out, a bolt failed it or a worker was lost. Emit it again here, or in `next_tuple`, to lose nothing."""

    def backlog(self) -> int | None:
        """Events that are due and not yet emitted, for example the lag behind a log; None when it cannot know.

        Asked about once a second. What is no whole number of at least 0 is reported, and what it returned before stands.
        """
        return None

    def due_at(self, tup_id: Any) -> float | None:
        """When the event of a pending tuple became due, in seconds since the epoch: its complete latency counts from there.

        It is compared with the wall clock as it is set now; so a moment that the spout saw itself is kept by the monotonic clock, and
        told as so long ago.

        Asked once when the tuple is done, before `ack`, and not at all where it is not overridden. So waiting in the source and
        failed tries count. None: the latency counts from this emission.
        """
        return None

    def emit(
        self,
        values: Sequence[Any],
        tup_id: Any = None,
        stream: str | None = None,
        direct_task: int | None = None,
        need_task_ids: bool = False,
    ) -> list[int] | None:
        """Send one tuple; never blocks. Only in `next_tuple`, `ack` and `fail`, on the thread that calls them.

        Args:
            values: One value for each field of the stream.
            tup_id: Anything hashable; makes the tuple tracked.
            stream: None means "default".
            direct_task: The receiving task, on a direct stream.
            need_task_ids: Whether to return the receiving task ids, which costs the advantage of batches.

        Returns:
            The receiving task ids when asked for, else None.

        Raises:
            EmitError: the values do not fit the stream, the id cannot be hashed, nobody has that task, or it is called elsewhere.
        """
        self._not_running("emit")

    def emit_batch(self, rows: Sequence[Sequence[Any]], tup_ids: Sequence[Any] | None = None, stream: str | None = None) -> None:
        """Send many tuples at once; never blocks. All of them, or none when it raises; see `emit`.

        Args:
            rows: The values of each tuple.
            tup_ids: As many ids as rows, which makes the tuples tracked; None leaves them untracked.
            stream: None means "default".
        """
        self._not_running("emit_batch")

    def save_position(self, value: Any) -> None:
        """Note where to go on after this spout's worker died: `ctx.position` of the instance that takes over.

        Returns at once. Kept about once a second, the newest wins, so the last ones may be lost: what was emitted after the
        one that was kept is emitted again. Say only what is acked.

        Args:
            value: None, numbers (integers of 64 bits), text, bytes, and lists, tuples and dicts of these: 512 KiB at most. Of a class of
                your own give its fields. Anything else is reported when it is to be kept, and the one before stands.
        """
        self._not_running("save_position")


class ReliableSpout(Spout):
    """streamparse's: remembers what it emitted until that is acked, and emits it again when it fails, up to `max_fails` times.

    Every emission needs a `tup_id`, and no other that is pending may have the same. What failed once more is reported, given up,
    and acked. A class that defines `ack` or `fail` calls these. What it remembers is lost with its worker, so a source that can
    be read again from somewhere should use `save_position` as well.
    """

    max_fails: int = 3

    unacked_tuples: dict[Any, tuple[Any, ...]]
    """What is pending, by its id: values, stream, direct task."""
    failed_tuples: Counter[Any]
    """How often what is pending has failed, by its id."""

    _send: Callable[..., Any]
    _send_batch: Callable[..., Any]

    def ack(self, tup_id: Any) -> None:
        """Forget it."""
        self.failed_tuples.pop(tup_id, None)
        self.unacked_tuples.pop(tup_id, None)

    def fail(self, tup_id: Any) -> None:
        """Emit it again, or give it up."""
        kept = self.unacked_tuples.get(tup_id)
        if kept is None:
            return
        if self.failed_tuples[tup_id] >= self.max_fails:
            self.ctx.report_error(f"tuple {tup_id!r} failed {self.max_fails + 1} times and is given up (max_fails = {self.max_fails})")
            self.ack(tup_id)
            return
        self.failed_tuples[tup_id] += 1
        values, stream, direct_task = kept
        self.emit(values, tup_id, stream, direct_task)

    def put_in_place(self, ctx: TopologyContext, methods: Mapping[str, Callable[..., Any]]) -> None:
        """See `Component`."""
        own: dict[str, Callable[..., Any]] = {
            "emit": self._emit,
            "emit_batch": self._emit_batch,
            "_send": methods["emit"],
            "_send_batch": methods["emit_batch"],
        }
        super().put_in_place(ctx, {**methods, **own})
        self.unacked_tuples, self.failed_tuples = {}, Counter()

    def _emit(
        self,
        values: Sequence[Any],
        tup_id: Any = None,
        stream: str | None = None,
        direct_task: int | None = None,
        need_task_ids: bool = False,
    ) -> list[int] | None:
        """`emit`, and remember."""
        self._refuse_none(tup_id, stream)
        ids: list[int] | None = self._send(values, tup_id, stream, direct_task, need_task_ids)
        self.unacked_tuples[tup_id] = (tuple(values), stream, direct_task)
        return ids

    def _emit_batch(self, rows: Sequence[Sequence[Any]], tup_ids: Sequence[Any] | None = None, stream: str | None = None) -> None:
        """`emit_batch`, and remember."""
        for tup_id in repeat(None, 1) if tup_ids is None else tup_ids:
            self._refuse_none(tup_id, stream)
        self._send_batch(rows, tup_ids, stream)
        self.unacked_tuples.update((tup_id, (tuple(row), stream, None)) for tup_id, row in zip(tup_ids or (), rows, strict=True))

    def _refuse_none(self, tup_id: Any, stream: str | None) -> None:
        if tup_id is None:
            problem = "a ReliableSpout needs tup_id= for every tuple, to know what to emit again"
            raise EmitError(self.ctx.component_id, stream or DEFAULT_STREAM, problem)
