"""Runs into tables: medians with the smallest and the largest, and the aims."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from statistics import median

from benchmarks.aims import AIMS, Results
from benchmarks.machine import machine
from benchmarks.matrix import MODES, Run

_NOTHING = "-"


def to_json(runs: Sequence[Run]) -> dict[str, object]:
    """Everything that was measured, and the aims."""
    results = Results(runs)
    return {"machine": machine(), "aims": [aim.line(results) for aim in AIMS], "runs": [asdict(run) for run in runs]}


def tables(runs: Sequence[Run]) -> str:
    """The whole report in Markdown."""
    parts = [_full_table(runs), _paced_table(runs), _aims_table(runs), _problems(runs)]
    return "\n\n".join(part for part in parts if part)


def _cells(runs: Sequence[Run], mode: str) -> list[list[Run]]:
    cells: dict[tuple[object, ...], list[Run]] = {}
    for run in runs:
        if run.mode == mode:
            cells.setdefault((run.workload, run.subject), []).append(run)
    return [cells[key] for key in sorted(cells, key=lambda key: str(key[0]))]


def _full_table(runs: Sequence[Run]) -> str:
    columns: list[tuple[str, Callable[[Run], float | None], str]] = [
        ("events/s", lambda run: run.result.events_per_second, ",.0f"),
        ("CPU s per million", lambda run: run.result.cpu_seconds_per_million, ".2f"),
        ("RSS MB", lambda run: run.result.rss_mb, ".0f"),
        ("PSS MB", lambda run: run.result.pss_mb, ".0f"),
        ("start-up s", lambda run: run.result.start_seconds, ".2f"),
    ]
    rows = [[*_names(cell), *(_spread(cell, value, form) for _, value, form in columns), _verdict(cell)] for cell in _cells(runs, "full")]
    return table("Full speed", ["workload", "subject", "workers", *(title for title, _, _ in columns), "exact"], rows)


def _paced_table(runs: Sequence[Run]) -> str:
    columns: list[tuple[str, Callable[[Run], float | None], str]] = [
        ("offered/s", lambda run: run.rate, ",.0f"),
        ("p50 ms", lambda run: run.result.p50_ms, ".2f"),
        ("p99 ms", lambda run: run.result.p99_ms, ".2f"),
        ("cores used", lambda run: run.result.cores_used, ".2f"),
    ]
    rows = [
        [*_names(cell), mode, *(_spread(cell, value, form) for _, value, form in columns), _verdict(cell)]
        for mode in MODES
        if mode != "full"
        for cell in _cells(runs, mode)
    ]
    return table("Paced", ["workload", "subject", "workers", "load", *(title for title, _, _ in columns), "exact"], rows)


def _aims_table(runs: Sequence[Run]) -> str:
    results = Results(runs)
    lines = [(aim, aim.line(results)) for aim in AIMS]
    rows = [
        [aim.title, aim.wanted, f"{line['measured']:.2f}", "yes" if line["reached"] else "NO"]
        for aim, line in lines
        if line["measured"] is not None
    ]
    return table("Aims", ["aim", "wanted", "measured", "reached"], rows)


def _problems(runs: Sequence[Run]) -> str:
    lines = [
        f"- {run.workload} {run.subject.name} x{run.subject.workers} {run.mode}, round {run.round + 1}: {run.result.problem}"
        for run in runs
        if run.result.problem
    ]
    return "\n".join(["### Problems", "", *lines]) if lines else ""


def _names(cell: list[Run]) -> list[str]:
    return [cell[0].workload.upper(), cell[0].subject.name, str(cell[0].subject.workers)]


def _verdict(cell: list[Run]) -> str:
    return "yes" if all(run.result.exact for run in cell) else "NO"


def _spread(cell: list[Run], value: Callable[[Run], float | None], form: str) -> str:
    values = [found for run in cell if run.result.received and (found := value(run)) is not None]
    if not values:
        return _NOTHING
    middle = format(median(values), form)
    return middle if len(values) == 1 else f"{middle} [{format(min(values), form)}-{format(max(values), form)}]"


def table(title: str, heads: list[str], rows: list[list[str]]) -> str:
    """One table in Markdown, its columns aligned; nothing when it has no rows."""
    return f"### {title}\n\n{markdown(heads, rows)}" if rows else ""


def markdown(heads: list[str], rows: list[list[str]]) -> str:
    """The table without its title."""
    widths = [max(len(row[place]) for row in [heads, *rows]) for place in range(len(heads))]
    ruled = [heads, ["-" * width for width in widths], *rows]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in ruled]
    return "\n".join(lines)
