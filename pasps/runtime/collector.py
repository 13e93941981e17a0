"""What `self.emit`, `self.ack` and `self.fail` of a bolt do: check and record, cheaply; the settler carries it out after the call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from operator import index
from typing import Any, NoReturn

from pasps.api.tuples import DEFAULT_STREAM, Tuple
from pasps.errors import EmitError, shown
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
