"""The groupings of the papers one after the other, before bolts that wait; see `topologies`."""

from __future__ import annotations

import time

from pasps import Bolt, Grouping, Topology, Tuple
from tests.integration.faulty_topologies import UntilEnough
from tests.integration.topologies import WriteDown

WAIT_SECONDS = 0.04
SENDERS = 2
WINDOW = 20
"""So short that sketches are sent at rates at which a few replicas wait."""


class Wait(Bolt):
    """A tuple costs the same whatever its key."""

    outputs = ("n", "key")
    execution = "thread"

    def process(self, tup: Tuple) -> None:
        time.sleep(WAIT_SECONDS)
        self.emit(tup.values)


class Papers(Topology):
    numbers = UntilEnough.spec(par=SENDERS)
    storm = Wait.spec(inputs={numbers: Grouping.LOAD_AWARE_STORM}, par=1, pool=6)
    osg = Wait.spec(inputs={storm: Grouping.osg("key", window=WINDOW)}, par=1, pool=6)
    sink = WriteDown.spec(inputs={osg: Grouping.GLOBAL})
