"""What the tests of Kafka and Redis run behind their spouts, in real workers."""

from __future__ import annotations

import asyncio
from typing import Any

from pasps import Bolt, TopologyContext, Tuple


class Slow(Bolt):
    """Carries some hundred a second, and fails every twentieth number the first time that this instance sees it."""

    outputs = ("n",)

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.refused: set[int] = set()

    async def process(self, tup: Tuple) -> None:
        await asyncio.sleep(0.002)
        (n,) = tup.values
        if n % 20 == 0 and n not in self.refused:
            self.refused.add(n)
            self.fail(tup)
            return
        self.emit([n])
