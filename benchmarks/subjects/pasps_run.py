"""Builds a workload's topology, runs it on a local cluster until its sources have ended, and drains it."""

from __future__ import annotations

import time
from typing import Any

from benchmarks import records
from benchmarks.options import Options, records_directory
from benchmarks.subjects.pasps_components import EventSpout, FeatureSpout
from pasps import LocalCluster, TopologyBuilder
from pasps.api import Blueprint

_DRAIN_SECONDS = 60.0
_LOOK_SECONDS = 0.02
# Only tracked tuples are pending; Storm's own default has no such limit, and then a spout's memory is the only one.
_MAX_SPOUT_PENDING = 5_000


def build(options: Options, operators: tuple[Any, ...], sink: Any) -> Blueprint:
    """source -> operators -> sink, each with a replica for every worker; keyed by class are W2's sink, and the count of W3."""
    builder = TopologyBuilder()
    builder.set_spout("events", FeatureSpout if options.workload == "w4" else EventSpout, options.workers)
    keyed = {"w2": "sink", "w3": f"operator{len(operators)}"}.get(options.workload)
    previous = "events"
    for name, step in [*((f"operator{place}", operator) for place, operator in enumerate(operators, 1)), ("sink", sink)]:
        declared = builder.set_bolt(name, step, options.workers)
        if name == keyed:
            declared.fields_grouping(previous, ["user_class"])
        else:
            declared.load_aware_grouping(previous)
        previous = name
    return builder.create_topology(f"bench-{options.workload}")


def run(options: Options, operators: tuple[Any, ...], sink: Any) -> None:
    """Until every source has left its record and everything that it emitted has arrived."""
    with LocalCluster(workers=options.workers) as cluster:
        running = cluster.submit(build(options, operators, sink), config={"topology.max.spout.pending": _MAX_SPOUT_PENDING})
        while records.count(records.SourceRecord, records_directory()) < options.workers:
            time.sleep(_LOOK_SECONDS)
        running.drain(timeout=_DRAIN_SECONDS)
        running.kill(wait=10)
