"""Filling up the lowest: how many of n tuples each replica gets when every one goes to the least loaded. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapreplace
from itertools import repeat
from operator import truediv


def fill(count: int, levels: Sequence[float], steps: Sequence[float], order: Sequence[int]) -> tuple[list[int], int]:
    """Give `count` units one by one to the lowest level, which each raises by its own step; the first in `order` wins ties.

    The counts are those of that loop (up to rounding), at a cost that does not grow with `count`: with positions for
    the levels, unit i of position p has the key levels[p] + i * steps[p], and the `count` smallest keys are given.

    Returns:
        The units of each position, and the position that got the last one.
    """
    counts = [0] * len(levels)
    if count > len(order):
        counts = _most(count, levels, steps, order)
        count -= sum(counts)
        levels = [level + units * step for level, units, step in zip(levels, counts, steps, strict=True)]
    ready = sorted(order, key=levels.__getitem__)
    if not count:
        return counts, next(position for position in reversed(ready) if counts[position])
    return counts, _one_by_one(count, counts, levels, steps, ready)


def _most(count: int, levels: Sequence[float], steps: Sequence[float], order: Sequence[int]) -> list[int]:
    """Units that each position gets for certain: of `count`, all but about one a position."""
    if len(order) == len(levels):
        level = _level_of_all(count, levels, steps)
        if level > max(levels):
            return [int((level - start) / step) + 1 for start, step in zip(levels, steps, strict=True)]
    lowest = sorted(order, key=levels.__getitem__)
    level = _level_of_lowest(count, levels, steps, lowest)
    counts = [0] * len(levels)
    for position in lowest:
        if levels[position] >= level:
            break
        counts[position] = int((level - levels[position]) / steps[position]) + 1
    return counts


def _level_of_all(count: int, levels: Sequence[float], steps: Sequence[float]) -> float:
    """A level with at most `count` keys at or below it, should all positions be below it.

    A position below a level T has at most (T - its level) / its step + 1 keys up to T: T is where these add up to `count`.
    """
    weighted = sum(map(truediv, levels, steps), -float(len(levels)))
    rate: float = sum(map(truediv, repeat(1.0), steps))
    return (count + weighted) / rate


def _level_of_lowest(count: int, levels: Sequence[float], steps: Sequence[float], lowest: Sequence[int]) -> float:
    """The same when only some are: takes in one position after the other, ascending, while they are below the level."""
    rate = weighted = 0.0
    level = float("inf")
    for below, position in enumerate(lowest, 1):
        start = levels[position]
        if start >= level:
            break
        rate += 1.0 / steps[position]
        weighted += start / steps[position]
        level = max(start, (count - below + weighted) / rate)
    return level


def _one_by_one(left: int, counts: list[int], levels: Sequence[float], steps: Sequence[float], ready: list[int]) -> int:
    """Give `left` units, adding to `counts`; `ready` are the positions by level. Returns the one that got the last."""
    del ready[left:]  # nobody else can get one
    if left == len(ready) and levels[ready[-1]] <= levels[ready[0]] + min(map(steps.__getitem__, ready)):
        for position in ready:  # nobody gets a second one before the last has its first
            counts[position] += 1
        return ready[-1]
    heap = [(levels[position], rank) for rank, position in enumerate(ready)]
    rank = 0
    for _ in range(left):
        key, rank = heap[0]
        counts[ready[rank]] += 1
        heapreplace(heap, (key + steps[ready[rank]], rank))
    return ready[rank]
