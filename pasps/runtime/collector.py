"""What `emit`, `ack` and `fail` of user code do: check, and write down; of bolts, on the loop, on a thread or awaited, and of spouts."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from operator import index
from threading import get_ident
from typing import Any, NoReturn

from pasps.api.tuples import DEFAULT_STREAM, Tuple
from pasps.errors import EmitError, shown
from pasps.runtime.batch import Row
from pasps.runtime.emitter import Delivery, Emitter, Port
from pasps.runtime.outcome import Emission, Records, Verdict, row_of

Ask = Callable[[Callable[[], list[Delivery]]], list[Delivery]]
"""Has the worker's loop do something, and waits for what comes of it."""

_OUTSIDE = "emit, ack and fail work only during a call of process, process_batch, process_tick or finish"


def port_for(ports: Mapping[str, Port], component: str, stream: str, direct_task: Any) -> tuple[Port, int | None]:
    """The port of a stream, and the task as a plain int, whatever integer was given: it travels.

    Raises:
        EmitError: the stream is not declared, or direct where it is not, or the other way round, or the task is none of its.
    """
    port = ports.get(stream)
    if port is None:
        declared = ", ".join(sorted(ports)) or "none"
        raise EmitError(component, stream, f"not declared in outputs; declared: {declared}")
    if direct_task is None:
        if port.direct:
            raise EmitError(component, stream, "a direct stream needs direct_task=")
        return port, None
    if not port.direct:
        raise EmitError(component, stream, "direct_task= needs a stream declared with direct=True")
    return port, _task_of(port, direct_task)


def _task_of(port: Port, task: Any) -> int:
    receivers = [range(lane.first_task, lane.first_task + len(lane.targets)) for lane in port.lanes if lane.direct]
    try:
        number = -1 if isinstance(task, bool) else index(task)
    except TypeError:
        number = -1
    if receivers and not any(number in tasks for tasks in receivers):
        ids = ", ".join(f"{tasks.start} to {tasks.stop - 1}" for tasks in receivers)
        raise EmitError(port.component, port.stream, f"direct_task={shown(task)} is no task that subscribes to it; those are {ids}")
    return number


class Collector:
    """The collector of one bolt instance that runs inline. What it records goes to `begin`'s list until `end`; outside it refuses."""

    __slots__ = ("append", "component", "emitter", "out", "plain", "width")

    def __init__(self, component: str, emitter: Emitter) -> None:
        self.component = component
        self.emitter = emitter
        self.out: Records | None = None
        self.append: Callable[[Any], None] = self._refuse
        default = emitter.ports.get(DEFAULT_STREAM)
        self.plain = True  # nothing but rows of the default stream, and no verdicts, since `begin`
        self.width = -1 if default is None or default.direct else default.width

    def begin(self, *, needs_anchors: bool = False) -> Records:
        """A fresh record list for the call that follows."""
        out = self.out = Records(needs_anchors=needs_anchors)
        # emissions without anchors of a batch have to be looked at, so none of them may take the short way
        self.append = self._refuse_loose if needs_anchors else out.append
        self.plain = True
        return out

    def end(self) -> None:
        """The call is over."""
        self.out = None
        self.append = self._refuse

    def records(self) -> Records:
        """Where records go now.

        Raises:
            EmitError: no call is under way.
        """
        if self.out is None:
            self._refuse(None)
        return self.out

    def emit(
        self,
        values: Any,
        stream: str | None = None,
        anchors: Iterable[Tuple] | Tuple | None = None,
        direct_task: int | None = None,
        need_task_ids: bool = False,
    ) -> list[int] | None:
        """See `Bolt.emit`."""
        if stream is None and anchors is None and direct_task is None and not need_task_ids:
            if type(values) is not tuple and isinstance(values, (list, tuple)):
                values = tuple(values)
            if type(values) is tuple and len(values) == self.width:
                append = self.append  # in a step of its own, which the interpreter makes short: `self.append(...)` costs 11 ns more
                append(values)
                return None
        self.plain = False
        return self._emit_with_options(values, stream, anchors, direct_task, need_task_ids)

    def _emit_with_options(
        self,
        values: Any,
        stream: str | None,
        anchors: Iterable[Tuple] | Tuple | None,
        direct_task: int | None,
        need_task_ids: bool,
    ) -> list[int] | None:
        records = self.records()
        port, direct_task = port_for(self.emitter.ports, self.component, stream or DEFAULT_STREAM, direct_task)
        row = row_of(values, port)
        listed = self._anchors(port, anchors)
        if listed is None and records.needs_anchors:
            self._refuse_loose(row, port.stream)
        deliveries = self._chosen(port, row, direct_task) if need_task_ids else None
        records.append(Emission(port, row, listed, direct_task, deliveries))
        return None if deliveries is None else [lane.first_task + task for lane, task, _ in deliveries]

    def _anchors(self, port: Port, anchors: Iterable[Tuple] | Tuple | None) -> list[Tuple] | None:
        if anchors is None:
            return None
        listed: list[Any] = [anchors] if isinstance(anchors, Tuple) else list(anchors) if isinstance(anchors, Iterable) else [anchors]
        wrong = next((anchor for anchor in listed if not isinstance(anchor, Tuple)), self)
        if wrong is not self:
            raise EmitError(self.component, port.stream, f"anchors= takes the tuples that were received, got {shown(wrong)}")
        return listed

    def _chosen(self, port: Port, row: Any, direct_task: int | None) -> list[Delivery]:
        return self.emitter.choose(port, row, direct_task)

    def ack(self, tup: Tuple) -> None:
        """See `Bolt.ack`."""
        self._judge(tup, True)

    def fail(self, tup: Tuple) -> None:
        """See `Bolt.fail`."""
        self._judge(tup, False)

    def _judge(self, tup: Tuple, good: bool) -> None:
        if not isinstance(tup, Tuple):
            verb = "ack" if good else "fail"
            raise EmitError(self.component, DEFAULT_STREAM, f"{verb} takes a tuple that was received, got {shown(tup)}")
        self.plain = False
        self.records().append(Verdict(tup, good))

    def _refuse(self, _: object) -> NoReturn:
        raise EmitError(self.component, DEFAULT_STREAM, f"{_OUTSIDE}; {self._cure()}")

    def _cure(self) -> str:
        return "in initialize, activate, deactivate and close nothing can be sent"

    def _refuse_loose(self, row: Any, stream: str = DEFAULT_STREAM) -> NoReturn:
        problem = f"in process_batch, emit needs anchors= (or anchors=[] for none), got {shown(row)}"
        raise EmitError(self.component, stream, problem)


