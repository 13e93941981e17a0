"""Logs of distributed systems (PA-SPS, Figure 14): each line is parsed, its template found, its kind told, and stored.

    pasps run topologies/logs/log_events.py -o events.total=20000

Synthetic lines in the formats of HDFS, Spark, OpenSSH and Apache, or those of `events.file`. Configuration: README.md beside this.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from pasps import Grouping, Topology, Tuple
from pasps.connectors.sql import SqlSink
from pasps.spouts import EventSpout
from topologies.logs.kinds import Kinds
from topologies.logs.line_formats import Parse
from topologies.logs.synthetic_lines import line
from topologies.logs.templates import Templates


class Lines(EventSpout):
    """Lines of logs, as they were written."""

    outputs = ["event", "text"]
    own_keys = ("logs.year", "logs.similarity", "logs.templates.max", "logs.window.seconds")

    def synthetic(self, number: int) -> tuple[str]:
        return (line(self.seed, number),)

    def from_line(self, line: str) -> tuple[str]:
        return (line.replace("\0", "\ufffd"),)  # which PostgreSQL does not store


class Store(SqlSink):
    """One row a line."""

    table = "log_events"
    columns = {
        "event": int,
        "source": str,
        "at": datetime,
        "level": str,
        "component": str,
        "message": str,
        "template_id": str,
        "template": str,
        "origin": str,
        "severity": str,
        "kind": str,
        "session": str,
    }
    key = ("event",)

    def rows(self, tup: Tuple) -> Iterable[Mapping[str, Any]]:
        """The line's parts, and what was found about it."""
        event, found, template, severity, kind, session = tup.values
        row = {name: getattr(found, name) for name in ("source", "at", "level", "component", "message")}
        row |= {"event": event, "severity": severity, "kind": kind, "session": session}
        return (row | {"template_id": template.id, "template": template.text, "origin": template.origin},)


class LogEvents(Topology):
    """lines -> parse -> template, by number of words -> event, by template -> store."""

    # what is in flight is remembered by `template` and `event`, so that what fails is not counted twice
    config = {"topology.max.spout.pending": 4_000}

    lines = Lines.spec()
    parse = Parse.spec(inputs=[lines], par=1, pool=8)
    template = Templates.spec(inputs={parse: Grouping.fields("words")}, par=1, pool=8)
    event = Kinds.spec(inputs={template: Grouping.fields("origin")}, par=1, pool=8)
    store = Store.spec(inputs=[event], par=1, pool=4)
