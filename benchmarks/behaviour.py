"""`python -m benchmarks.behaviour`: what pasps promises beyond speed, one table."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.machine import machine
from benchmarks.options import set_records_directory
from benchmarks.report import table
from benchmarks.scenarios import blocking, bounded_memory, changing, idle, killed_worker, queued, slow_replica
from benchmarks.scenarios.row import Row

SCENARIOS: dict[str, tuple[Callable[[int, float], list[Row]], float]] = {
    "idle": (idle.run, 20.0),
    "blocking": (blocking.run, 10.0),
    "slow-replica": (slow_replica.run, 10.0),
    "queued": (queued.run, 0.0),
    "changing": (changing.run, 20.0),
    "killed-worker": (killed_worker.run, 0.0),
    "bounded-memory": (bounded_memory.run, 20.0),
}
"""What each runs, and for how many seconds where it can be chosen."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the scenarios one after the other; exit code 1 when one missed its aim."""
    parser = argparse.ArgumentParser("python -m benchmarks.behaviour", description=__doc__)
    parser.add_argument("--only", default=",".join(SCENARIOS), help="some of them, with commas between")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="a fifth of the time: does it run?")
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    wanted = parser.parse_args(arguments)
    names = wanted.only.split(",")
    if unknown := [name for name in names if name not in SCENARIOS]:
        parser.error(f"no scenario {unknown[0]!r}; there are {', '.join(SCENARIOS)}")
    rows: list[Row] = []
    for name in names:
        scenario, seconds = SCENARIOS[name]
        print(f"running {name}", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(prefix="bench-") as directory:
            set_records_directory(Path(directory))
            rows += scenario(wanted.workers, seconds / 5 if wanted.quick else seconds)
    print(table("Behaviour", ["what", "measured", "wanted", "reached"], [_cells(row) for row in rows]))
    if wanted.json:
        wanted.json.write_text(json.dumps({"machine": machine(), "rows": [asdict(row) for row in rows]}, indent=1) + "\n")
    return 1 if any(row.reached is False for row in rows) else 0


def _cells(row: Row) -> list[str]:
    return [row.what, f"{row.measured:,.2f} {row.unit}", row.wanted, row.verdict]


if __name__ == "__main__":
    sys.exit(main())
