"""What `self.emit`, `self.ack` and `self.fail` of a bolt do: record, cheaply; the executor settles when the step is over.

A record list holds plain rows (default stream, anchored to the tuple in hand) and the records below, in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from typing import Any

from pasps.api.tuples import DEFAULT_STREAM, Tuple
from pasps.errors import EmitError
from pasps.runtime.batch import Row
from pasps.runtime.emitter import Delivery, Emitter, Port


class Emission:
    """An emit with options."""

    __slots__ = ("anchors", "deliveries", "direct_task", "port", "row")

    def __init__(
        self, port: Port, row: Row, anchors: list[Tuple] | None, direct_task: int | None, deliveries: list[Delivery] | None
    ) -> None:
        self.port = port
        self.row = row
        self.anchors = anchors
        self.direct_task = direct_task
        self.deliveries = deliveries


class Verdict:
    """An explicit ack or fail."""

    __slots__ = ("good", "tup")

    def __init__(self, tup: Tuple, good: bool) -> None:
        self.tup = tup
        self.good = good


class Raised:
    """`process` raised: ends the records of its tuple."""

    __slots__ = ("error",)

    def __init__(self, error: Exception) -> None:
        self.error = error


class Quiet(Exception):  # noqa: N818 - a mark, never raised
    """In `Raised`: the rest of a batch that failed as a whole; one report is enough."""


def row_of(values: Any, port: Port) -> Row:
    """`values` as a row of the stream, or EmitError that says what it is instead."""
    if not isinstance(values, (list, tuple)):
        raise EmitError(port.component, port.stream, f"emit takes a list or tuple of {port.width} values, got {values!r}")
    if len(values) != port.width:
        names = ", ".join(port.fields) or "no fields"
        raise EmitError(port.component, port.stream, f"expected {port.width} values ({names}), got {len(values)}: {values!r}")
    return tuple(values)


def port_for(ports: Mapping[str, Port], component: str, stream: str, direct_task: int | None) -> Port:
    """The port of a stream, or EmitError: it is not declared, or direct where it is not, or the other way round."""
    port = ports.get(stream)
    if port is None:
        declared = ", ".join(sorted(ports)) or "none"
        raise EmitError(component, stream, f"not declared in outputs; declared: {declared}")
    if port.direct and direct_task is None:
        raise EmitError(component, stream, "a direct stream needs direct_task=")
    if direct_task is not None and not port.direct:
        raise EmitError(component, stream, "direct_task= needs a stream declared with direct=True")
    return port


class Collector:
    """The collector of one bolt instance; everything it does happens when the running step is settled."""

    __slots__ = ("append", "emitter", "out", "plain", "width")

    may_choose = True

    def __init__(self, emitter: Emitter) -> None:
        self.emitter = emitter
        self.out: list[Any] = []
        self.append = self.out.append
        default = emitter.ports.get(DEFAULT_STREAM)
        self.plain = True  # nothing but rows of the default stream, and no verdicts, since `begin`
        self.width = -1 if default is None or default.direct else default.width

    def records(self) -> list[Any]:
        """Where records go now."""
        return self.out

    def begin(self) -> list[Any]:
        """A fresh record list for the next step."""
        self.out = []
        self.append = self.out.append
        self.plain = True
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
            if values.__class__ is not tuple and isinstance(values, (list, tuple)):
                values = tuple(values)
            if values.__class__ is tuple and len(values) == self.width:
                self.append(values)
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
        component = next(iter(self.emitter.ports.values())).component if self.emitter.ports else ""
        port = port_for(self.emitter.ports, component, stream or DEFAULT_STREAM, direct_task)
        row = row_of(values, port)
        listed = [anchors] if isinstance(anchors, Tuple) else None if anchors is None else list(anchors)
        deliveries = None
        if need_task_ids:
            if not self.may_choose:
                raise EmitError(component, port.stream, "need_task_ids=True is only possible for inline and async bolts")
            deliveries = self.emitter.choose(port, row, direct_task)
        self.records().append(Emission(port, row, listed, direct_task, deliveries))
        return None if deliveries is None else [lane.first_task + task for lane, task, _ in deliveries]

    def ack(self, tup: Tuple) -> None:
        """See `Bolt.ack`."""
        self.plain = False
        self.records().append(Verdict(tup, True))

    def fail(self, tup: Tuple) -> None:
        """See `Bolt.fail`."""
        self.plain = False
        self.records().append(Verdict(tup, False))


class ThreadCollector(Collector):
    """For a bolt on its own thread: records only; groupings belong to the worker's loop."""

    __slots__ = ()

    may_choose = False


class CallRecords(list[Any]):
    """The records of one awaited call; `over` once it has returned, when nobody reads them any more."""

    over = False


_running: ContextVar[CallRecords | None] = ContextVar("records of the running call")


class AsyncCollector(Collector):
    """For `async def process`: several calls may be under way, so the records are found through the running task."""

    __slots__ = ()

    @staticmethod
    def enter(out: CallRecords) -> None:
        """The calling task writes its records to `out` from now on."""
        _running.set(out)

    def records(self) -> list[Any]:
        """Where the running call's records go.

        Raises:
            EmitError: there is no call: a task that the call started goes on after it.
        """
        records = _running.get(None)
        if records is None or records.over:
            component = next(iter(self.emitter.ports.values())).component if self.emitter.ports else ""
            raise EmitError(component, DEFAULT_STREAM, "emit, ack and fail work only until `process` returns; await what it starts")
        return records

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
