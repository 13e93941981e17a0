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
from benchmarks.elasticity.traces import Prepared
from benchmarks.elasticity.verdict import Row, verdict_of
from benchmarks.machine import machine
from benchmarks.series_in_words import pace_in_words, series_in_words
from pasps.control.run_log import Sample
from pasps.report.run_files import RunFiles

EQUAL = "equal"
"""Instead of names: of each policy one run, so that what they save is as near together as can be."""


def save(
    comparison: Comparison, plans: Sequence[RunPlan], repeats: int, drawn: Sequence[str], directory: Path, title: str | None = None
) -> list[Path]:
    """Write them; `drawn` are the runs that are drawn over time, as far as they were made, or `EQUAL`. Returns the files.

    Raises:
        InvalidError: there is no matplotlib.
    """
    drawings = importlib.import_module("benchmarks.elasticity.drawings")
    directory.mkdir(parents=True, exist_ok=True)
    name, rows = comparison.directory.name, comparison.rows(plans, repeats)
    title = title or _title(comparison.prepared)
    table = {**_table(comparison, rows), "commits": comparison.commits(plans, repeats)}
    made = {directory / f"{name}.json": (json.dumps(table, indent=1) + "\n").encode()}
    made[directory / f"{name}-latency.png"] = cast("bytes", drawings.latency_against_saved(title, rows))
    equal = [row.name for row in cast("list[Row]", drawings.at_equal_savings(rows))]
    chosen = equal if list(drawn) == [EQUAL] else drawn
    runs = [drawings.Drawn(row, rounds) for row, rounds in _samples(comparison, plans, rows, chosen, repeats)]
    if runs:
        what = "runs that save nearly the same" if list(drawn) == [EQUAL] else "over time"
        made[directory / f"{name}-replicas.png"] = cast("bytes", drawings.replicas_over_time(title, what, comparison.prepared, runs))
    for path, content in made.items():
        path.write_bytes(content)
    return list(made)


def _title(prepared: Prepared) -> str:
    words = (series_in_words(prepared.name), pace_in_words(prepared.name, prepared.row_seconds))
    return ", ".join(filter(None, words))


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


def _samples(
    comparison: Comparison, plans: Sequence[RunPlan], rows: Sequence[Row], drawn: Sequence[str], repeats: int
) -> list[tuple[Row, list[list[Sample]]]]:
    """The runs that are drawn, in the order in which they are named, with the samples of each round that was made."""
    found = []
    named = {plan.name: plan for plan in plans}
    known = {row.name: row for row in rows}
    for name in drawn:
        if name not in known:
            continue
        turns = [Turn(named[name], round) for round in range(repeats)]
        made = [comparison.place(turn) / "run" for turn in turns if comparison.result(turn) is not None]
        rounds = [[sample for sample in RunFiles(place).samples if sample.complete] for place in made]
        found.append((known[name], [samples for samples in rounds if samples]))
    return [(row, rounds) for row, rounds in found if rounds]
