"""DABS-Storm's simple insensitive topology (its Figure 9a): every event costs the same.

    pasps run topologies/simple_insensitive/simple_insensitive.py -o events.total=12000

Configuration: the keys of `EventSpout`; `work.rounds`, what one event costs (12000, about three milliseconds); `sql.url`.
"""

from __future__ import annotations

from pasps import Topology, Tuple
from pasps.connectors.sql import SqlSink
from pasps.spouts import EventSpout
from topologies.number_keys import LARGEST
from topologies.work import ROUNDS_PER_MILLISECOND, WorkingBolt, work

VALUES = 1_000


class Source(EventSpout):
    """Numbers, at a rate that rises far, stays there and falls."""

    outputs = ["event", "value"]
    usual_kind = "progressive"
    own_keys = ("work.rounds",)

    def synthetic(self, number: int) -> tuple[int]:
        return (number * 7919 % VALUES,)

    def from_line(self, line: str) -> tuple[int]:
        value = int(line)
        if not -LARGEST <= value <= LARGEST:
            raise ValueError(f"expected a whole number from {-LARGEST} to {LARGEST}, which a database takes")
        return (value,)


class Insensitive(WorkingBolt):
    """A function whose cost has nothing to do with the value."""

    outputs = ["event", "value", "result"]
    usual_rounds = 3 * ROUNDS_PER_MILLISECOND

    def process(self, tup: Tuple) -> None:
        event, value = tup.values
        self.emit([event, value, work(self.rounds, value)])


class Store(SqlSink):
    """One row an event."""

    table = "insensitive_results"
    columns = {"event": int, "value": int, "result": str}
    key = ("event",)


class SimpleInsensitive(Topology):
    """source -> insensitive -> finalize."""

    source = Source.spec()
    insensitive = Insensitive.spec(inputs=[source], par=1, pool=8)
    finalize = Store.spec(inputs=[insensitive], par=1, pool=4)
