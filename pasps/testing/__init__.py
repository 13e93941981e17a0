"""For tests of topologies, without sleeping: lists in and rows out, or step by step; faults as data, and a clock that stands still.

Layout: clock, marks, journal, tally <- list_spout, background, tap, net <- crew, stand_ins, controller <- step_run <- complete.
A cluster's store in memory: memory_tree <- memory_keeping <- memory_store.
"""

from __future__ import annotations

from pasps.testing.clock import FakeClock
from pasps.testing.complete import CompletedTopology, complete_topology
from pasps.testing.journal import Report
from pasps.testing.marks import ABORT, EOF, PAUSE, OnStream
from pasps.testing.step_run import StepOptions, StepRun
from pasps.testing.tally import ComponentCounts

__all__ = [
    "ABORT",
    "EOF",
    "PAUSE",
    "CompletedTopology",
    "ComponentCounts",
    "FakeClock",
    "OnStream",
    "Report",
    "StepOptions",
    "StepRun",
    "complete_topology",
]
