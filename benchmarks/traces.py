"""`python -m benchmarks.traces`: `pasps traces build` beside the same count in pandas and in DuckDB, in one run.

First on records that all three can hold, in turns; then on many more, each with its address space capped, where pandas is at its end.
The records are made by Spark, and all three must write the same trace.
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
from benchmarks.trace_counts.counting import Count, counted
from benchmarks.trace_counts.records import make_records

SUBJECTS = ("pasps", "duckdb", "pandas")
AIM = 3.0
"""`pasps traces build` may take so many times what DuckDB takes."""


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
        capped = list(_runs(large, wanted.cores, int(wanted.cap_gib * 2**30), 1))
    print(_table(f"{wanted.small:,} records, {sizes[0] / 1e6:,.0f} MB, {wanted.cores} cores", held, wanted.small))
    title = f"{wanted.large:,} records, {sizes[1] / 1e6:,.0f} MB, {wanted.cores} cores, address space capped at {wanted.cap_gib:g} GiB"
    print(f"\n{_table(title, capped, wanted.large)}\n\n{_verdict(capped)}")
    if wanted.json:
        told = {"machine": machine(), "held": [asdict(run) for run in held], "capped": [asdict(run) for run in capped]}
        wanted.json.write_text(json.dumps(told, indent=1) + "\n")
    return 1 if _wrong(held) or _wrong([run for run in capped if run.subject != "pandas"]) else 0


def _runs(records: Path, cores: int, cap_bytes: int | None, repeat: int) -> Iterator[Count]:
    for _ in range(repeat):
        for subject in SUBJECTS:
            run = counted(subject, records, cores, cap_bytes)
            _say(f"{subject}: {run.problem or f'{run.seconds:.1f} s, {run.rss_mb:,.0f} MB'}")
            yield run


def _wrong(runs: Sequence[Count]) -> bool:
    """Whether one failed, or wrote another trace than the others."""
    return len({run.trace for run in runs}) != 1 or not runs[0].trace


def _table(title: str, runs: Sequence[Count], records: int) -> str:
    rows = []
    fastest = _seconds(runs, "duckdb")
    for subject in SUBJECTS:
        own = [run for run in runs if run.subject == subject]
        problem = next((run.problem for run in own if run.problem), "")
        if problem:
            rows.append([subject, "-", "-", "-", f"{max(run.rss_mb for run in own):,.0f}", problem])
            continue
        seconds = _seconds(runs, subject)
        spread = f"{seconds:.2f} [{min(run.seconds for run in own):.2f}-{max(run.seconds for run in own):.2f}]"
        ratio = f"{seconds / fastest:.2f}" if fastest else "-"
        rss = f"{max(run.rss_mb for run in own):,.0f}"
        rows.append([subject, spread, f"{records / seconds:,.0f}", ratio, rss, "yes" if own[0].trace == runs[0].trace else "no"])
    return table(title, ["", "seconds", "records/s", "times DuckDB", "RSS MB", "same trace"], rows)


def _seconds(runs: Sequence[Count], subject: str) -> float:
    return median([run.seconds for run in runs if run.subject == subject and not run.problem] or [0.0])


def _verdict(runs: Sequence[Count]) -> str:
    ours, theirs = _seconds(runs, "pasps"), _seconds(runs, "duckdb")
    if not ours or not theirs:
        return "the aim cannot be told: one of them failed"
    return f"aim: at most {AIM:g} times DuckDB; {ours / theirs:.2f} times: {'reached' if ours <= AIM * theirs else 'not reached'}"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.traces", description=__doc__)
    parser.add_argument("--small", type=int, default=2_000_000, help="records that all three can hold (default: 2 million)")
    parser.add_argument("--large", type=int, default=50_000_000, help="records that pandas cannot hold (default: 50 million)")
    parser.add_argument("--cap-gib", type=float, default=4.0, help="address space of each process in the second part (default: 4)")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=3, help="rounds of the first part (default: 3)")
    parser.add_argument("--any-order", action="store_true", help="records at any time of the day, not nearly in order as logs are")
    parser.add_argument("--records", type=Path, help="a directory for the records, which are kept there and used again")
    parser.add_argument("--json", type=Path, help="write every single run there")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
