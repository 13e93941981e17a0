"""Work for a processor, in rounds that cost the same wherever the value comes from."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from pasps import Bolt, TopologyContext
from topologies.number_keys import whole

ROUNDS_PER_MILLISECOND = 4_000
"""About that, on a processor of today."""
_MOST = 10**9


def work(rounds: int, value: int) -> str:
    """Hash a value so often; the result depends on every round, so that none can be left out."""
    found = str(value).encode()
    for _ in range(rounds):
        found = sha256(found).digest()
    return found.hex()


class WorkingBolt(Bolt):
    """Base of a bolt that works for `self.rounds`: `work.rounds` of its configuration, or `usual_rounds`."""

    usual_rounds = 0

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.rounds = whole(conf, "work.rounds", self.usual_rounds, 0, _MOST, f"component {ctx.component_id!r}")