class ThreadCollector(Collector):
    """For a bolt on its own thread. Groupings belong to the worker's loop, which is asked for a choice, and waited for."""

    __slots__ = ("ask",)

    def __init__(self, component: str, emitter: Emitter, ask: Ask) -> None:
        super().__init__(component, emitter)
        self.ask = ask

    def _chosen(self, port: Port, row: Any, direct_task: int | None) -> list[Delivery]:
        return self.ask(lambda: self.emitter.choose(port, row, direct_task))


_running: ContextVar[Records | None] = ContextVar("records of the running call")


class AsyncCollector(Collector):
    """For `async def process`: several calls may be under way, so the records are found through the running task."""

    __slots__ = ()

    @staticmethod
    def enter(out: Records) -> None:
        """The calling task writes its records to `out` from now on."""
        _running.set(out)

    def records(self) -> Records:
        """Where the running call's records go.

        Raises:
            EmitError: there is no call, or a task that the call started goes on after it.
        """
        records = _running.get(None)
        if records is None or records.over:
            self._refuse(None)
        return records

    def _cure(self) -> str:
        return "await what a call starts before it returns"

    def emit(
        self,
        values: Any,
        stream: str | None = None,
        anchors: Iterable[Tuple] | Tuple | None = None,
        direct_task: int | None = None,
        need_task_ids: bool = False,
    ) -> list[int] | None:
        """See `Bolt.emit`."""
        return self._emit_with_options(values, stream, anchors, direct_task, need_task_ids)


Chunk = tuple[Port, list[Row], list[Any] | None]
"""Rows of one stream with their tuple ids, in the order of emission. The id None: that row is untracked; no list: all are."""

EmitNow = Callable[[Port, Row, Any, list[Delivery]], None]

_MOST_WHOLE = 2**63 - 1
"""The largest number that reaches the controller."""


def whole_number(value: Any) -> int | None:
    """`value` as an int where it is a whole number, numpy's too, that fits into 64 bits; None for everything else, bools above all."""
    if isinstance(value, bool) or not hasattr(type(value), "__index__"):
        return None
    try:
        number = index(value)
    except TypeError:  # an array of several, say
        return None
    return number if -_MOST_WHOLE <= number <= _MOST_WHOLE else None


