"""Groupings that look at neither key nor load: in turn (shuffle, local-or-shuffle), at random (none), or fixed (global, all, direct)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd
from random import Random

from pasps.api.splitting import Pick, Row, TargetView
from pasps.errors import GroupingError
from pasps.groupings.picks import by_target


def places(targets: Sequence[int], weights: Mapping[int, int]) -> list[tuple[float, int]]:
    """One round over `targets`, in order: each has as many places as its weight, spread evenly; pairs of how far in and who.

    Equal weights are one place each, so a round is no longer than it must be.
    """
    if not targets:
        raise GroupingError("no active replica to send to; a component keeps at least one")
    shared = gcd(*(weights.get(target, 1) for target in targets))
    found = []
    for rank, target in enumerate(targets):
        share = weights.get(target, 1) // shared
        late = (rank + 0.5) / len(targets)  # those of one weight are not all at the same point of the round
        found += [((turn + late) / share, turn / share, target) for turn in range(share)]
    return [(turn, target) for _, turn, target in sorted(found)]


class Ring:
    """Round robin: whose turn it is, kept while targets come and go; starts at a random one, so that senders do not march in step."""

    __slots__ = ("_places", "_random", "_weighted", "cursor", "targets")

    def __init__(self, random: Random) -> None:
        self._random = random
        self._places: list[tuple[float, int]] = []
        self._weighted = False
        self.targets: tuple[int, ...] = ()
        """Who has each place: ascending, if all weights are equal."""
        self.cursor = 0

    def refresh(self, targets: tuple[int, ...], weights: Mapping[int, int]) -> None:
        """Go on over `targets` with the first place that is not before the one whose turn it was."""
        found = places(targets, weights)
        if not self._places:
            self.cursor = self._random.randrange(len(found))
        elif found != self._places:
            mine = self._places[self.cursor]
            self.cursor = next((index for index, place in enumerate(found) if place >= mine), 0)
        self._places = found
        self._weighted = len(found) > len(targets)
        self.targets = tuple(target for _, target in found)

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
        return self._joined(counts) if self._weighted else counts

    @staticmethod
    def _joined(counts: list[tuple[int, int]]) -> list[tuple[int, int]]:
        joined: dict[int, int] = {}
        for target, count in counts:
            joined[target] = joined.get(target, 0) + count
        return list(joined.items())


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
        self._ring.refresh(near or view.active, view.weights)
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
        self._places: tuple[int, ...] = ()

    def refresh(self, view: TargetView) -> None:
        self._places = tuple(target for _, target in places(view.active, view.weights))

    def split(self, rows: Sequence[Row]) -> list[tuple[int, Pick]]:
        if len(self._places) == 1:
            return [(self._places[0], None)] if rows else []
        if len(rows) == 1:
            return [(self._random.choice(self._places), None)]
        return by_target(self._random.choices(self._places, k=len(rows)))


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
