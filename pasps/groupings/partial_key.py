"""Partial key grouping: each key has two tasks, and a sender gives a tuple to the one that it has given fewer."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

from pasps.groupings.base import Pick, Row, TargetView
from pasps.groupings.hashing import mix
from pasps.groupings.keys import KeyReader
from pasps.groupings.picks import by_target

_SECOND = 0x9E37_79B9  # makes the second hash of a key independent of its first


def candidates(tasks: int, encoded: bytes) -> tuple[int, int]:
    """The two tasks of a key, different ones when there is more than one."""
    checksum = crc32(encoded)
    first = mix(checksum) % tasks
    if tasks == 1:
        return 0, 0
    step = 1 + mix(checksum ^ _SECOND) % (tasks - 1)
    return first, (first + step) % tasks


class PartialKeySplitter:
    """The counts are this sender's own and of all its keys together, as in Storm; equal counts go to the key's first task."""

    fan: int | None = 1

    def __init__(self, component: str, stream: str, fields: tuple[str, ...], names: tuple[str, ...]) -> None:
        self._reader: KeyReader[tuple[int, int]] = KeyReader(component, stream, fields, names)
        self._cache = self._reader.cache(1, candidates)
        self._given: list[int] = []

    def refresh(self, view: TargetView) -> None:
        if view.tasks != len(self._given):
            self._given = [0] * view.tasks
            self._cache = self._reader.cache(view.tasks, candidates)

    def split(self, rows: Sequence[Row]) -> list[tuple[int, Pick]]:
        given = self._given
        targets = []
        for first, second in self._reader.find(rows, self._cache):
            target = first if given[first] <= given[second] else second
            given[target] += 1
            targets.append(target)
        return by_target(targets)
