"""The applications of the papers as the simulator knows them: bolts, what an event costs them, and who sends whom how much. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pasps.control.situation import BoltShape, TopologyShape
from pasps.simulation.graph import Graph, GraphBolt, GraphEdge

SPOUT = "spout"
WARM = 0.55
"""Of et_i as the published controller had it from the first minute of a cold run: what an event really takes later."""
_ENDLESS = 10**9
"""The published topologies let a million tuples wait; nothing is held back or lost."""


@dataclass(frozen=True, slots=True)
class Edge:
    """`share` tuples of one event of `source`."""

    source: str
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class Application:
    """Bolts in topological order, with what feeds them, and et_i in seconds as its authors' controller had it.

    Events are simulated in so many `parcels` a second: what waits for less than a parcel takes cannot be told.
    """

    edges: Mapping[str, Sequence[Edge]]
    et_seconds: Mapping[str, float]
    warm: float = WARM
    parcels: float = 20.0

    def graph(self, name: str, pool: int, start: int) -> Graph:
        """With so many replicas of each bolt at most and at the start; each has a core of its own, as 56 cores had room for them."""
        bolts = tuple(
            GraphBolt(
                bolt,
                tuple(GraphEdge(edge.source, _stream(bolt), edge.share) for edge in edges),
                self.et_seconds[bolt] * self.warm,
                pool,
                start,
                "thread",
            )
            for bolt, edges in self.edges.items()
        )
        shapes = tuple(BoltShape(bolt, pool, tuple(edge.source for edge in edges), waits=True) for bolt, edges in self.edges.items())
        return Graph(name, {SPOUT: 1}, bolts, workers=1, cores=2, buffer=_ENDLESS, shape=TopologyShape((SPOUT,), shapes))


def _stream(bolt: str) -> str:
    return f"to_{bolt}"


LINEAR = Application(
    {"A": [Edge(SPOUT)], "B": [Edge("A")], "C": [Edge("B")], "D": [Edge("C")]},
    {"A": 0.94e-3, "B": 1.8e-3, "C": 1.35e-3, "D": 0.94e-3},
)
"""Four bolts one after the other, of 50, 100, 75 and 50 thousand steps."""

COMPLEX = Application(
    {
        "A": [Edge(SPOUT)],
        "B": [Edge("A")],
        "C": [Edge("B", 0.2)],
        "F": [Edge("B", 0.8)],
        "D": [Edge("C")],
        "H": [Edge("F", 0.9)],
        "G": [Edge("F", 0.1), Edge("H")],
        "E": [Edge("D")],
    },
    {"A": 0.23e-3, "B": 0.94e-3, "C": 0.23e-3, "D": 0.23e-3, "E": 0.23e-3, "F": 0.41e-3, "G": 0.41e-3, "H": 0.94e-3},
    parcels=100.0,
)
"""Eight bolts in two branches, of 10, 20 and 50 thousand steps; et_i on the line through those of the linear one. G sends nothing to E,
as in the published code. Where branches meet, parcels wait for each other, so they are smaller here."""

INSENSITIVE = Application({"insensitive": [Edge(SPOUT)], "finalize": [Edge("insensitive")]}, {"insensitive": 3e-3, "finalize": 0.3e-3}, 1.0)
"""DABS-Storm's simple topology; its paper says nothing of what an event costs, so this is ours."""

APPLICATIONS = {"linear": LINEAR, "complex": COMPLEX, "insensitive": INSENSITIVE}
