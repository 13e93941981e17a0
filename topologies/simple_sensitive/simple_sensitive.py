"""DABS-Storm's simple sensitive topology (its Figure 9b): what an event costs depends on its value.

    pasps run topologies/simple_sensitive/simple_sensitive.py -o events.total=12000

Configuration: the keys of `EventSpout`; `values.skew` of the values' Zipf law (1.5; 0: all alike); `work.rounds`, what an event
costs for each one of its value (1000, about a quarter of a millisecond; three in the mean); `sql.url`.
"""

from __future__ import annotations

import random
from typing import Any

from pasps import Topology, TopologyContext
from pasps.connectors.sql import SqlSink
from pasps.spouts import EventSpout
from topologies.simple_sensitive.sensitive import MOST_VALUE, Sensitive, skew_of, zipf_value


class Source(EventSpout):
    """Values from 1 to 256 by Zipf's law, at a rate that rises far, stays there and falls."""

    outputs = ["event", "value"]
    usual_kind = "progressive"
    own_keys = ("values.skew", "work.rounds")

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.skew = skew_of(conf, ctx.component_id)
        super().initialize(conf, ctx)

    def synthetic(self, number: int) -> tuple[int]:
        return (zipf_value(random.Random(f"{self.seed}:{number}"), self.skew),)

    def from_line(self, line: str) -> tuple[int]:
        value = int(line)
        if not 1 <= value <= MOST_VALUE:
            raise ValueError(f"expected a value from 1 to {MOST_VALUE}")
        return (value,)


class Store(SqlSink):
    """One row an event."""

    table = "sensitive_results"
    columns = {"event": int, "value": int, "result": str}
    key = ("event",)


class SimpleSensitive(Topology):
    """source -> sensitive -> finalize."""

    source = Source.spec()
    sensitive = Sensitive.spec(inputs=[source], par=1, pool=8)
    finalize = Store.spec(inputs=[sensitive], par=1, pool=4)
