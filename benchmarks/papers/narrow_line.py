"""The line of `wide_line` with the pools of 12 that PSPS was given; `pasps run` loads this file."""

from __future__ import annotations

from typing import Any, ClassVar

from benchmarks.elasticity.line import Last, Waiting
from pasps import Topology
from pasps.spouts import TraceSpout

POOL = 12


class NarrowLine(Topology):
    """Load-aware edges all along, which is the default."""

    trace = TraceSpout.spec()
    first = Waiting.spec(inputs=[trace], par=1, pool=POOL)
    second = Waiting.spec(inputs=[first], par=1, pool=POOL)
    third = Waiting.spec(inputs=[second], par=1, pool=POOL)
    last = Last.spec(inputs=[third], par=1, pool=POOL)
    config: ClassVar[dict[str, Any]] = {"line.wait.millis": 20}
