"""Fields grouping: equal keys reach the same task of the pool, whatever replica hosts it, from every sender in every process."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

from pasps.groupings.base import Pick, Row, TargetView
from pasps.groupings.hashing import mix
from pasps.groupings.keys import KeyReader
from pasps.groupings.picks import by_target

_GOLDEN = 0x9E3779B97F4A7C15
"""2^64 over the golden ratio: multiples of it are spread as evenly as can be, however few of them there are."""


def task_of(tasks: int, encoded: bytes) -> int:
    """The task of a key, among `tasks`.

    Whole numbers go by the golden ratio: ten class numbers on two tasks are five on each, where a hash may give seven and three.
    """
    if encoded[:1] == b"i":
        return ((int.from_bytes(encoded[1:], "little", signed=True) * _GOLDEN & 0xFFFF_FFFF_FFFF_FFFF) * tasks) >> 64
    return mix(crc32(encoded)) % tasks


class FieldsSplitter:
    """The task depends on the key and the size of the pool alone, so that no (de)activation moves a key to another task."""

    fan: int | None = 1

    def __init__(self, component: str, stream: str, fields: tuple[str, ...], names: tuple[str, ...]) -> None:
        self._reader: KeyReader[int] = KeyReader(component, stream, fields, names)
        self._cache = self._reader.cache(1, task_of)

    def refresh(self, view: TargetView) -> None:
        self._cache = self._reader.cache(view.tasks, task_of)

    def split(self, rows: Sequence[Row]) -> list[tuple[int, Pick]]:
        return by_target(self._reader.find(rows, self._cache))
