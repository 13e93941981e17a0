"""From the target chosen for each row to the picks of a split; used by every splitter that chooses row by row."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from pasps.groupings.base import Pick


def by_target(targets: Sequence[int]) -> list[tuple[int, Pick]]:
    """The positions of each target among `targets`, which names one for each row."""
    if not targets:
        return []
    first = targets[0]
    if targets.count(first) == len(targets):
        return [(first, None)]
    picked: defaultdict[int, list[int]] = defaultdict(list)
    for position, target in enumerate(targets):
        picked[target].append(position)
    return list(picked.items())


def pluck(positions: Sequence[int]) -> Callable[[Any], tuple[Any, ...]]:
    """An `itemgetter` that returns a tuple for one position, and for none, too."""
    if len(positions) > 1:
        return itemgetter(*positions)
    if not positions:
        return lambda _: ()
    (only,) = positions
    return lambda values: (values[only],)
