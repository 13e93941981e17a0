"""Groupings that look at neither key nor load: in turn (shuffle, local-or-shuffle), at random (none), or fixed (global, all, direct)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from random import Random

from pasps.errors import GroupingError
from pasps.groupings.base import Pick, Row, TargetView, by_target


class Ring:
    """Round robin over targets in ascending order: whose turn it is; starts at a random one, so that senders do not march in step."""

    __slots__ = ("_random", "cursor", "targets")

    def __init__(self, random: Random) -> None:
        self._random = random
        self.targets: tuple[int, ...] = ()
        self.cursor = 0

    def refresh(self, targets: tuple[int, ...]) -> None:
        """Go on over `targets` with the first that is not before the one whose turn it was."""
        if not targets:
            raise GroupingError("no active replica to send to; a component keeps at least one")
        if not self.targets:
            self.cursor = self._random.randrange(len(targets))
        elif targets != self.targets:
            self.cursor = bisect_left(targets, self.targets[self.cursor]) % len(targets)
        self.targets = targets

    def next(self) -> int:
        """The target whose turn it is."""
        cursor = self.cursor
        self.cursor = cursor + 1 if cursor + 1 < len(self.targets) else 0
        return self.targets[cursor]

    def take(self, rows: int) -> list[tuple[int, int]]:
        """Give out `rows` turns at once: pairs of a target and how many of them it has, no zeros."""
        targets, size = self.targets, len(self.targets)
        turn = self.cursor
        everyone, extra = divmod(rows, size)
        self.cursor = (turn + extra) % size
        order = targets[turn:] + targets[:turn]
        counts = [(target, everyone + 1) for target in order[:extra]]
        if everyone:
            counts += [(target, everyone) for target in order[extra:]]
        return counts


class ShuffleSplitter:
    """Round robin: over any number of rows, however they come in batches, the counts of this sender differ by at most one.

    Rows of a batch go out in contiguous stretches. With `local`, only to replicas in the sender's worker while there are any.
    """

    fan: int | None = 1

    def __init__(self, random: Random, *, local: bool = False) -> None:
        self._ring = Ring(random)
        self._local = local
        self._only: int | None = None

    def refresh(self, view: TargetView) -> None:
        near = tuple(index for index in view.active if index in view.local) if self._local else ()
        self._ring.refresh(near or view.active)
        self._only = self._ring.targets[0] if len(self._ring.targets) == 1 else None

    def split(self, rows: Sequence[Row]) -> list[tuple[int, Pick]]:
        count = len(rows)
        if count == 1:
            return [(self._ring.next(), None)]
        if self._only is not None:
            return [(self._only, None)] if count else []
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


class GlobalSplitter:
    """Everything goes to index 0, which is never deactivated."""

    fan: int | None = 1

    def refresh(self, view: TargetView) -> None:
        """Nothing can change."""

    def split(self, rows: Sequence[Row]) -> list[tuple[int, Pick]]:
        return [(0, None)] if rows else []


class AllSplitter:
    """Every task of the pool gets every row; `fan` is the number of tasks, known from the first `refresh` on."""

    fan: int | None = None

    def __init__(self) -> None:
        self._tasks = 0

    def refresh(self, view: TargetView) -> None:
        self.fan = self._tasks = view.tasks

    def split(self, rows: Sequence[Row]) -> list[tuple[int, Pick]]:
        return [(index, None) for index in range(self._tasks)] if rows else []


class DirectSplitter:
    """Stands for an edge whose producer picks the task; the emitter never asks it."""

    fan: int | None = 1

    def __init__(self, source: str, stream: str, target: str) -> None:
        self._edge = (source, stream, target)

    def refresh(self, view: TargetView) -> None:
        """Nothing depends on it."""

    def split(self, rows: Sequence[Row]) -> list[tuple[int, Pick]]:
        source, stream, target = self._edge
        raise GroupingError(
            f"component {source!r}, stream {stream!r}: {target!r} subscribes to it by direct grouping, "
            "but a tuple was emitted without a task; emit with direct_task="
        )
