"""An emitter that writes down every row that it routes, and tries on each whether it could travel to whom it goes; used by `StepRun`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pasps.errors import WireError
from pasps.runtime.batch import Batch, Row
from pasps.runtime.emitter import Delivery, Emitter, Lane, Port
from pasps.runtime.target import Target
from pasps.transport.codec import Decoder, Encoder, Refusal, Trial
from pasps.transport.frames import FrameReader
from pasps.transport.messages import Bundle, WireBatch
from pasps.transport.values import RowWrapper

ReportError = Callable[[str, str, int, BaseException], None]
"""A worker, a component in it, a task id, and why its row cannot travel."""


_MOST_DEPTH = 64
"""How deep what was emitted is copied when it is written down."""


class WireCheck(Trial):
    """Sends rows through wrapper, codec and frames, as between two workers, one by one, and looks at what comes out."""

    def __init__(self, allow_pickle: bool, most_frame_bytes: int) -> None:
        wrapper = RowWrapper(allow_pickle, most_frame_bytes)
        super().__init__(wrapper, most_frame_bytes)
        self._rows = wrapper
        self._encoder = Encoder(wrapper, most_frame_bytes)
        self._decoder = Decoder(allow_pickle)
        self._reader = FrameReader(most_frame_bytes)

    def errors(self, rows: list[Row], component: str = "", stream: str = "", fields: Sequence[str] = ()) -> dict[int, WireError]:
        """Why some of the rows cannot travel, by their positions."""
        found = {}
        for i, row in enumerate(rows):
            try:
                self._there_and_back(self._rows.wire_rows([row], component, stream, fields))
            except WireError as error:
                found[i] = error
        return found

    def _there_and_back(self, wired: list[Row]) -> None:
        for frame in self._encoder.encode(Bundle([WireBatch(0, 0, 0, wired)])):
            for payload in self._reader.feed(frame):
                refused: list[Refusal] = []
                self._decoder.decode(payload, refused)
                if refused:
                    raise refused[0].error


class Recorder:
    """What all components of a run emitted, by component and stream, in order."""

    def __init__(self, wire: WireCheck | None, report: ReportError) -> None:
        self.emitted: dict[str, dict[str, list[Row]]] = {}
        self.wire = wire
        self.report = report

    def emitter(self, worker: str, *parts: Any) -> Emitter:
        """Make an emitter that tells this recorder; `parts` is what an `Emitter` is made of."""
        return _TappedEmitter(self, worker, *parts)

    def note(self, port: Port, rows: list[Row]) -> None:
        """These were emitted; what becomes of their lists and dictionaries at their receivers is not written down."""
        kept = [_as_it_is(row, 0) for row in rows]
        self.emitted.setdefault(port.component, {}).setdefault(port.stream, []).extend(kept)


def _as_it_is(value: Any, depth: int) -> Any:
    """A copy as far as lists, tuples, dictionaries and sets go, because rows are handed on by reference."""
    kind = type(value)
    # by identity: a class of the user's may be one that cannot be hashed, or that is equal to anything
    if not (kind is list or kind is tuple or kind is dict or kind is set):
        return value
    if depth > _MOST_DEPTH:  # in itself, most likely
        return value
    if kind is dict:
        return {key: _as_it_is(item, depth + 1) for key, item in value.items()}
    return kind(_as_it_is(item, depth + 1) for item in value)


class _TappedEmitter(Emitter):
    """What can travel is handed on by reference, as in a worker; what cannot fails for each receiver, as if that lived elsewhere."""

    __slots__ = ("_inside", "_names", "_recorder", "_worker")

    def __init__(self, recorder: Recorder, worker: str, source: int, ports: dict[str, Port], *parts: Any) -> None:
        super().__init__(source, ports, *parts)
        if recorder.wire is not None:
            self.trial = recorder.wire
        self._recorder = recorder
        self._worker = worker
        self._inside = False
        self._names = {lane.edge: port for port in ports.values() for lane in port.lanes}

    def route(self, port: Port, batch: Batch, *, whole: bool = False) -> bool:
        """Route, and note what was not held back."""
        if self._inside:  # it calls itself for single rows when one of many cannot be routed
            return super().route(port, batch, whole=whole)
        self._inside = True  # `route` may call `deliver`
        try:
            routed = super().route(port, batch, whole=whole)
        finally:
            self._inside = False
        if routed:
            self._recorder.note(port, batch.rows)
        return routed

    def deliver(self, port: Port, deliveries: list[Delivery], batch: Batch) -> None:
        """The same for one row whose receivers are chosen."""
        if not self._inside:
            self._recorder.note(port, batch.rows)
        super().deliver(port, deliveries, batch)

    def has_receivers_elsewhere(self, port: Port) -> bool:
        """As if every receiver lived elsewhere."""
        return self._recorder.wire is not None or super().has_receivers_elsewhere(port)

    def is_elsewhere(self, target: Target) -> bool:
        """The same."""
        return self._recorder.wire is not None or super().is_elsewhere(target)

    def _offer(self, lane: Lane, batch: Batch) -> None:
        tried = self._tried(lane, batch) if batch.rows else batch  # a payload has none
        if tried.rows or not batch.rows:
            super()._offer(lane, tried)

    def _tried(self, lane: Lane, batch: Batch) -> Batch:
        """The batch without the rows that could not travel; those fail, and are told."""
        wire, port = self._recorder.wire, self._names[lane.edge]
        if wire is None:
            return batch
        errors = wire.errors(batch.rows, port.component, port.stream, port.fields)
        if not errors:
            return batch
        for error in errors.values():
            self._recorder.report(self._worker, port.component, batch.source, error)
        self._acks.fail_batch(batch.select(list(errors)))
        return batch.without(errors)
