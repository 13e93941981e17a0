"""`python -m benchmarks.control_cost`: what control costs, in per cent of a core: of the master, and of all workers together.

Bolts in a line that wait on threads, so that the workers have hardly anything else to do; each pace of corrections in a run of its
own, beside one in which nobody decides. What a pace costs is the difference to that one.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from benchmarks.machine import machine
from benchmarks.report import table
from pasps import Bolt, LocalCluster, TopologyBuilder, Tuple
from pasps.api.blueprint import Blueprint
from pasps.control.settings import ElasticSettings
from pasps.spouts import TraceSpout
from pasps.topology.elastic import ElasticConfig

AIM_PERCENT = 1.0
_SETTLE_SECONDS = 3.0
_TRACE_SECONDS = 3600
OFF = "off"


class Waiting(Bolt):
    """Stands for a call to a service."""

    outputs = ("id",)

    async def process(self, tup: Tuple) -> None:
        """Wait, and pass it on."""
        await asyncio.sleep(0.02)
        self.emit([tup.values[0]])


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU of one run, in per cent of a core, and how many decisions and tables there were."""

    pace: str
    master: float
    workers: float
    decisions: int
    tables: int


def topology(bolts: int, pool: int, rate: int) -> Blueprint:
    """A line of them; the rate goes up and down, so that there is something to decide."""
    rows = [rate if second % 20 < 10 else 2 * rate for second in range(_TRACE_SECONDS)]
    builder = TopologyBuilder()
    builder.set_spout("trace", TraceSpout, config={"trace.rows": rows, "trace.step.seconds": 1})
    before = "trace"
    for number in range(bolts):
        name = f"bolt{number}"
        builder.set_bolt(name, Waiting, 4, pool=pool).shuffle_grouping(before)
        before = name
    return builder.create_topology("control-cost")


def measured(pace: str, options: argparse.Namespace) -> Cost:
    """One run."""
    conf: dict[str, Any] = {"pasps.predictor": "none"}
    if pace != OFF:
        conf |= {"pasps.correction.secs": float(pace), "pasps.interval.secs": 30}
    decisions: list[bytes] = []
    control = None if pace == OFF else ElasticConfig(ElasticSettings.from_config(conf), options.policy, decisions=decisions.append)
    with LocalCluster(workers=options.workers) as cluster:
        running = cluster.submit(topology(options.bolts, options.pool, options.rate), config=conf, control=control)
        processes = {worker.id: psutil.Process(worker.pid) for worker in running.workers}
        time.sleep(_SETTLE_SECONDS)
        own, theirs, began = time.process_time(), _used(processes), time.monotonic()
        time.sleep(options.seconds)
        seconds = time.monotonic() - began
        master, workers = time.process_time() - own, _used(processes) - theirs
        tables = running.stats().table_version
        running.kill()
    return Cost(pace, 100 * master / seconds, 100 * workers / seconds, len(decisions), tables)


def _used(processes: Mapping[str, psutil.Process]) -> float:
    times = [process.cpu_times() for process in processes.values()]
    return sum(time.user + time.system for time in times)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; exit code 1 when the fastest pace costs more than the aim."""
    options = _parser().parse_args(arguments)
    costs: dict[str, list[Cost]] = {pace: [] for pace in [OFF, *options.pace]}
    for _ in range(options.repeats):
        for pace, found in costs.items():  # in turn, so that what changes on the machine meets all of them
            found.append(measured(pace, options))
            print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    off = [median(getattr(cost, part) for cost in costs[OFF]) for part in ("master", "workers")]
    rows, dearest = [], 0.0
    for pace, found in costs.items():
        parts = [median(getattr(cost, part) for cost in found) for part in ("master", "workers")]
        more = sum(parts) - sum(off)
        dearest = max(dearest, more)
        shown = [f"{part:.2f}" for part in parts] + ["" if pace == OFF else f"{more:.2f}"]
        rows.append([pace, *shown, f"{median(cost.decisions for cost in found):g}", f"{median(cost.tables for cost in found):g}"])
    heads = ["corrections each s", "master %", "workers %", "control costs %", "records", "tables"]
    title = f"{options.bolts} bolts, pools of {options.pool}, {options.workers} workers: CPU in per cent of one core"
    print(table(title, heads, rows))
    if options.json:
        found_all = [asdict(cost) for found in costs.values() for cost in found]
        options.json.write_text(json.dumps({"machine": machine(), "costs": found_all}, indent=1) + "\n")
    return 0 if dearest <= AIM_PERCENT else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m benchmarks.control_cost", description=__doc__)
    add = parser.add_argument
    add("--bolts", type=int, default=10)
    add("--pool", type=int, default=8)
    add("--workers", type=int, default=4)
    add("--rate", type=int, default=20, help="events a second at the lower of two levels")
    add("--policy", default="pasps")
    add("--pace", type=lambda text: text.split(","), default=["1", "0.25"], metavar="S,S", help="seconds between corrections")
    add("--seconds", type=float, default=20.0, help="how long each run is looked at")
    add("--repeats", type=int, default=3)
    add("--json", type=Path, help="write everything measured to this file")
    return parser


if __name__ == "__main__":
    sys.exit(main())
