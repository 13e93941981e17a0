"""pasps: Storm-like topologies on pools of replicas that are switched on and off while tuples flow.

General layout, each room importing only from those before it:
  errors, ids, clock, cores, garbage, config, options, activation, assignment, metrics   the vocabulary, standard library only
  api          what a user writes
  groupings, transport, control, cluster, spouts   rooms that do not know each other; connectors, the spouts and bolts of other systems
  runtime      what runs in a worker
  testing      the kit for users' tests
  report, simulation, data   of a run, before a run, and traces and execution times
  worker, topology   the process of a worker, and what holds a topology together; what a cluster adds is below cluster
  cli          the command line
"""

from __future__ import annotations

import importlib
import typing

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
from pasps.errors import EndOfInput, PaspsError
from pasps.metrics import Stats

if typing.TYPE_CHECKING:
    from pasps.topology.local_cluster import LocalCluster, RunningTopology
    from pasps.topology.workforce import WorkerInfo

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

_OF_WHO_RUNS_TOPOLOGIES = {
    "LocalCluster": "pasps.topology.local_cluster",
    "RunningTopology": "pasps.topology.local_cluster",
    "WorkerInfo": "pasps.topology.workforce",
}


def __getattr__(name: str) -> typing.Any:
    """Import it when it is first asked for: every worker imports this package, and needs neither controllers nor policies."""
    if name not in _OF_WHO_RUNS_TOPOLOGIES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(_OF_WHO_RUNS_TOPOLOGIES[name]), name)
    return found
