"""`python -m benchmarks.activation`: how soon a replica that is switched on executes its first tuple."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.machine import machine
from benchmarks.options import set_records_directory
from benchmarks.scenarios.activating import Change, run

_AIM_MS = 20.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; exit code 1 when a replica never executed."""
    parser = argparse.ArgumentParser("python -m benchmarks.activation", description=__doc__)
    parser.add_argument("--changes", type=int, default=200)
    parser.add_argument("--rate", type=float, default=20_000.0, help="events per second")
    parser.add_argument("--pool", type=int, default=8)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", type=Path, help="write everything measured to this file")
    wanted = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        set_records_directory(Path(directory))
        changes = run(wanted.changes, wanted.rate, wanted.pool, wanted.workers)
    firsts = [change.first_tuple for change in changes if change.first_tuple is not None]
    print(_table(changes, firsts))
    if wanted.json:
        wanted.json.write_text(json.dumps({"machine": machine(), "changes": [asdict(change) for change in changes]}, indent=1) + "\n")
    return 0 if len(firsts) == len(changes) else 1


def _table(changes: list[Change], firsts: list[float]) -> str:
    lines = ["| from set_active to | p50 ms | p99 ms | max ms | changes |", "| --- | --- | --- | --- | --- |"]
    for title, values in (("its return", [change.returned for change in changes]), ("the first tuple on the new replica", firsts)):
        ordered = sorted(values)
        cells = (
            [f"{1e3 * ordered[min(len(ordered) - 1, int(len(ordered) * share))]:.2f}" for share in (0.5, 0.99, 1.0)]
            if ordered
            else ["-"] * 3
        )
        lines.append(f"| {title} | {' | '.join(cells)} | {len(ordered)} |")
    return "\n".join([*lines, "", f"aim: p99 of the first tuple under {_AIM_MS:g} ms; {len(changes) - len(firsts)} never came"])


if __name__ == "__main__":
    sys.exit(main())
