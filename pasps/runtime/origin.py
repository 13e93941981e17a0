"""What the receiver of an edge needs to turn rows into tuples: the names of the values, and who sent them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any

from pasps.api.blueprint import Blueprint, Edge
from pasps.api.tuples import DONE, SYSTEM_COMPONENT, TICK_STREAM, Source, Tuple, values_type
from pasps.runtime.batch import Batch


class Origin:
    """One input edge of a component."""

    __slots__ = ("_sources", "component", "fields", "kind", "stream")

    def __init__(self, blueprint: Blueprint, edge: Edge) -> None:
        self.component = edge.source
        self.stream = edge.stream
        self.fields = tuple(blueprint.components[edge.source].streams[edge.stream].fields)
        self.kind: Any = values_type(self.fields)
        self._sources: dict[int, Source] = {}

    def tuples(self, batch: Batch) -> list[Tuple]:
        """The batch as its bolt sees it."""
        source = self._sources.get(batch.source)
        if source is None:
            source = self._sources[batch.source] = Source(self.component, self.stream, batch.source, self.fields)
        values = map(self.kind, batch.rows)
        if batch.roots is None or batch.edges is None:
            return list(map(Tuple, values, repeat(0), repeat(0), repeat(source)))
        if batch.links is None:
            return list(map(Tuple, values, batch.roots, batch.edges, repeat(source)))
        return list(map(Tuple, values, batch.roots, batch.edges, repeat(source), batch.links))


def tick_tuple(seconds: float) -> Tuple:
    """A tick, as Storm has it: its value is the interval."""
    fields: Sequence[str] = ("seconds",)
    source = Source(SYSTEM_COMPONENT, TICK_STREAM, -1, ("seconds",))
    # nobody waits for a tick: a verdict on it, or an anchor, must count for nothing
    return Tuple(values_type(tuple(fields))((seconds,)), 0, 0, source, state=DONE)
