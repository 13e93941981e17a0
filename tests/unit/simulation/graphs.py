"""Small graphs and traces for the tests of the simulator."""

from __future__ import annotations

from typing import Any

from pasps.api.groupings import GroupingSpec, Kind
from pasps.control.situation import BoltShape, TopologyShape
from pasps.simulation.arrivals import Arrivals
from pasps.simulation.graph import Graph, GraphBolt, GraphEdge
from pasps.simulation.model import Detail, Machinery, Model

IDEAL = Machinery(spout=0.0, hop=0.0, between=0.0, turn=0.0, tuple_cpu=0.0, activation=0.0, ask=0.0, move=0.0, restart=0.0)
"""A runtime that takes no time."""
EXACT = Detail(1e9, exact=True)
PARCELS = Detail(10.0, exact=False)


def bolt(name: str, source: str, et: float = 0.02, pool: int = 8, par: int = 8, **changes: Any) -> GraphBolt:
    """A bolt that waits, on threads."""
    grouping = changes.pop("grouping", GroupingSpec(changes.pop("kind", Kind.LOAD_AWARE)))
    selectivity = changes.pop("selectivity", 1.0)
    given = {"execution": "thread", **changes}
    return GraphBolt(name, (GraphEdge(source, "default", selectivity, grouping),), et, pool, par, **given)


def graph(*bolts: GraphBolt, **changes: Any) -> Graph:
    """Under one spout `s`, on one worker with two cores."""
    shapes = tuple(
        BoltShape(b.id, b.pool, tuple(dict.fromkeys(e.source for e in b.inputs)), b.execution != "inline", b.concurrency, b.keyed)
        for b in bolts
    )
    return Graph("g", {"s": 1}, bolts, **{"workers": 1, "shape": TopologyShape(("s",), shapes), **changes})


def _shape(of: GraphBolt) -> BoltShape:
    sources = tuple(dict.fromkeys(edge.source for edge in of.inputs))
    return BoltShape(of.id, of.pool, sources, of.execution != "inline", of.concurrency, of.keyed)


def model(of: Graph, arrivals: Arrivals, detail: Detail = EXACT, **changes: Any) -> Model:
    """With a runtime that takes no time."""
    return Model(of, arrivals, detail, **{"machinery": IDEAL, **changes})


def ran(of: Graph, arrivals: Arrivals, detail: Detail = EXACT, seconds: float = 1000.0, **changes: Any) -> Model:
    """To its end."""
    made = model(of, arrivals, detail, **changes)
    made.run(seconds)
    return made
