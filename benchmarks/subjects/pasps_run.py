"""Builds a workload's topology, runs it on a local cluster until its sources have ended, and drains it."""

from __future__ import annotations

import time
from typing import Any

from benchmarks import records
from benchmarks.options import Options, records_directory
from benchmarks.subjects.pasps_components import EventSpout
from pasps import LocalCluster, TopologyBuilder
from pasps.api import Blueprint

_DRAIN_SECONDS = 60.0
_LOOK_SECONDS = 0.02
# Only tracked tuples are pending; Storm's own default has no such limit, and then a spout's memory is the only one.
_MAX_SPOUT_PENDING = 5_000


def build(options: Options, operators: tuple[Any, ...], sink: Any) -> Blueprint:
    """source -> operators -> sink, each with a replica for every worker; W2's sink is keyed by class."""
    builder = TopologyBuilder()
    builder.set_spout("events", EventSpout, options.workers)
    previous = "events"
    for place, operator in enumerate(operators, 1):
        name = f"operator{place}"
        builder.set_bolt(name, operator, options.workers).load_aware_grouping(previous)
        previous = name
    end = builder.set_bolt("sink", sink, options.workers)
    if options.workload == "w2":
        end.fields_grouping(previous, ["user_class"])
    else:
        end.load_aware_grouping(previous)
    return builder.create_topology(f"bench-{options.workload}")


def run(options: Options, operators: tuple[Any, ...], sink: Any) -> None:
    """Until every source has left its record and everything that it emitted has arrived."""
    with LocalCluster(workers=options.workers) as cluster:
        running = cluster.submit(build(options, operators, sink), config={"topology.max.spout.pending": _MAX_SPOUT_PENDING})
        while records.count(records.SourceRecord, records_directory()) < options.workers:
            time.sleep(_LOOK_SECONDS)
        running.drain(timeout=_DRAIN_SECONDS)
        running.kill(wait=10)
