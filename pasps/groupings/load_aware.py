"""Load-aware grouping, the default: a tuple goes to the active replica with the fewest seconds of unfinished work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heapreplace
from itertools import compress, repeat
from math import inf
from operator import itemgetter, lt, truediv
from random import Random
from typing import Any

from pasps.api.splitting import Loads, Pick, Row, TargetView
from pasps.clock import Clock
from pasps.errors import GroupingError
from pasps.groupings.load import LoadTable

STRETCH_SECONDS = 50e-6
"""Differences below this are ties where a tuple costs less: long stretches keep the batches downstream long."""
TIE_SECONDS = 1e-9
"""Differences below this are rounding."""
FEW_UNITS = 16
"""So many more than there are targets are given out one by one as fast as all together."""


class _Group:
    """Replicas that are preferred alike, and the position of the one whose turn it is."""

    def __init__(self, targets: tuple[int, ...], cursor: int) -> None:
        self.targets = targets
        self.pluck = _pluck(targets)
        self.cursor = cursor % len(targets) if targets else 0


class LoadAwareSplitter:
    """Lowest W wins and grows by the replica's own seconds for each tuple; ties go round robin from a random start.

    While one in the sender's worker has no more than `band_seconds` above the lowest, it is preferred: the same as to
    add the band to every other. A replica without room is passed over while another one has room. A batch is split as
    if tuple by tuple, in one stretch for each replica; the load table that all senders of the worker share is charged.
    W of a target with several replicas is the time until all of them are through, so a tuple adds that part of its seconds.
    """

    fan: int | None = 1

    def __init__(self, band_seconds: float, clock: Clock, random: Random) -> None:
        self._band = max(0.0, band_seconds)
        self._now = clock.now
        self._random = random
        self._near = self._far = _Group((), 0)
        self._targets: tuple[int, ...] = ()
        self._weights: list[int] = []
        self._only: int | None = None
        self._loads: Loads = LoadTable(0)
        self._version = -1

    def refresh(self, view: TargetView) -> None:
        if not view.active:
            raise GroupingError("no active replica to send to; a component keeps at least one")
        self._loads, self._room = view.loads, view.room
        local = view.local if self._band else frozenset()
        near = tuple(index for index in view.active if index in local) or view.active
        far = tuple(index for index in view.active if index not in near)
        if near != self._near.targets or far != self._far.targets:
            self._near, self._far = (_Group(targets, self._random.randrange(len(view.active))) for targets in (near, far))
        self._targets = near + far
        self._weights = [view.weights.get(target, 1) for target in self._targets]
        self._only = 0 if len(self._targets) == 1 else None
        self._version = -1

    def split(self, rows: Sequence[Row]) -> list[tuple[int, Pick]]:
        count = len(rows)
        if not count:
            return []
        loads = self._loads
        if self._version != loads.version:
            self._learn(loads)
        now = self._now()
        only = self._only
        if only is None and count <= self._stretch:
            only = self._lowest(loads.finish, now, count)
        if only is None:
            return self._spread(count, now)
        target = self._targets[only]
        end = loads.finish[target]
        if end < now:
            end = now
        loads.finish[target] = end + count * self._steps[only]
        return [(target, None)]

    def _learn(self, loads: Loads) -> None:
        """What a tuple adds to the level of each target, and how many tuples of a batch stay together."""
        self._version = loads.version
        each = self._near.pluck(loads.each) + self._far.pluck(loads.each)
        self._steps = list(map(truediv, each, self._weights))
        cheap = int(STRETCH_SECONDS / max(self._steps))
        self._stretch = max(1, cheap)
        self._tie = STRETCH_SECONDS if cheap else TIE_SECONDS
        self._strides = [step * self._stretch for step in self._steps]

    def _lowest(self, finish: list[float], now: float, count: int) -> int | None:
        """The position of the replica for all of a short batch, or None when it has not the room."""
        group, first = self._near, 0
        keys = group.pluck(finish)
        least = min(keys)
        if least > now + self._band and self._far.targets:
            others = self._far.pluck(finish)
            if max(now, min(others)) + self._band < least:
                first = len(keys)
                group, keys, least = self._far, others, min(others)
        cursor, size = group.cursor, len(keys)
        limit = max(now, least) + self._tie
        if keys[cursor] > limit:
            if least > now and self._tie == TIE_SECONDS and keys.count(least) == 1:
                cursor = keys.index(least)
            else:
                while keys[cursor] > limit:
                    cursor = cursor + 1 if cursor + 1 < size else 0
        if self._room(group.targets[cursor]) < count:
            return None
        group.cursor = cursor + 1 if cursor + 1 < size else 0
        return first + cursor

    def _spread(self, count: int, now: float) -> list[tuple[int, Pick]]:
        near, far, finish, targets = self._near, self._far, self._loads.finish, self._targets
        edge = len(near.targets)
        levels = [end - now if end > now else 0.0 for end in near.pluck(finish)]
        order = [*range(near.cursor, edge), *range(near.cursor)]
        if far.targets:
            levels += [end - now + self._band if end > now else self._band for end in far.pluck(finish)]
            order += [*range(edge + far.cursor, len(targets)), *range(edge, edge + far.cursor)]
        size = self._stretch
        stretches = -(-count // size)
        counts, last = fill(stretches, levels, self._strides, order)
        if size > 1:
            counts = [n * size for n in counts]
            counts[last] -= stretches * size - count  # the last stretch is as short as it comes
        if any(map(lt, map(self._room, compress(targets, counts)), filter(None, counts))):
            counts, last = self._fill_rooms(count, levels, order)
        if last < edge:
            near.cursor = (last + 1) % edge
        else:
            far.cursor = (last + 1 - edge) % len(far.targets)
        picks: list[tuple[int, Pick]] = []
        start = 0
        for target, n, step in compress(zip(targets, counts, self._steps, strict=True), counts):
            picks.append((target, slice(start, start + n)))
            start += n
            end = finish[target]
            if end < now:
                end = now
            finish[target] = end + n * step
        return picks if len(picks) > 1 else [(picks[0][0], None)]

    def _fill_rooms(self, count: int, levels: list[float], order: list[int]) -> tuple[list[int], int]:
        """As `fill`, none above its room; what is left when all rooms are used up, as if there were no limit."""
        steps, counts = self._steps, [0] * len(levels)
        rooms = [max(0, self._room(target)) for target in self._targets]
        open_, last = [p for p in order if rooms[p]], order[0]
        while open_ and count:
            some, rank = fill(count, [levels[p] for p in open_], [steps[p] for p in open_], range(len(open_)))
            last = open_[rank]
            more = dict(zip(open_, some, strict=True))
            # one that would get more than its room gets all of it, whatever the others get: fix these, fill the rest again
            taken = {p: rooms[p] for p, n in more.items() if n > rooms[p]} or more
            for p, n in taken.items():
                counts[p] = n
                count -= n
            open_ = [p for p in open_ if p not in taken]
        if count:
            raised = [level + n * step for level, n, step in zip(levels, counts, steps, strict=True)]
            some, last = fill(count, raised, steps, order)
            counts = [n + m for n, m in zip(counts, some, strict=True)]
        return counts, last


def fill(count: int, levels: Sequence[float], steps: Sequence[float], order: Sequence[int]) -> tuple[list[int], int]:
    """Give `count` units one by one to the lowest level, which each raises by its own step; the first in `order` wins ties.

    The counts are those of that loop (up to rounding), at a cost that does not grow with `count`: unit i of position p has
    the key levels[p] + i * steps[p], and the `count` smallest keys are given.

    Returns:
        The units of each position, and the position that got the last one.
    """
    counts = [0] * len(levels)
    if count > len(levels) + FEW_UNITS:
        counts = _most(count, levels, steps)
        count -= sum(counts)
        levels = [level + units * step for level, units, step in zip(levels, counts, steps, strict=True)]
    ready = sorted(order, key=levels.__getitem__)
    del ready[count:]  # nobody else can get one
    if len(ready) == count and levels[ready[-1]] <= levels[ready[0]] + min(map(steps.__getitem__, ready)):
        for position in ready:  # nobody gets a second one before the last has its first
            counts[position] += 1
        return counts, ready[-1]
    heap = [(levels[position], rank) for rank, position in enumerate(ready)]
    rank = 0
    for _ in range(count):
        key, rank = heap[0]
        counts[ready[rank]] += 1
        heapreplace(heap, (key + steps[ready[rank]], rank))
    return counts, ready[rank]


def _most(count: int, levels: Sequence[float], steps: Sequence[float]) -> list[int]:
    """Units that each position gets for certain: of `count`, all but about one a position, and always one less.

    A position below a level has at most (level - its own) / its step + 1 keys up to there: the level is where these add up to
    `count` - 1. Whoever turns out not to be below it is left out, from the highest on.
    """
    rate: float = sum(map(truediv, repeat(1.0), steps))
    units = sum(map(truediv, levels, steps), float(count - 1 - len(levels)))
    ceiling = inf
    if units <= max(levels) * rate:
        rising = sorted(zip(levels, steps, strict=True))
        while len(rising) > 1 and units <= rising[-1][0] * rate:
            ceiling, step = rising.pop()
            rate -= 1.0 / step
            units += 1.0 - ceiling / step
    level = min(ceiling, units / rate)
    counts = [int((level - start) / step) + 1 if start < level else 0 for start, step in zip(levels, steps, strict=True)]
    # where levels are so far from each other that the rest is rounding, nothing is certain
    return counts if sum(counts) < count else [0] * len(levels)


def _pluck(positions: Sequence[int]) -> Callable[[Any], tuple[Any, ...]]:
    """An `itemgetter` that returns a tuple for one position, and for none, too."""
    if len(positions) > 1:
        return itemgetter(*positions)
    if not positions:
        return lambda _: ()
    (only,) = positions
    return lambda values: (values[only],)
