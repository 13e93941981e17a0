"""What every grouping is to the runtime: a splitter of batches. Called by the emitter, knows nothing of queues or sockets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pasps.groupings.load import LoadTable

Row = tuple[Any, ...]
Pick = list[int] | slice | None
"""Which rows of a batch: these positions, this stretch, or (None) all of them."""


@dataclass(frozen=True)
class TargetView:
    """What a sender knows of the component it sends to; a new one whenever the activation table changes.

    `active` are the indices of the active replicas in order, `local` those of them in the sender's own worker,
    `tasks` is the size of the pool. `room(index)` is how many tuples that replica would take right now.

    Where several replicas take from one queue, an index stands for the queue, and `weights` says how many replicas are
    behind it; whoever is not in it has one. A queue's share of what shuffle, local-or-shuffle, none and load-aware give is
    that of its replicas. The other groupings name single tasks and look at no weight.
    """

    active: tuple[int, ...]
    local: frozenset[int]
    tasks: int
    loads: LoadTable
    room: Callable[[int], int]
    weights: Mapping[int, int] = field(default_factory=dict)


class Splitter(Protocol):
    """One sender's grouping on one edge. Single-threaded; never blocks; never loses or invents a row.

    `fan` is the number of copies of each row when it is the same for all of them, else None.
    """

    fan: int | None

    def split(self, rows: Sequence[Row]) -> list[tuple[int, Pick]]:
        """Choose for every row: pairs of a task index and the rows it gets. Hot: once a batch."""

    def refresh(self, view: TargetView) -> None:
        """Take a new view of the receivers. Cold; always called once before the first `split`."""


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
