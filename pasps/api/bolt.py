"""What a user derives a processing step from: one tuple at a time, a batch, or the tuples of an interval by key."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from typing import Any, ClassVar, Literal

from pasps.api.component import Component
from pasps.api.context import TopologyContext
from pasps.api.tuples import DEFAULT_STREAM, Tuple
from pasps.errors import EmitError, Interrupt, shown


class Step(Component):
    """What every class of a bolt has, whichever way it is given tuples: base of `Bolt` and `StatefulFunction`."""

    execution: Literal["inline", "thread"] = "inline"
    concurrency: int = 1

    @classmethod
    def useful_replicas(cls, conf: Mapping[str, Any]) -> int | None:
        """How many replicas bring anything when the bolt is configured so; None: as many as its pool has.

        Elasticity takes it for the pool. Asked where the topology is controlled, before it starts; must not raise.
        """
        return None


class Bolt(Step):
    """A step that gets tuples one by one, one call at a time for each instance.

    `process` may be `async def`: one tuple at a time, or `concurrency` of them. With `execution = "thread"` it runs on a
    thread of its own, for code that blocks. The switches: what `process` emits is anchored to its input (`auto_anchor`),
    the input is acked when `process` returns (`auto_ack`), and failed when it raises (`auto_fail`).
    """

    auto_anchor: bool = True
    auto_ack: bool = True
    auto_fail: bool = True

    given_by_runtime: ClassVar[frozenset[str]] = frozenset({"emit", "ack", "fail"})
    keeps_tuples: ClassVar[bool] = False
    """Whether `process` keeps its tuples, and `auto_ack` is about a call that comes later."""

    def process(self, tup: Tuple) -> Awaitable[None] | None:
        """Handle one tuple. An exception fails it, is reported, and stops nothing else."""
        raise NotImplementedError(f"{type(self).__name__} must define process(tup)")

    def process_tick(self, tup: Tuple) -> Awaitable[None] | None:
        """Handle a tick; comes every `topology.tick.tuple.freq.secs`, ahead of what is queued. May be async as `process` may."""
        return None

    def finish(self) -> Awaitable[None] | None:
        """Say what must still be said: called when no more input can come to this instance.

        Every spout has ended and all that came of it is done, or the topology is drained to be ended. What is emitted here flows
        through the rest before the end is reported; it is anchored to nothing unless `anchors` are named. Called once, and once
        more only if something came to this instance after that, such as a replay. May be async as `process` may. An exception
        is reported, and the end goes on. A worker that dies, or is ended without a drain, calls nothing.
        """
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


class BatchingBolt(Bolt):
    """streamparse's: tuples are gathered by `group_key`, and every `ticks_between_batches` ticks each group is one batch.

    It needs ticks: `topology.tick.tuple.freq.secs`. The switches hold for a batch: what `process_batch` emits is anchored to all
    tuples of its batch, they are acked when it returns, and failed when it raises, which costs the other groups nothing. What is
    gathered is lost with its worker, and comes again when it is tracked. `process` and `process_tick` are this class's own.
    """

    ticks_between_batches: int = 1

    given_by_runtime: ClassVar[frozenset[str]] = Bolt.given_by_runtime | {"_send"}
    keeps_tuples: ClassVar[bool] = True

    _send: Callable[..., Any]
    _gathered: dict[Hashable, list[Tuple]]
    _batch: list[Tuple] | None
    _emitted: list[tuple[Any, ...]]
    _ticks: int

    def group_key(self, tup: Tuple) -> Hashable:
        """What batches are made by; by default there is one group."""
        return None

    def process_batch(self, key: Hashable, tups: list[Tuple]) -> None:
        """Handle the tuples of one group, at least one. What it emits is sent when it has returned."""
        raise NotImplementedError(f"{type(self).__name__} must define process_batch(key, tups)")

    def process(self, tup: Tuple) -> None:
        """Gather."""
        self._gathered.setdefault(self.group_key(tup), []).append(tup)

    def process_tick(self, tup: Tuple) -> None:
        """Count, and process the batches when it is time."""
        self._ticks += 1
        if self._ticks >= self.ticks_between_batches:
            self._ticks = 0
            self.process_batches()

    def finish(self) -> None:
        """No more input comes: process what is gathered."""
        self.process_batches()

    def process_batches(self) -> None:
        """Process every batch now, from within a call of the runtime's."""
        groups, self._gathered = self._gathered, {}
        for key, tups in groups.items():
            self._batch, self._emitted = tups, []
            try:
                self.process_batch(key, list(tups))  # theirs to empty or sort: what is acked and anchored is ours
                for row, stream, anchors, direct_task in self._emitted:
                    self._send(row, stream, anchors, direct_task)
            except Interrupt:
                self._gathered = groups  # nothing of what this call did counts
                raise
            except BaseException as error:  # noqa: BLE001 - a step of its own: its tuples fail, the other groups go on
                self.ctx.report_error(error)
                for tup in tups if self.auto_fail else ():
                    self.fail(tup)
            else:
                for tup in tups if self.auto_ack else ():
                    self.ack(tup)
            finally:
                self._batch, self._emitted = None, []

    def put_in_place(self, ctx: TopologyContext, methods: Mapping[str, Callable[..., Any]]) -> None:
        """See `Component`."""
        super().put_in_place(ctx, {**methods, "emit": self._emit, "_send": methods["emit"]})
        if "_gathered" not in self.__dict__:  # else it was moved here, with what it had gathered
            self._gathered, self._batch, self._emitted, self._ticks = {}, None, [], 0

    def _emit(
        self,
        values: Sequence[Any],
        stream: str | None = None,
        anchors: Sequence[Tuple] | None = None,
        direct_task: int | None = None,
        need_task_ids: bool = False,
    ) -> list[int] | None:
        """`emit`: keeps what belongs to a batch until that is done; it has no task ids then, as in streamparse."""
        if self._batch is None:
            ids: list[int] | None = self._send(values, stream, anchors, direct_task, need_task_ids)
            return ids
        name = stream or DEFAULT_STREAM
        fields = self.ctx.fields(self.ctx.component_id, name)
        # here, where its line stands in the traceback: when it is sent it would be ours
        if not isinstance(values, (list, tuple)) or len(values) != len(fields):
            raise EmitError(self.ctx.component_id, name, f"expected {len(fields)} values ({', '.join(fields)}), got {shown(values)}")
        anchors = anchors if anchors is not None else self._batch if self.auto_anchor else []
        self._emitted.append((tuple(values), stream, anchors, direct_task))
        return None


class TicklessBatchingBolt(BatchingBolt):
    """streamparse's: as `BatchingBolt`, every `secs_between_batches` seconds, without a key in the configuration.

    The time comes by ticks all the same: the topology gives the component `topology.tick.tuple.freq.secs`, unless its
    configuration has that key. No thread of its own runs, so `process_batch` never runs beside another call.
    """

    secs_between_batches: float = 2

    def process_tick(self, tup: Tuple) -> None:
        """Process the batches."""
        self.process_batches()
