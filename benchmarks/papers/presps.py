"""PRESPS (Wladdimiro, Arantes, Hidalgo, Sens): Table 3, on the smoothed Twitter stream."""

from __future__ import annotations

from benchmarks.papers.pa_sps import Printed, linear_start, other_runs, systems_table
from benchmarks.papers.report import Experiment, Report
from benchmarks.papers.runs import Laboratory

PRINTED = {"PRESPS": Printed(0.5617, 0.1831, 0.9987, 2098.91), "DABS": Printed(0.3962, 0.2849, 0.8283, 1391.28)}


def _table(lab: Laboratory) -> Report:
    runs = other_runs(linear_start(lab))
    return systems_table("PRESPS, Table 3: against DABS-Storm", PRINTED, {"PRESPS": runs["PSPS"], "DABS": runs["DABS"]}, 32, lab)


EXPERIMENTS = (Experiment("presps-table-3", "PRESPS against DABS-Storm", _table),)
