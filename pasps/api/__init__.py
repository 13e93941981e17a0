"""What a user writes and the runtime reads: components, groupings, and the two ways to wire them into a checked topology.

Layout: keys; tuples, groupings <- blueprint <- context, spec <- component <- spout, bolt <- function <- declaration, examine <- validate
<- builder <- topology. Nothing here runs a topology.
"""

from __future__ import annotations

from pasps.api.blueprint import Blueprint, ComponentPlan, Edge
from pasps.api.bolt import BatchBolt, BatchingBolt, Bolt, TicklessBatchingBolt
from pasps.api.builder import BoltDeclarer, SpoutDeclarer, TopologyBuilder
from pasps.api.component import Component, declared_streams
from pasps.api.context import TopologyContext
from pasps.api.function import FunctionBolt, StatefulFunction, bolt
from pasps.api.groupings import Grouping, GroupingSpec
from pasps.api.spec import ComponentSpec
from pasps.api.spout import ReliableSpout, Spout
from pasps.api.topology import Topology, blueprint_of
from pasps.api.tuples import Stream, Tuple

__all__ = [
    "BatchBolt",
    "BatchingBolt",
    "Blueprint",
    "Bolt",
    "BoltDeclarer",
    "Component",
    "ComponentPlan",
    "ComponentSpec",
    "Edge",
    "FunctionBolt",
    "Grouping",
    "GroupingSpec",
    "ReliableSpout",
    "Spout",
    "SpoutDeclarer",
    "StatefulFunction",
    "Stream",
    "TicklessBatchingBolt",
    "Topology",
    "TopologyBuilder",
    "TopologyContext",
    "Tuple",
    "blueprint_of",
    "bolt",
    "declared_streams",
]
