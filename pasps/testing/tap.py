"""An emitter that writes down every row that it routes, and tries on each whether it could travel; used by `StepRun`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pasps.errors import WireError
from pasps.runtime.batch import Links, Row
from pasps.runtime.emitter import Delivery, Emitter, Port
from pasps.transport.codec import Decoder, Encoder
from pasps.transport.frames import FrameReader
from pasps.transport.messages import Bundle, WireBatch
from pasps.transport.values import RowWrapper

ReportError = Callable[[str, int, BaseException], None]
"""A component, a task id, and why its row cannot travel."""


class WireCheck:
    """Sends rows through wrapper, codec and frames, as between two workers, and gives what comes out."""

    def __init__(self, allow_pickle: bool, most_frame_bytes: int) -> None:
        self._rows = RowWrapper(allow_pickle)
        self._encoder = Encoder(self._rows, most_frame_bytes)
        self._decoder = Decoder(allow_pickle)
        self._reader = FrameReader(most_frame_bytes)

    def there_and_back(self, row: Row, port: Port) -> Row:
        """The row as another worker would get it.

        Raises:
            WireError: it would not get it.
        """
        wired = self._rows.wire_rows([row], port.component, port.stream, port.fields)
        came: list[Row] = []
        for frame in self._encoder.encode(Bundle([WireBatch(0, 0, 0, wired)])):
            for payload in self._reader.feed(frame):
                message = self._decoder.decode(payload)
                if isinstance(message, Bundle):  # not the definition of a class, which comes ahead of it
                    came += message.batches[0].rows
        return came[0]


class Recorder:
    """What all components of a run emitted, by component and stream, in order."""

    def __init__(self, wire: WireCheck | None, report: ReportError) -> None:
        self.emitted: dict[str, dict[str, list[Row]]] = {}
        self.wire = wire
        self.report = report

    def emitter(self, *parts: Any) -> Emitter:
        """Make an emitter that tells this recorder; `parts` is what an `Emitter` is made of."""
        return _TappedEmitter(self, *parts)

    def note(self, port: Port, rows: list[Row]) -> None:
        """These were emitted."""
        self.emitted.setdefault(port.component, {}).setdefault(port.stream, []).extend(rows)


class _TappedEmitter(Emitter):
    __slots__ = ("_inside", "_recorder")

    def __init__(self, recorder: Recorder, *parts: Any) -> None:
        super().__init__(*parts)
        self._recorder = recorder
        self._inside = False

    def route(
        self,
        port: Port,
        rows: list[Row],
        roots: list[int] | None,
        edges: list[int] | None,
        links: list[Links | None] | None = None,
        source: int | None = None,
    ) -> None:
        """Note, try, and route what could travel."""
        if self._inside:  # it calls itself for single rows when one of many cannot be routed
            super().route(port, rows, roots, edges, links, source)
            return
        self._recorder.note(port, rows)
        rows, good = self._tried(port, rows, roots, links, source)
        if good is not None:
            roots = None if roots is None else [roots[i] for i in good]
            edges = None if edges is None else [edges[i] for i in good]
            links = None if links is None else [links[i] for i in good]
        self._inside = True  # `route` may call `deliver`
        try:
            super().route(port, rows, roots, edges, links, source)
        finally:
            self._inside = False

    def deliver(
        self,
        port: Port,
        deliveries: list[Delivery],
        rows: list[Row],
        roots: list[int] | None,
        edges: list[int] | None,
        links: list[Links | None] | None,
        source: int,
    ) -> None:
        """The same for one row whose receivers are chosen."""
        if not self._inside:
            self._recorder.note(port, rows)
            rows, good = self._tried(port, rows, roots, links, source)
            if good is not None:
                return
        super().deliver(port, deliveries, rows, roots, edges, links, source)

    def _tried(
        self, port: Port, rows: list[Row], roots: list[int] | None, links: list[Links | None] | None, source: int | None
    ) -> tuple[list[Row], list[int] | None]:
        """The rows that could travel, and where they stood; None: all of them."""
        wire = self._recorder.wire
        if wire is None:
            return rows, None
        passed: list[Row] = []
        good: list[int] = []
        for i, row in enumerate(rows):
            try:
                passed.append(wire.there_and_back(row, port))
                good.append(i)
            except WireError as error:
                self._recorder.report(port.component, self.source if source is None else source, error)
                if roots is not None:
                    self._acks.fail([roots[i]])
                self._acks.fail([root for root, _ in (links[i] if links is not None else None) or ()])
        return passed, None if len(good) == len(rows) else good
