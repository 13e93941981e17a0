"""What travels between the measurements of two bolts: the tuples that each step handed on, in the order of the events they came of.

Made where a component runs (`et_worker`), put in order here for the next bolt. The values stay pickled, so only who runs user code
reads them. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from pasps.api.blueprint import Blueprint


@dataclass(frozen=True, slots=True)
class Delivery:
    """The tuples that one step handed to one task over one edge.

    `event` is the number of the event of the sample that they came of, `source` the task that emitted them. `roots` has for each
    tuple how many tracked spout tuples it descends from: 0 when it is not tracked. `rows` is the pickled list of their values.
    """

    event: int
    edge: int
    task: int
    source: int
    roots: tuple[int, ...]
    rows: bytes


@dataclass(frozen=True, slots=True)
class Output:
    """What a component handed on. It is complete up to event `until` (None: to the end of the sample), and of an edge in `cuts` only
    up to the event there: not more of it was kept. `problem` says why some of it could not be pickled, and is missing."""

    deliveries: tuple[Delivery, ...] = ()
    until: int | None = None
    cuts: Mapping[int, int] = field(default_factory=dict)
    problem: str | None = None


Arrival = tuple[Delivery, ...]
"""What one component handed to a bolt for one event: at low load it arrives together, and nothing else does."""


@dataclass(frozen=True, slots=True)
class Input:
    """What a bolt is given, in order. It is complete up to event `until`; None: to the end of the sample."""

    arrivals: tuple[Arrival, ...] = ()
    tuples: int = 0
    until: int | None = None
    missing: tuple[str, ...] = field(default=())
    """Its sources of which nothing is known: they were left out, or failed."""
    refused: tuple[str, ...] = field(default=())
    """Its sources of which tuples are missing, since they could not be pickled."""


def input_of(blueprint: Blueprint, bolt: str, outputs: Mapping[str, Output], most: int) -> Input:
    """What comes to a bolt from all of its sources: by event, and for one event in topological order of the sources.

    At most `most` tuples, the first ones, but whole arrivals. Where one source is complete only up to an event, nothing later is
    taken of the others, since a bolt that joins them would not find what belongs together.
    """
    ranks = {name: rank for rank, name in enumerate(blueprint.components)}
    edges = blueprint.components[bolt].inputs
    sources = list(dict.fromkeys(edge.source for edge in edges))
    known = [outputs[name] for name in sources if name in outputs]
    mine = {edge.index: ranks[edge.source] for edge in edges}
    cuts = (event for output in known for edge, event in output.cuts.items() if edge in mine)
    until = _earliest([*(output.until for output in known), *cuts])
    found = [each for output in known for each in output.deliveries if each.edge in mine and (until is None or each.event <= until)]
    found.sort(key=lambda each: (each.event, mine[each.edge]))  # stable: what one source handed on keeps its order
    arrivals = [tuple(group) for _, group in groupby(found, key=lambda each: (each.event, mine[each.edge]))]
    kept, tuples = _first(arrivals, most)
    if len(kept) < len(arrivals):
        until = kept[-1][0].event
    missing = tuple(name for name in sources if name not in outputs)
    refused = tuple(name for name in sources if name in outputs and outputs[name].problem is not None)
    return Input(tuple(kept), tuples, until, missing, refused)


def _earliest(events: Iterable[int | None]) -> int | None:
    return min((event for event in events if event is not None), default=None)


def _first(arrivals: Sequence[Arrival], most: int) -> tuple[list[Arrival], int]:
    kept: list[Arrival] = []
    tuples = 0
    for arrival in arrivals:
        if tuples >= most:
            break
        kept.append(arrival)
        tuples += sum(len(delivery.roots) for delivery in arrival)
    return kept, tuples