class SpoutCollector:
    """Single-threaded: takes rows only from within a call of the spout's (`open` to `close`), and on that call's thread."""

    __slots__ = (
        "_caller",
        "_chunks",
        "_component",
        "_emit_now",
        "_emitter",
        "_ids",
        "_port",
        "_rows",
        "_width",
        "count",
        "position",
        "saves",
        "sent",
    )

    def __init__(self, component: str, emitter: Emitter, emit_now: EmitNow) -> None:
        self._component = component
        self._emitter = emitter
        self._emit_now = emit_now
        self._chunks: list[Chunk] = []
        default = emitter.ports.get(DEFAULT_STREAM)
        self._port = default
        self._width = -1 if default is None or default.direct else default.width
        self._rows: list[Row] = []
        self._ids: list[Any] = []
        self._caller = 0  # the thread that runs the spout's call; no thread has the number 0
        self.count = 0
        """Rows that wait for the flush."""
        self.sent = 0
        """Rows that waited and do no more; with `count` all that were ever emitted."""
        self.position: Any = None
        self.saves = 0
        """How often a position was saved."""

    def open(self) -> None:
        """A call begins in which the spout may emit."""
        self._caller = get_ident()

    def close(self) -> None:
        """It has ended."""
        self._caller = 0

    def emit(
        self,
        values: Any,
        tup_id: Any = None,
        stream: str | None = None,
        direct_task: int | None = None,
        need_task_ids: bool = False,
    ) -> list[int] | None:
        """See `Spout.emit`."""
        if get_ident() != self._caller:
            raise self._out_of_call("emit", stream)
        try:
            hash(tup_id)
        except TypeError:
            raise EmitError(self._component, stream or DEFAULT_STREAM, _unhashable(tup_id)) from None
        if stream is None and direct_task is None and not need_task_ids:
            kind = type(values)
            if (kind is tuple or kind is list) and len(values) == self._width:
                self._rows.append(values if kind is tuple else tuple(values))
                self._ids.append(tup_id)
                self.count += 1
                return None
        port, direct_task = port_for(self._emitter.ports, self._component, stream or DEFAULT_STREAM, direct_task)
        row = row_of(values, port)
        if direct_task is None and not need_task_ids:
            self._close_chunk()
            self._chunks.append((port, [row], [tup_id]))
            self.count += 1
            return None
        deliveries = self._emitter.choose(port, row, direct_task)
        self.sent += 1
        self._emit_now(port, row, tup_id, deliveries)
        return [lane.first_task + task for lane, task, _ in deliveries] if need_task_ids else None

    def emit_batch(self, rows: Sequence[Any], tup_ids: Sequence[Any] | None = None, stream: str | None = None) -> None:
        """See `Spout.emit_batch`."""
        if get_ident() != self._caller:
            raise self._out_of_call("emit_batch", stream)
        port, _ = port_for(self._emitter.ports, self._component, stream or DEFAULT_STREAM, None)
        self._check_listed(port, "rows", rows)
        listed = self._rows_of(port, rows)
        ids = None if tup_ids is None else self._ids_of(port, tup_ids, len(listed))
        if not listed:
            return
        self._close_chunk()
        self._chunks.append((port, listed, ids))
        self.count += len(listed)

    def _check_listed(self, port: Port, what: str, values: Any) -> None:
        """Whether they come one after the other, and can be counted: no text, whose characters would pass, and no set."""
        if isinstance(values, (str, bytes, Mapping)) or not hasattr(values, "__len__") or not hasattr(values, "__getitem__"):
            raise EmitError(self._component, port.stream, f"emit_batch takes a list of {what}, got {shown(values)}")

    def _rows_of(self, port: Port, rows: Sequence[Any]) -> list[Row]:
        listed = list(rows)
        count = len(listed)
        if list(map(type, listed)).count(tuple) == count and list(map(len, listed)).count(port.width) == count:
            return listed
        for number, row in enumerate(listed):
            try:
                listed[number] = row_of(row, port)
            except EmitError as error:
                place = f"row {number} of the {count} of this emit_batch: "
                raise EmitError(self._component, port.stream, place + error.problem) from None
        return listed

    def _ids_of(self, port: Port, tup_ids: Sequence[Any], count: int) -> list[Any]:
        self._check_listed(port, "tup_ids", tup_ids)
        listed = list(tup_ids)
        if len(listed) != count:
            raise EmitError(self._component, port.stream, f"expected one tup_id for each of {count} rows, got {len(listed)}")
        try:
            deque(map(hash, listed), 0)
        except TypeError:
            for number, tup_id in enumerate(listed):
                try:
                    hash(tup_id)
                except TypeError:
                    raise EmitError(self._component, port.stream, f"tup_ids[{number}]: {_unhashable(tup_id)}") from None
        return listed

    def save_position(self, value: Any) -> None:
        """See `Spout.save_position`."""
        self.position = value
        self.saves += 1

    def take(self) -> list[Chunk]:
        """Everything collected since the last call."""
        self._close_chunk()
        chunks, self._chunks = self._chunks, []
        self.sent += self.count
        self.count = 0
        return chunks

    def _close_chunk(self) -> None:
        if self._rows:
            assert self._port is not None
            self._chunks.append((self._port, self._rows, self._ids))
            self._rows, self._ids = [], []

    def _out_of_call(self, method: str, stream: str | None) -> EmitError:
        where = "a spout emits in next_tuple(), ack() and fail() alone, on the thread that calls them"
        cure = "keep it in the instance, or in a queue.Queue, and emit it in next_tuple()"
        return EmitError(self._component, stream or DEFAULT_STREAM, f"{method} was called elsewhere: {where}; {cure}")


def _unhashable(tup_id: Any) -> str:
    return f"a tup_id must be hashable, got {shown(tup_id)}; a tuple in place of a list is"
