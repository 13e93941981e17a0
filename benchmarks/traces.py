"""`python -m benchmarks.traces`: `pasps traces build` beside the same count in pandas and in DuckDB, in one run.

First on records that all three can hold, in turns; then on many more, each with its address space capped, where pandas is at its end.
The records are made by Spark, and all three must write the same trace. What Java and Spark take to start is told apart from the rest.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median

from benchmarks.machine import machine
from benchmarks.report import table
from benchmarks.trace_counts.counting import Count, counted, is_installed
from benchmarks.trace_counts.records import make_records

SUBJECTS = ("pasps", "duckdb", "pandas")
AIM = 3.0
"""`pasps traces build` may take so many times what DuckDB takes, beyond the start of Java and Spark."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; exit code 1 when pasps or DuckDB failed, or two wrote different traces. A missed aim is shown only."""
    wanted = _parsed(arguments)
    with tempfile.TemporaryDirectory(prefix="bench-records-") as scratch:
        directory = wanted.records or Path(scratch)
        kind = "any-order" if wanted.any_order else "in-order"
        small, large = directory / f"{kind}-{wanted.small}", directory / f"{kind}-{wanted.large}"
        _say(f"making {wanted.small:,} and {wanted.large:,} records in {directory}")
        in_order = not wanted.any_order
        sizes = [
            make_records(path, count, wanted.cores, in_order=in_order) for path, count in ((small, wanted.small), (large, wanted.large))
        ]
        held = list(_runs(small, wanted.cores, None, wanted.repeat))
        capped = list(_runs(large, wanted.cores, int(wanted.cap_gib * 2**30), wanted.repeat_large))
    print(_table(f"{wanted.small:,} records, {sizes[0] / 1e6:,.0f} MB, {wanted.cores} cores", held, wanted.small))
    title = f"{wanted.large:,} records, {sizes[1] / 1e6:,.0f} MB, {wanted.cores} cores, address space capped at {wanted.cap_gib:g} GiB"
    print(f"\n{_table(title, capped, wanted.large)}\n\n{_verdict(capped)}")
    if wanted.json:
        told = {"machine": machine(), "held": [asdict(run) for run in held], "capped": [asdict(run) for run in capped]}
        wanted.json.write_text(json.dumps(told, indent=1) + "\n")
    return 1 if _wrong(held) or _wrong([run for run in capped if run.subject != "pandas"]) else 0


def _runs(records: Path, cores: int, cap_bytes: int | None, repeat: int) -> Iterator[Count]:
    for _ in range(repeat):
        for subject in filter(is_installed, SUBJECTS):
            run = counted(subject, records, cores, cap_bytes)
            took = f"{run.seconds:.1f} s, {run.start_seconds:.1f} s of them before its first record, {run.rss_mb:,.0f} MB"
            _say(f"{subject}: {run.problem or took}")
            yield run


def _wrong(runs: Sequence[Count]) -> bool:
    """Whether one failed, or wrote another trace than the others."""
    return len({run.trace for run in runs}) != 1 or not runs[0].trace


def _table(title: str, runs: Sequence[Count], records: int) -> str:
    rows = []
    for subject in SUBJECTS:
        own = [run for run in runs if run.subject == subject]
        problem = next((run.problem for run in own if run.problem), "") if own else f"{subject} is not installed"
        rss = f"{max((run.rss_mb for run in own), default=0.0):,.0f}"
        if problem:
            rows.append([subject, *["-"] * 6, rss, problem])
            continue
        seconds, start, cpu = (_median(own, field) for field in ("seconds", "start_seconds", "cpu_seconds"))
        spread = f"{seconds:.2f} [{min(run.seconds for run in own):.2f}-{max(run.seconds for run in own):.2f}]"
        rate = f"{records / _median(own, 'work_seconds'):,.0f}"
        ratios = [f"{_ratio(runs, subject, field):.2f}" for field in ("seconds", "work_seconds")]
        same = "yes" if own[0].trace == runs[0].trace else "no"
        rows.append([subject, spread, f"{start:.2f}", rate, *ratios, f"{cpu:.1f}", rss, same])
    columns = ["", "seconds", "start", "records/s after it", "times DuckDB", "after the start", "CPU s after it", "RSS MB", "same trace"]
    return table(title, columns, rows)


def _median(runs: Sequence[Count], field: str) -> float:
    return median([float(getattr(run, field)) for run in runs if not run.problem] or [0.0])


def _ratio(runs: Sequence[Count], subject: str, field: str) -> float:
    """How many times as much as DuckDB it takes; 0 where that cannot be told."""
    ours, theirs = (_median([run for run in runs if run.subject == name], field) for name in (subject, "duckdb"))
    return ours / theirs if theirs else 0.0


def _verdict(runs: Sequence[Count]) -> str:
    if not is_installed("duckdb"):
        return "the aim cannot be told: DuckDB is not installed; pip install 'pasps[bench]'"
    ratio = _ratio(runs, "pasps", "work_seconds")
    if not ratio:
        return "the aim cannot be told: one of them failed"
    return f"aim: after its start at most {AIM:g} times DuckDB; {ratio:.2f} times: {'reached' if ratio <= AIM else 'not reached'}"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.traces", description=__doc__)
    parser.add_argument("--small", type=int, default=2_000_000, help="records that all three can hold (default: 2 million)")
    parser.add_argument("--large", type=int, default=50_000_000, help="records that pandas cannot hold (default: 50 million)")
    parser.add_argument("--cap-gib", type=float, default=4.0, help="address space of each process in the second part (default: 4)")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=3, help="rounds of the first part (default: 3)")
    parser.add_argument("--repeat-large", type=int, default=1, help="rounds of the second part (default: 1)")
    parser.add_argument("--any-order", action="store_true", help="records at any time of the day, not nearly in order as logs are")
    parser.add_argument("--records", type=Path, help="a directory for the records, which are kept there and used again")
    parser.add_argument("--json", type=Path, help="write every single run there")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
