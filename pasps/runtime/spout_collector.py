"""What `self.emit`, `self.emit_batch` and `self.save_position` of a spout do: collect, until the step's flush."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pasps.api.tuples import DEFAULT_STREAM
from pasps.errors import EmitError
from pasps.runtime.batch import Row
from pasps.runtime.collector import port_for
from pasps.runtime.emitter import Delivery, Emitter, Port
from pasps.runtime.outcome import row_of

Chunk = tuple[Port, list[Row], list[Any]]
"""Rows of one stream with their tuple ids (None: untracked), in the order of emission."""

EmitNow = Callable[[Port, Row, Any, list[Delivery]], None]


class SpoutCollector:
    """Single-threaded: a spout emits only from its own calls."""

    __slots__ = (
        "_chunks",
        "_component",
        "_emit_now",
        "_emitter",
        "_ids",
        "_port",
        "_rows",
        "_settled",
        "_width",
        "count",
        "covered",
        "exact",
        "owed",
        "position",
        "saves",
    )

    def __init__(self, component: str, emitter: Emitter, emit_now: EmitNow, settled: Callable[[], int]) -> None:
        self._component = component
        self._emitter = emitter
        self._emit_now = emit_now
        self._chunks: list[Chunk] = []
        default = emitter.ports.get(DEFAULT_STREAM)
        self._port = default
        self._width = -1 if default is None or default.direct else default.width
        self._rows: list[Row] = []
        self._ids: list[Any] = []
        self.count = 0
        self.position: tuple[Any] | None = None
        self.covered = 0
        self.exact = False
        """Whether the spout itself said what its position covers: then what it will emit again is known without a mark."""
        self.owed = 0
        """What this instance was to emit again when it began; so many of the dead ones' emissions lay behind its position."""
        self.saves = 0
        self._settled = settled

    def emit(
        self,
        values: Any,
        tup_id: Any = None,
        stream: str | None = None,
        direct_task: int | None = None,
        need_task_ids: bool = False,
    ) -> list[int] | None:
        """See `Spout.emit`."""
        if stream is None and direct_task is None and not need_task_ids and len(values) == self._width:
            if values.__class__ is not tuple:
                values = row_of(values, self._default())
            self._rows.append(values)
            self._ids.append(tup_id)
            self.count += 1
            return None
        port = port_for(self._emitter.ports, self._component, stream or DEFAULT_STREAM, direct_task)
        row = row_of(values, port)
        self.count += 1
        if direct_task is None and not need_task_ids:
            self._close_chunk()
            self._chunks.append((port, [row], [tup_id]))
            return None
        deliveries = self._emitter.choose(port, row, direct_task)
        self._emit_now(port, row, tup_id, deliveries)
        return [lane.first_task + task for lane, task, _ in deliveries] if need_task_ids else None

    def emit_batch(self, rows: Sequence[Any], tup_ids: Sequence[Any] | None = None, stream: str | None = None) -> None:
        """See `Spout.emit_batch`."""
        port = port_for(self._emitter.ports, self._component, stream or DEFAULT_STREAM, None)
        if tup_ids is not None and len(tup_ids) != len(rows):
            raise EmitError(self._component, port.stream, f"expected one tup_id for each of {len(rows)} rows, got {len(tup_ids)}")
        if not rows:
            return
        count = len(rows)
        if list(map(type, rows)).count(tuple) == count and list(map(len, rows)).count(port.width) == count:
            listed = list(rows)
        else:
            listed = [row_of(row, port) for row in rows]
        self._close_chunk()
        self._chunks.append((port, listed, [None] * len(listed) if tup_ids is None else list(tup_ids)))
        self.count += len(listed)

    def save_position(self, value: Any, covers: int | None = None) -> None:
        """See `Spout.save_position`."""
        self.position = (value,)
        self.covered = self._settled() if covers is None else covers - self.owed
        self.exact = covers is not None
        self.saves += 1

    def take(self) -> list[Chunk]:
        """Everything collected since the last call."""
        self._close_chunk()
        chunks, self._chunks, self.count = self._chunks, [], 0
        return chunks

    def _close_chunk(self) -> None:
        if self._rows:
            self._chunks.append((self._default(), self._rows, self._ids))
            self._rows, self._ids = [], []

    def _default(self) -> Port:
        assert self._port is not None
        return self._port
