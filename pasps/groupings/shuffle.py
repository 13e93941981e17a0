"""Groupings that look at nothing: shuffle and local-or-shuffle (equal counts for each sender) and none (independent choices)."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from pasps.errors import GroupingError
from pasps.groupings.base import Pick, Row, TargetView
from pasps.groupings.picks import by_target
from pasps.groupings.ring import Ring


class ShuffleSplitter:
    """Round robin: over any number of rows, however they come in batches, the counts of this sender differ by at most one.

    Rows of a batch go out in contiguous stretches. With `local`, only to replicas in the sender's worker while there are any.
    """

    fan: int | None = 1

    def __init__(self, random: Random, *, local: bool = False) -> None:
        self._ring = Ring(random)
        self._local = local

    def refresh(self, view: TargetView) -> None:
        near = tuple(index for index in view.active if index in view.local) if self._local else ()
        self._ring.refresh(near or view.active)

    def split(self, rows: Sequence[Row]) -> list[tuple[int, Pick]]:
        count = len(rows)
        if count == 1 or len(self._ring.targets) == 1:
            return [(self._ring.next(), None)] if count else []
        picks: list[tuple[int, Pick]] = []
        start = 0
        for target, length in self._ring.take(count):
            stop = start + length
            picks.append((target, slice(start, stop)))
            start = stop
        return picks


class RandomSplitter:
    """Storm's none grouping: every row goes to a replica chosen at random, independently of all others."""

    fan: int | None = 1

    def __init__(self, random: Random) -> None:
        self._random = random
        self._active: tuple[int, ...] = ()

    def refresh(self, view: TargetView) -> None:
        if not view.active:
            raise GroupingError("no active replica to send to; a component keeps at least one")
        self._active = view.active

    def split(self, rows: Sequence[Row]) -> list[tuple[int, Pick]]:
        if len(self._active) == 1:
            return [(self._active[0], None)] if rows else []
        if len(rows) == 1:
            return [(self._random.choice(self._active), None)]
        return by_target(self._random.choices(self._active, k=len(rows)))
