"""PRESPS (Wladdimiro, Arantes, Hidalgo, Sens): Table 3, on the smoothed Twitter stream."""

from __future__ import annotations

from benchmarks.papers.pa_sps import OVER, Printed, linear_start, other_runs, systems_table
from benchmarks.papers.report import Experiment, Report
from benchmarks.papers.runs import Laboratory, Run

PRINTED = {"PRESPS": Printed(0.5617, 0.1831, 0.9987, 2098.91), "DABS": Printed(0.3962, 0.2849, 0.8283, 1391.28)}


def runs(start: int) -> dict[str, Run]:
    """Those of PA-SPS' Table 4."""
    others = other_runs(start)
    return {"PRESPS": others["PSPS"], "DABS": others["DABS"]}


def _table(lab: Laboratory) -> Report:
    return systems_table("PRESPS, Table 3: against DABS-Storm", PRINTED, runs(linear_start(lab)), OVER, lab)


EXPERIMENTS = (Experiment("presps-table-3", "PRESPS against DABS-Storm", _table),)
