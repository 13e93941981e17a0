"""How a batch is split over the replicas of a component: one module a mechanism, `registry` picks it by the edge.

Called by the emitter; pure: no queue, no socket, time only through the clock it is given. Who writes a grouping finds all for it here.
"""

from __future__ import annotations

from pasps.api.splitting import (
    MOST_PAYLOAD_BYTES,
    Carrying,
    GroupingType,
    Loads,
    ObservedSplitter,
    Observer,
    Pick,
    Receiver,
    Row,
    Sender,
    Splitter,
    TargetView,
)
from pasps.groupings.picks import by_target
from pasps.options import option

__all__ = [
    "MOST_PAYLOAD_BYTES",
    "Carrying",
    "GroupingType",
    "Loads",
    "ObservedSplitter",
    "Observer",
    "Pick",
    "Receiver",
    "Row",
    "Sender",
    "Splitter",
    "TargetView",
    "by_target",
    "option",
]
