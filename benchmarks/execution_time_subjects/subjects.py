"""The file for `pasps et`: every subject beside the others, fed by the same spout."""

from __future__ import annotations

from benchmarks.execution_time_subjects.bolts import SUBJECTS, Numbers, Sink
from pasps import TopologyBuilder


def _builder() -> TopologyBuilder:
    builder = TopologyBuilder()
    builder.set_spout("numbers", Numbers, 1)
    for name, component in SUBJECTS.items():
        builder.set_bolt(name, component, 1).load_aware_grouping("numbers")
        builder.set_bolt(f"after_{name}", Sink, 1).load_aware_grouping(name)
    return builder


TOPOLOGY = _builder().create_topology("execution-times")
