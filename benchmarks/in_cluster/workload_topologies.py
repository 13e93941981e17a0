"""The topology file that `pasps run` and the cluster are given: W1 and W2 with function and class bolts, for 1 to 4 workers.

As benchmarks.subjects.pasps_run builds them: each component has a replica for every worker; W2's sink is keyed by class.
"""

from __future__ import annotations

from itertools import product

from benchmarks.in_cluster.given import GivenBatchSink, GivenSpout, GivenTupleSink
from benchmarks.in_cluster.names import BOLTS, WORKERS, WORKLOADS, topology_name
from benchmarks.subjects.pasps_components import CLASSES, FUNCTIONS
from pasps import TopologyBuilder
from pasps.api import Blueprint


def build(workload: str, bolts: str, workers: int) -> Blueprint:
    """source -> operators -> sink."""
    builder = TopologyBuilder()
    builder.set_spout("events", GivenSpout, workers)
    previous = "events"
    for place, operator in enumerate((FUNCTIONS if bolts == "functions" else CLASSES)[workload], 1):
        name = f"operator{place}"
        builder.set_bolt(name, operator, workers).load_aware_grouping(previous)
        previous = name
    end = builder.set_bolt("sink", GivenBatchSink if bolts == "functions" else GivenTupleSink, workers)
    if workload == "w2":
        end.fields_grouping(previous, ["user_class"])
    else:
        end.load_aware_grouping(previous)
    return builder.create_topology(topology_name(workload, bolts, workers))


# a topology is found in a file as a variable of it
globals().update({topology_name(*one).replace("-", "_"): build(*one) for one in product(WORKLOADS, BOLTS, WORKERS)})
