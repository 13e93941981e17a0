"""The applications of the papers as the simulator knows them: bolts, what an event costs them, and who sends whom how much. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from benchmarks.osg import shares_of
from pasps.api.blueprint import Execution
from pasps.api.groupings import Grouping, GroupingSpec
from pasps.control.situation import BoltShape, TopologyShape
from pasps.simulation.arrivals import Arrivals
from pasps.simulation.graph import Graph, GraphBolt, GraphEdge, with_classes
from pasps.simulation.model import Detail

SPOUT = "spout"
WARM = 0.55
"""Of et_i as the published controller had it from the first minute of a cold run: what an event really takes later."""
_ENDLESS = 10**9
"""The published topologies let a million tuples wait; nothing is held back or lost."""


SKEW = 1.5
"""Of the values that a sensitive bolt is sensitive to: DABS-Storm's."""
OSG_WINDOW = 100
"""Tuples between two looks at a sketch. The default of 1,024 would be half a minute of these streams, and a topology that is restarted
more often than that would never have one."""
GROUPINGS: Mapping[str, GroupingSpec] = {
    "shuffle": Grouping.SHUFFLE,
    "load-aware": Grouping.LOAD_AWARE,
    "load-aware, Storm's": Grouping.LOAD_AWARE_STORM,
    "load-aware, the paper's": Grouping.LOAD_AWARE_PAPER,
    "OSG": Grouping.osg("value", window=OSG_WINDOW),
}
"""Those that are compared where each replica has a queue of its own."""


@dataclass(frozen=True, slots=True)
class Edge:
    """`share` tuples of one event of `source`."""

    source: str
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class Application:
    """Bolts in topological order, with what feeds them, and et_i in seconds as its authors' controller had it.

    Events are simulated in so many `parcels` a second: what waits for less than a parcel takes cannot be told.
    `computes`: these bolts use CPU, on workers with a core each, `cores` of them; all others wait, as if each replica had a core.
    `sensitive`: what this bolt takes goes by the value of an event, which follows Zipf's law; then every event is simulated for itself,
    and each replica has a queue of its own, as in Storm. `single`: so it is although all events are alike.
    """

    edges: Mapping[str, Sequence[Edge]]
    et_seconds: Mapping[str, float]
    warm: float = WARM
    parcels: float = 20.0
    computes: frozenset[str] = frozenset()
    cores: int = 2
    sensitive: str = ""
    single: bool = False

    def graph(self, name: str, pool: int, start: int, grouping: str = "") -> Graph:
        """With so many replicas of each bolt at most and at the start. `grouping`: of `GROUPINGS`; to the sensitive bolt, or to all."""
        bolts = tuple(self._bolt(bolt, pool, start, grouping) for bolt in self.edges)
        shapes = tuple(
            BoltShape(bolt, pool, tuple(edge.source for edge in edges), waits=bolt not in self.computes)
            for bolt, edges in self.edges.items()
        )
        workers = self.cores if self.computes else 1
        return Graph(name, {SPOUT: 1}, bolts, workers=workers, cores=self.cores, buffer=_ENDLESS, shape=TopologyShape((SPOUT,), shapes))

    def _bolt(self, bolt: str, pool: int, start: int, grouping: str) -> GraphBolt:
        kind = GROUPINGS[grouping] if grouping and (self.single or bolt == self.sensitive) else Grouping.LOAD_AWARE
        edges = tuple(GraphEdge(edge.source, _stream(bolt), edge.share, kind) for edge in self.edges[bolt])
        execution: Execution = "inline" if bolt in self.computes else "thread"
        # as in Storm: what was given to a replica waits for it
        return GraphBolt(bolt, edges, self.et_seconds[bolt] * self.warm, pool, start, execution, shared_queues=not self._by_event)

    @property
    def _by_event(self) -> bool:
        return self.single or bool(self.sensitive)

    def with_values(self, graph: Graph) -> Graph:
        """The same with events that differ, where a bolt is sensitive; what one takes in the mean stays."""
        if not self.sensitive:
            return graph
        shares = shares_of(SKEW)
        one = self.et_seconds[self.sensitive] * self.warm * sum(shares) / sum(share * value for value, share in enumerate(shares, 1))
        return with_classes(graph, shares, {self.sensitive: [one * value for value in range(1, len(shares) + 1)]})

    def detail(self, arrivals: Arrivals) -> Detail:
        """How fine it is simulated."""
        return Detail(max(1.0, arrivals.peak_rate), exact=True) if self._by_event else Detail(self.parcels, exact=False)


def _stream(bolt: str) -> str:
    return f"to_{bolt}"


LINEAR = Application(
    {"A": [Edge(SPOUT)], "B": [Edge("A")], "C": [Edge("B")], "D": [Edge("C")]},
    {"A": 0.94e-3, "B": 1.8e-3, "C": 1.35e-3, "D": 0.94e-3},
)
"""Four bolts one after the other, of 50, 100, 75 and 50 thousand steps."""
LINEAR_SINGLE = replace(LINEAR, single=True)
"""The same event by event, in which groupings can differ."""

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

CLUSTER_CORES = 18
"""Of DABS-Storm's nine machines."""
INSENSITIVE_CPU = replace(INSENSITIVE, computes=frozenset({"insensitive"}), cores=CLUSTER_CORES)
"""The same, whose dear bolt computes. What is cheap never does: Storm gives each executor a thread, which the system interrupts for
others; here bolts that compute take turns in their worker's loop, and a cheap one would wait for whole events of the dear one."""

_PASSING, _STORING, _SENSITIVE = 1e-3, 5e-3, 30e-3
SENSITIVE = Application(
    {"sensitive": [Edge(SPOUT)], "finalize": [Edge("sensitive")]},
    {"sensitive": _SENSITIVE, "finalize": _STORING},
    1.0,
    computes=frozenset({"sensitive"}),
    cores=CLUSTER_CORES,
    sensitive="sensitive",
)
"""DABS-Storm's simple sensitive topology, as topologies/simple_sensitive. Costs are ours again, ten times those of the insensitive one
for a tenth of the events, so that every event can be simulated for itself."""

_KEPT = 0.75
SENSITIVE_COMPLEX = Application(
    {
        "dispatcher": [Edge(SPOUT)],
        "city_finder": [Edge("dispatcher", _KEPT)],
        "city_analyzer": [Edge("city_finder")],
        "age_finder": [Edge("dispatcher", _KEPT)],
        "age_analyzer": [Edge("age_finder")],
        "persister": [Edge("city_analyzer", _KEPT), Edge("age_analyzer", _KEPT)],
    },
    {
        "dispatcher": _PASSING,
        "city_finder": _SENSITIVE,
        "city_analyzer": _PASSING,
        "age_finder": _PASSING,
        "age_analyzer": _PASSING,
        "persister": _STORING,
    },
    1.0,
    computes=frozenset({"city_finder"}),
    cores=CLUSTER_CORES,
    sensitive="city_finder",
)
"""DABS-Storm's complex sensitive topology, as topologies/complex_sensitive: two branches, of which one is dear."""

APPLICATIONS = {
    "linear": LINEAR,
    "linear, event by event": LINEAR_SINGLE,
    "complex": COMPLEX,
    "insensitive": INSENSITIVE,
    "insensitive, computing": INSENSITIVE_CPU,
    "simple sensitive": SENSITIVE,
    "complex sensitive": SENSITIVE_COMPLEX,
}
