"""What of a comparison is kept in the project: its table as JSON, and the figures; never a row of the trace."""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import cast

from benchmarks.elasticity.comparison import Comparison, Turn
from benchmarks.elasticity.outcomes import SCHEMA
from benchmarks.elasticity.plans import RunPlan
from benchmarks.elasticity.verdict import Row, verdict_of
from benchmarks.machine import machine
from pasps.control.run_log import Sample
from pasps.report.run_files import RunFiles


def save(
    comparison: Comparison, plans: Sequence[RunPlan], repeats: int, drawn: Sequence[str], directory: Path, title: str | None = None
) -> list[Path]:
    """Write them; `drawn` are the runs whose replicas are drawn, as far as they were made. Returns the files.

    Raises:
        InvalidError: there is no matplotlib.
    """
    drawings = importlib.import_module("benchmarks.elasticity.drawings")
    directory.mkdir(parents=True, exist_ok=True)
    name, title, rows = comparison.directory.name, title or comparison.prepared.name, comparison.rows(plans, repeats)
    table = {**_table(comparison, rows), "commits": comparison.commits(plans, repeats)}
    made = {directory / f"{name}.json": (json.dumps(table, indent=1) + "\n").encode()}
    made[directory / f"{name}-latency.png"] = cast("bytes", drawings.latency_against_saved(title, rows))
    runs = _samples(comparison, [plan for plan in plans if plan.name in drawn])
    if runs:
        made[directory / f"{name}-replicas.png"] = cast("bytes", drawings.replicas_over_time(title, comparison.prepared, runs))
    for path, content in made.items():
        path.write_bytes(content)
    return list(made)


def _table(comparison: Comparison, rows: Sequence[Row]) -> dict[str, object]:
    prepared, verdict = comparison.prepared, verdict_of(rows)
    return {
        "schema": SCHEMA,
        "trace": {
            "name": prepared.name,
            "first_row": prepared.first_row,
            "rows": len(prepared.counts),
            "row_seconds": prepared.row_seconds,
            "events": prepared.events,
            "peak_rate": prepared.peak_rate,
            "variation": prepared.variation,
            "smoothed_over": prepared.smoothed_over,
        },
        "setup": asdict(comparison.setup),
        "machine": machine(),
        "runs": [asdict(row) for row in rows],
        "verdict": {**asdict(verdict), "reached": verdict.reached},
    }


def _samples(comparison: Comparison, plans: Sequence[RunPlan]) -> dict[str, list[Sample]]:
    found = {}
    for plan in plans:
        turn = Turn(plan, 0)
        if comparison.result(turn) is not None:
            found[plan.name] = [sample for sample in RunFiles(comparison.place(turn) / "run").samples if sample.complete]
    return found
