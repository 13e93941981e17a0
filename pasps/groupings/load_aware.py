"""Load-aware grouping, the default: a tuple goes to the active replica with the fewest seconds of unfinished work."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, compress
from operator import lt
from random import Random

from pasps.clock import Clock
from pasps.errors import GroupingError
from pasps.groupings.base import Pick, Row, TargetView
from pasps.groupings.fill import fill
from pasps.groupings.load import LoadTable
from pasps.groupings.picks import pluck

STRETCH_SECONDS = 50e-6
"""Differences below this are ties where a tuple costs less: long stretches keep the batches downstream long."""
TIE_SECONDS = 1e-9
"""Differences below this are rounding."""


class _Group:
    """Replicas that are preferred alike, and the position of the one whose turn it is."""

    def __init__(self, targets: tuple[int, ...], cursor: int) -> None:
        self.targets = targets
        self.pluck = pluck(targets)
        self.cursor = cursor % len(targets) if targets else 0


class LoadAwareSplitter:
    """Lowest W wins and grows by the replica's own seconds for each tuple; ties go round robin from a random start.

    While one in the sender's worker has no more than `band_seconds` above the lowest, it is preferred: the same as to
    add the band to every other. A replica without room is passed over while another one has room. A batch is split as
    if tuple by tuple, in one stretch for each replica; the load table that all senders of the worker share is charged.
    """

    fan: int | None = 1

    def __init__(self, band_seconds: float, clock: Clock, random: Random) -> None:
        self._band = max(0.0, band_seconds)
        self._now = clock.now
        self._random = random
        self._near = self._far = _Group((), 0)
        self._view: TargetView | None = None
        self._loads = LoadTable(0)
        self._only: int | None = None
        self._version = -1

    def refresh(self, view: TargetView) -> None:
        if not view.active:
            raise GroupingError("no active replica to send to; a component keeps at least one")
        self._view, self._loads, self._room = view, view.loads, view.room
        local = view.local if self._band else frozenset()
        near = tuple(index for index in view.active if index in local) or view.active
        far = tuple(index for index in view.active if index not in near)
        if near != self._near.targets or far != self._far.targets:
            self._near, self._far = (_Group(targets, self._random.randrange(len(view.active))) for targets in (near, far))
        self._only = view.active[0] if len(view.active) == 1 else None
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
        loads.finish[only] = max(loads.finish[only], now) + count * loads.each[only]
        return [(only, None)]

    def _learn(self, loads: LoadTable) -> None:
        self._version = loads.version
        self._steps = [*self._near.pluck(loads.each), *self._far.pluck(loads.each)] if self._only is None else [1.0]
        cheap = int(STRETCH_SECONDS / max(self._steps))
        self._stretch = max(1, cheap)
        self._tie = STRETCH_SECONDS if cheap else TIE_SECONDS

    def _lowest(self, finish: list[float], now: float, count: int) -> int | None:
        """The replica for all of a short batch, or None when it has not the room."""
        group = self._near
        keys = group.pluck(finish)
        least = min(keys)
        if least > now + self._band and self._far.targets:
            others = self._far.pluck(finish)
            if max(now, min(others)) + self._band < least:
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
        return group.targets[cursor]

    def _spread(self, count: int, now: float) -> list[tuple[int, Pick]]:
        near, far, finish = self._near, self._far, self._loads.finish
        levels = [end - now if end > now else 0.0 for end in near.pluck(finish)]
        levels += [end - now + self._band if end > now else self._band for end in far.pluck(finish)]
        edge = len(near.targets)
        targets = near.targets + far.targets
        order = [*range(near.cursor, edge), *range(near.cursor)]
        order += [*range(edge + far.cursor, len(targets)), *range(edge, edge + far.cursor)]
        counts, last = self._fill_stretches(count, levels, order)
        if any(map(lt, map(self._room, targets), counts)):
            rooms = [max(0, self._room(target)) for target in targets]
            counts, last = self._fill_rooms(count, levels, order, rooms)
        if last < edge:
            near.cursor = (last + 1) % edge
        else:
            far.cursor = (last + 1 - edge) % len(far.targets)
        return self._charge(now, targets, counts)

    def _fill_stretches(self, count: int, levels: list[float], order: list[int]) -> tuple[list[int], int]:
        size = self._stretch
        if size == 1:
            return fill(count, levels, self._steps, order)
        stretches = -(-count // size)
        counts, last = fill(stretches, levels, [step * size for step in self._steps], order)
        counts = [n * size for n in counts]
        counts[last] -= stretches * size - count  # the last stretch is as short as it comes
        return counts, last

    def _fill_rooms(self, count: int, levels: list[float], order: list[int], rooms: list[int]) -> tuple[list[int], int]:
        """As `fill`, none above its room; what is left when all rooms are used up, as if there were no limit."""
        steps, counts = self._steps, [0] * len(levels)
        open_, last = [p for p in order if rooms[p]], order[0]
        while open_ and count:
            more, last = fill(count, levels, steps, open_)
            full = [p for p in open_ if more[p] > rooms[p]]
            # one that would get more than its room gets all of it, whatever the others get: fix these, fill the rest again
            taken = {p: rooms[p] for p in full} or {p: more[p] for p in open_}
            for p, n in taken.items():
                counts[p] = n
                count -= n
            open_ = [p for p in open_ if p not in taken]
        if count:
            raised = [level + n * step for level, n, step in zip(levels, counts, steps, strict=True)]
            more, last = fill(count, raised, steps, order)
            counts = [n + m for n, m in zip(counts, more, strict=True)]
        return counts, last

    def _charge(self, now: float, targets: tuple[int, ...], counts: list[int]) -> list[tuple[int, Pick]]:
        finish, each = self._loads.finish, self._loads.each
        for target, count in zip(targets, counts, strict=True):
            if count:
                end = finish[target]
                if end < now:
                    end = now
                finish[target] = end + count * each[target]
        stops = list(accumulate(counts))
        stretches = zip(targets, map(slice, [0, *stops], stops), strict=False)
        picks: list[tuple[int, Pick]] = list(compress(stretches, counts))
        return picks if len(picks) > 1 else [(picks[0][0], None)]
