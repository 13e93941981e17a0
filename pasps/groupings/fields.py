"""Fields grouping: equal keys reach the same task of the pool, whatever replica hosts it, from every sender in every process."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

from pasps.groupings.base import Pick, Row, TargetView
from pasps.groupings.hashing import mix
from pasps.groupings.keys import KeyReader
from pasps.groupings.picks import by_target


def task_of(tasks: int, encoded: bytes) -> int:
    """The task of a key, among `tasks`."""
    return mix(crc32(encoded)) % tasks


class FieldsSplitter:
    """The task is the key's stable hash modulo the size of the pool, so that no (de)activation moves a key to another task."""

    fan: int | None = 1

    def __init__(self, component: str, stream: str, fields: tuple[str, ...], names: tuple[str, ...]) -> None:
        self._reader: KeyReader[int] = KeyReader(component, stream, fields, names)
        self._cache = self._reader.cache(1, task_of)

    def refresh(self, view: TargetView) -> None:
        self._cache = self._reader.cache(view.tasks, task_of)

    def split(self, rows: Sequence[Row]) -> list[tuple[int, Pick]]:
        return by_target(self._reader.find(rows, self._cache))
