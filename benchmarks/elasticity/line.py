"""Four bolts in a line, each waiting a set time for every tuple, behind a spout that replays a trace; `pasps run` loads this file.

Keys of its own: `line.wait.millis`, which `line.wait.millis.<bolt>` overrides for one of them; `line.counts.dir` for the ids
that reach the end (see `id_counts`); and `trace.*` for the trace.
"""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Sequence
from typing import Any, ClassVar

from pasps import Bolt, Topology, Tuple
from pasps.api import TopologyContext
from pasps.spouts import TraceSpout

_POOL = 8


class Waiting(Bolt):
    """Stands for a call to a database or a service: a replica does nothing but wait."""

    outputs: Sequence[str] = ("id",)
    execution = "thread"

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        """Read how long."""
        self.wait_seconds = float(conf.get(f"line.wait.millis.{ctx.component_id}", conf["line.wait.millis"])) / 1000

    def process(self, tup: Tuple) -> None:
        """Wait, and hand the id on."""
        time.sleep(self.wait_seconds)
        self.emit((tup.values[0],))


class Last(Waiting):
    """Waits too, and writes each id down at once, so that a killed worker's are not forgotten."""

    outputs = ()

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        """Open a file of its own."""
        super().initialize(conf, ctx)
        path = os.path.join(conf["line.counts.dir"], f"{ctx.task_index}-{os.getpid()}.ids")
        self.file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)

    def process(self, tup: Tuple) -> None:
        """Wait, and write the id down."""
        time.sleep(self.wait_seconds)
        os.write(self.file, struct.pack("=q", tup.values[0]))

    def close(self) -> None:
        """Nothing more comes."""
        os.close(self.file)


class Line(Topology):
    """Load-aware edges all along, which is the default."""

    trace = TraceSpout.spec()
    first = Waiting.spec(inputs=[trace], par=4, pool=_POOL)
    second = Waiting.spec(inputs=[first], par=4, pool=_POOL)
    third = Waiting.spec(inputs=[second], par=4, pool=_POOL)
    last = Last.spec(inputs=[third], par=4, pool=_POOL)
    config: ClassVar[dict[str, Any]] = {"line.wait.millis": 20}
