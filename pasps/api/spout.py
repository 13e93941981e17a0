"""What a user derives a source from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from pasps.api.component import Component


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
            EndOfInput: it will emit nothing new any more; acks and fails still come, and it may emit again in `fail`.
        """
        raise NotImplementedError(f"{type(self).__name__} must define next_tuple()")

    def ack(self, tup_id: Any) -> None:
        """The tuple and all that came of it are done. Called at most once for each emission."""

    def fail(self, tup_id: Any) -> None:
        """The tuple timed out, a bolt failed it or a worker was lost. Emit it again here, or in `next_tuple`, to lose nothing."""

    def backlog(self) -> int | None:
        """Events that are due and not yet emitted, for example the lag behind a log; None when it cannot know."""
        return None

    def due_at(self, tup_id: Any) -> float | None:
        """When the event of a pending tuple became due, in seconds since the epoch: its complete latency counts from there.

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
        """Send one tuple; never blocks. Only from the spout's own thread.

        Args:
            values: One value for each field of the stream.
            tup_id: Anything hashable; makes the tuple tracked.
            stream: None means "default".
            direct_task: The receiving task, on a direct stream.
            need_task_ids: Whether to return the receiving task ids, which costs the advantage of batches.

        Returns:
            The receiving task ids when asked for, else None.
        """
        self._not_running("emit")

    def emit_batch(self, rows: Sequence[Sequence[Any]], tup_ids: Sequence[Any] | None = None, stream: str | None = None) -> None:
        """Send many tuples at once; never blocks.

        Args:
            rows: The values of each tuple.
            tup_ids: As many ids as rows, which makes the tuples tracked; None leaves them untracked.
            stream: None means "default".
        """
        self._not_running("emit_batch")

    def save_position(self, value: Any, covers: int | None = None) -> None:
        """Note where to go on after this spout's worker died: `ctx.position` of the instance that takes over.

        Returns at once. Kept about once a second, the newest wins, so the last ones may be lost: what was emitted after the
        one that was kept is emitted again. Say only what is acked.

        Args:
            value: Anything that pickles.
            covers: How many events lie before it, counted from where this instance began. So that it is known how many of the
                due events are emitted again after a crash, and the input does not seem to jump. None: as many as are done,
                which is too many for a position that waits for the oldest.
        """
        self._not_running("save_position")
