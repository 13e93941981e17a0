"""`python -m benchmarks.restart`: what a change of replicas costs when all workers are started anew for it, beside the pool.

The change that was measured on a real Storm: a bolt from two replicas to four under a steady load, on this machine.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.machine import machine
from benchmarks.scenarios.restarting import LATE_SECONDS, Measured, Way, measure

STORM_WAIT = 30.0
"""Seconds: Storm's own wait is the message time-out."""
_HEAD = ("change", "done after s", "waited s", "without workers s", "longest silence s", "worst latency s", "late", "lost", "twice")


def ways(wait: float, silence: float) -> list[Way]:
    """What is compared: the pool, and restarts without and with Storm's wait, tracked and not."""
    return [
        Way("pool"),
        Way("restart, wait 0", 0.0, silence),
        Way(f"restart, wait {wait:g}", wait, silence),
        Way("pool, untracked", tracked=False),
        Way("restart, wait 0, untracked", 0.0, silence, tracked=False),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; exit code 1 when something that is tracked was lost, or anything by the pool."""
    parser = argparse.ArgumentParser("python -m benchmarks.restart", description=__doc__)
    parser.add_argument("--rate", type=int, default=1000, help="events per second")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--wait", type=float, default=STORM_WAIT, help="seconds before the workers end, beside 0 (default: Storm's, 30)")
    parser.add_argument("--silence", type=float, default=0.0, help="at least so many seconds without workers (default: as it takes)")
    parser.add_argument("--repeat", type=int, default=3, help="rounds, each through all ways")
    parser.add_argument("--quick", action="store_true", help="does it run? one round, a wait of 2 s")
    parser.add_argument("--json", type=Path, help="write everything measured to this file")
    wanted = parser.parse_args(arguments)
    compared = ways(2.0 if wanted.quick else wanted.wait, wanted.silence)
    found = []
    for _ in range(1 if wanted.quick else wanted.repeat):
        for way in compared:
            with tempfile.TemporaryDirectory(prefix="bench-") as directory:
                found.append(measure(way, wanted.rate, wanted.workers, Path(directory)))
            print(f"{way.name}: {found[-1].longest_silence:.3f} s", file=sys.stderr, flush=True)
    print(table(found))
    if wanted.json:
        wanted.json.write_text(json.dumps({"machine": machine(), "changes": [as_json(one) for one in found]}, indent=1) + "\n")
    return 1 if any(one.lost for one in found if one.way.tracked or one.way.wait is None) else 0


def table(found: Sequence[Measured]) -> str:
    """A line for each way; of several rounds the least and the most."""
    lines = [f"| {' | '.join(_HEAD)} |", f"|{' --- |' * len(_HEAD)}"]
    for way in dict.fromkeys(one.way for one in found):
        of_way = [one for one in found if one.way == way]
        waited = [0.0 if one.took is None else one.took.waited for one in of_way]
        silent = [0.0 if one.took is None else one.took.silent for one in of_way]
        seconds = [[one.returned for one in of_way], waited, silent]
        seconds += [[one.longest_silence for one in of_way], [one.worst_latency for one in of_way]]
        counts = [[one.late for one in of_way], [one.lost for one in of_way], [one.twice for one in of_way]]
        cells = [_span(numbers, "{:.3f}") for numbers in seconds] + [_span(numbers, "{:,}") for numbers in counts]
        lines.append(f"| {' | '.join([way.name, *cells])} |")
    return "\n".join([*lines, "", f"late: events that came more than {1000 * LATE_SECONDS:g} ms after they were due"])


def _span(numbers: Sequence[float], shape: str) -> str:
    least, most = shape.format(min(numbers)), shape.format(max(numbers))
    return least if least == most else f"{least} to {most}"


def as_json(one: Measured) -> Mapping[str, Any]:
    """One change as JSON has it."""
    return asdict(one)


if __name__ == "__main__":
    sys.exit(main())
