"""DNS traffic (PA-SPS, Figure 12): each message is parsed, its flow described and classified, and the verdict stored.

    pasps run topologies/dns/dns_traffic.py -o events.total=20000

Synthetic conversations of people who browse, of malware that looks for its master, and of tunnels; or your own, from
`events.file`. Configuration: README.md beside this file, which is not called dns.py because it would hide the library dns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from pasps import Grouping, Topology, Tuple
from pasps.connectors.sql import SqlSink
from pasps.spouts import EventSpout
from topologies.dns.classifier import Classify
from topologies.dns.conversations import message
from topologies.dns.flow_features import Features
from topologies.dns.parsing import parse
from topologies.dns.recorded import recorded


class Messages(EventSpout):
    """DNS messages as they were on the wire, with their flow (client and server) and their time in seconds since the epoch."""

    outputs = ["event", "flow", "at", "wire"]
    own_keys = ("dns.flows.max", "dns.flow.idle.seconds", "dns.flow.most.seconds", "dns.model")

    def synthetic(self, number: int) -> tuple[str, float, bytes]:
        return message(self.seed, number)

    def from_line(self, line: str) -> tuple[str, float, bytes]:
        return recorded(line)


class Store(SqlSink):
    """One row a message; of a malformed one its size and the problem."""

    table = "dns_events"
    columns = {
        "event": int,
        "flow": str,
        "at": datetime,
        "size": int,
        "is_answer": bool,
        "name": str,
        "record": str,
        "code": str,
        "label": str,
        "score": float,
        "problem": str,
    }
    key = ("event",)

    def rows(self, tup: Tuple) -> Iterable[Mapping[str, Any]]:
        """The message's fields, and the verdict."""
        event, flow, at, found, label, score = tup.values
        row = {"event": event, "flow": flow, "at": datetime.fromtimestamp(at, UTC), "label": label, "score": score}
        names = ("size", "is_answer", "name", "record", "code") if found.problem is None else ("size", "problem")
        return (row | {name: getattr(found, name) for name in names},)


class DnsTraffic(Topology):
    """messages -> parse -> features, by flow -> classify -> store."""

    # what is in flight is remembered by `features`, so that what fails is not counted twice
    config = {"topology.max.spout.pending": 4_000}

    messages = Messages.spec()
    parse = parse.spec(inputs=[messages], name="parse", par=1, pool=3)
    features = Features.spec(inputs={parse: Grouping.fields("flow")}, par=1, pool=3)
    classify = Classify.spec(inputs=[features], par=1, pool=3)
    store = Store.spec(inputs=[classify], par=1, pool=4)
