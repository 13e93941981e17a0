"""pasps: Storm-like topologies on pools of replicas that are switched on and off while tuples flow.

General layout, each room importing only from those before it:
  errors, ids, clock, config, activation, assignment, metrics   the vocabulary, standard library only
  api          what a user writes
  groupings, transport, control, cluster   four rooms that do not know each other
  runtime      what runs in a worker
  daemons, testing   join the rooms: processes, and the kit for users' tests
  cli          the command line
"""

from __future__ import annotations

from pasps.api import (
    BatchBolt,
    BatchingBolt,
    Blueprint,
    Bolt,
    FunctionBolt,
    Grouping,
    GroupingSpec,
    ReliableSpout,
    Spout,
    StatefulFunction,
    Stream,
    TicklessBatchingBolt,
    Topology,
    TopologyBuilder,
    TopologyContext,
    Tuple,
    bolt,
)
from pasps.daemons.local_cluster import LocalCluster, RunningTopology
from pasps.daemons.workforce import WorkerInfo
from pasps.errors import EndOfInput, PaspsError
from pasps.metrics import Stats

__all__ = [
    "BatchBolt",
    "BatchingBolt",
    "Blueprint",
    "Bolt",
    "EndOfInput",
    "FunctionBolt",
    "Grouping",
    "GroupingSpec",
    "LocalCluster",
    "PaspsError",
    "ReliableSpout",
    "RunningTopology",
    "Spout",
    "StatefulFunction",
    "Stats",
    "Stream",
    "TicklessBatchingBolt",
    "Topology",
    "TopologyBuilder",
    "TopologyContext",
    "Tuple",
    "WorkerInfo",
    "bolt",
]
