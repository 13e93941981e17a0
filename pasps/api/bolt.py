"""What a user derives a processing step from: one tuple at a time, or a batch."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, ClassVar, Literal

from pasps.api.component import Component
from pasps.api.tuples import Tuple


class Bolt(Component):
    """A step that gets tuples one by one, one call at a time for each instance.

    `process` may be `async def`: one tuple at a time, or `concurrency` of them. With `execution = "thread"` it runs on a
    thread of its own, for code that blocks. The switches: what `process` emits is anchored to its input (`auto_anchor`),
    the input is acked when `process` returns (`auto_ack`), and failed when it raises (`auto_fail`).
    """

    auto_anchor: bool = True
    auto_ack: bool = True
    auto_fail: bool = True
    execution: Literal["inline", "thread"] = "inline"
    concurrency: int = 1

    given_by_runtime: ClassVar[frozenset[str]] = frozenset({"emit", "ack", "fail"})

    @classmethod
    def useful_replicas(cls, conf: Mapping[str, Any]) -> int | None:
        """How many replicas bring anything when the bolt is configured so; None: as many as its pool has.

        Elasticity takes it for the pool. Asked where the topology is controlled, before it starts; must not raise.
        """
        return None

    def process(self, tup: Tuple) -> Awaitable[None] | None:
        """Handle one tuple. An exception fails it, is reported, and stops nothing else."""
        raise NotImplementedError(f"{type(self).__name__} must define process(tup)")

    def process_tick(self, tup: Tuple) -> Awaitable[None] | None:
        """Handle a tick; comes every `topology.tick.tuple.freq.secs`, ahead of what is queued. May be async as `process` may."""
        return None

    def emit(
        self,
        values: Sequence[Any],
        stream: str | None = None,
        anchors: Sequence[Tuple] | None = None,
        direct_task: int | None = None,
        need_task_ids: bool = False,
    ) -> list[int] | None:
        """Send one tuple; never blocks.

        Args:
            values: One value for each field of the stream.
            stream: None means "default".
            anchors: The inputs it came from: when it fails, their roots fail. None means the tuple being processed, unless
                `auto_anchor` is off; an empty list means none.
            direct_task: The receiving task, on a direct stream.
            need_task_ids: Whether to return the receiving task ids, which costs the advantage of batches.

        Returns:
            The receiving task ids when asked for, else None.
        """
        self._not_running("emit")

    def ack(self, tup: Tuple) -> None:
        """This tuple is done; call it once for each tuple when `auto_ack` is off."""
        self._not_running("ack")

    def fail(self, tup: Tuple) -> None:
        """This tuple could not be done: its spout hears of it at once."""
        self._not_running("fail")


class BatchBolt(Bolt):
    """A step that gets what has queued as one list, of `max_batch` tuples at most, for numpy and code like it.

    It never waits for a batch to fill. The whole batch is acked when `process_batch` returns and failed when it raises, by the
    same switches as in `Bolt`.
    """

    max_batch: int = 1024

    def process_batch(self, tuples: list[Tuple]) -> Sequence[Any] | Awaitable[Sequence[Any] | None] | None:
        """Handle a batch; may be `async def`.

        Returns:
            As many elements as there are tuples: the values that come of each, None for nothing. Or None, when it emitted
            by itself with `self.emit(..., anchors=[...])`, or has nothing to emit.
        """
        raise NotImplementedError(f"{type(self).__name__} must define process_batch(tuples)")
