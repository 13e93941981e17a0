"""What the tests of the groupings share: a clock by hand, views and splitters with defaults, and picks as rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import Any

from pasps.api.blueprint import Edge
from pasps.api.groupings import GroupingSpec
from pasps.api.splitting import Pick, Row, Splitter, TargetView
from pasps.groupings.load import LoadTable
from pasps.groupings.registry import make_splitter

FIRST_TASK = 11
FIELDS = ("word", "n")


class HandClock:
    """Time that a test moves."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def now(self) -> float:
        return self.seconds

    def cpu(self) -> float:
        return 0.0

    def awake(self) -> float:
        return 0.0

    def wall(self) -> float:
        return 0.0


def splitter_of(spec: GroupingSpec, *, band: float = 0.0, clock: HandClock | None = None, seed: int = 1) -> Splitter:
    edge = Edge(0, "words", "default", "count", spec)
    return make_splitter(edge, FIELDS, FIRST_TASK, 3, band, clock or HandClock(), Random(seed))


def view_of(
    active: Iterable[int],
    *,
    tasks: int = 8,
    local: Iterable[int] = (),
    loads: LoadTable | None = None,
    room: Callable[[int], int] = lambda _: 1 << 30,
    weights: Mapping[int, int] | None = None,
    occupancy: Callable[[int], float] = lambda _: 0.0,
    homes: Mapping[int, object] | None = None,
) -> TargetView:
    return TargetView(tuple(active), frozenset(local), tasks, loads or LoadTable(tasks), room, weights or {}, occupancy, homes or {})


def rows_of(count: int) -> list[Row]:
    return [(f"word{i}", i) for i in range(count)]


def taken(rows: Sequence[Row], pick: Pick) -> list[Row]:
    if pick is None:
        return list(rows)
    return list(rows[pick]) if isinstance(pick, slice) else [rows[position] for position in pick]


def counts_of(rows: Sequence[Row], picks: list[tuple[int, Pick]]) -> Counter[int]:
    counts: Counter[int] = Counter()
    for target, pick in picks:
        counts[target] += len(taken(rows, pick))
    return counts


def choices_of(splitter: Splitter, rows: Sequence[Row]) -> list[int]:
    """The target of each row, for groupings that send each to one."""
    chosen: dict[Any, int] = {}
    for target, pick in splitter.split(rows):
        for row in taken(list(enumerate(rows)), pick):
            assert row[0] not in chosen
            chosen[row[0]] = target
    return [chosen[position] for position in range(len(rows))]
