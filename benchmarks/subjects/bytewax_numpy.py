"""Bytewax with numpy over whole batches, for W4."""

from __future__ import annotations

import bytewax.operators as op
from bytewax.dataflow import Dataflow

from benchmarks.scoring import rate_events
from benchmarks.subjects.bytewax import launch
from benchmarks.subjects.bytewax_flow import begin, end


def numpy_flow() -> Dataflow:
    """One step over whole batches."""
    stream, dataflow = begin()
    return end(op.flat_map_batch("rate", stream, rate_events), dataflow)


if __name__ == "__main__":
    launch("benchmarks.subjects.bytewax_numpy", "benchmarks.subjects.bytewax_numpy:numpy_flow")
