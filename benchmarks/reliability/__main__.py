"""`python -m benchmarks.reliability`: kills part after part of a real cluster on this machine while tuples flow, and says what it did.

For each fault: how long until the flow was full again, the longest silence at the sinks, until all workers were there again, and
at the end whether anything is missing.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from benchmarks.machine import machine
from benchmarks.reliability.arrivals import Arrivals, back_after, longest_silence
from benchmarks.reliability.subject import NAME, WORKERS, Subject, kill, subject, wait_for
from benchmarks.report import table

_BEFORE_SECONDS, _AFTER_SECONDS, _MOST_SECONDS = 4.0, 3.0, 90.0
_AWAY_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Fault:
    """What is done, what is aimed at (seconds until the flow is full, and until all workers are there), what mends it after."""

    name: str
    do: Callable[[Subject], None]
    flow_aim: float
    strength_aim: float | None = None
    mend: Callable[[Subject], None] = lambda subject: None
    lasts: float = 0.0


FAULTS = (
    Fault("a worker process", lambda s: kill(s.worker()), 2.0, 5.0),
    Fault("the spout's worker process", lambda s: kill(s.worker(of_spout=True)), 2.0, 5.0),
    Fault("an executor's JVM", lambda s: kill(s.executors()[0]), 2.0, 10.0),
    Fault("a Spark worker with its executors", Subject.kill_node, 2.0, 10.0, lambda s: s.cluster.restart("spark-worker-1")),
    Fault("the topology's driver", lambda s: kill(s.driver()), 20.0),
    Fault("the leading master, another waiting", lambda s: s.cluster.kill("master"), 0.0, None, lambda s: s.cluster.restart("master")),
    Fault("the predictor", lambda s: s.cluster.kill("predictor"), 0.0, None, lambda s: s.cluster.restart("predictor")),
    Fault("ZooKeeper, for 10 s", lambda s: s.cluster.kill("zookeeper"), 0.0, None, lambda s: s.cluster.restart("zookeeper"), _AWAY_SECONDS),
)


@dataclass(frozen=True, slots=True)
class Observed:
    """One fault. None: not within the time."""

    fault: str
    flow_seconds: float | None
    flow_aim: float
    silence_seconds: float
    strength_seconds: float | None
    strength_aim: float | None


def observe(fault: Fault, under_test: Subject) -> Observed:
    """Do it, and watch until all is as before."""
    time.sleep(_BEFORE_SECONDS)
    under_test.wait_full()
    begin = time.time()
    fault.do(under_test)
    below, strong = False, None
    while time.time() - begin < _MOST_SECONDS:
        if fault.strength_aim is not None and strong is None:
            live = under_test.live_workers()
            below = below or live < WORKERS
            if live == WORKERS and (below or time.time() - begin > 2.0):
                strong = time.time() - begin
        else:
            time.sleep(0.05)
        under_test.arrivals.read()
        flow = back_after(under_test.arrivals.times(), begin, time.time() - 0.3, under_test.rate)
        waited = time.time() - begin
        done = flow is not None and waited > max(fault.lasts, flow) + _AFTER_SECONDS
        if done and (fault.strength_aim is None or strong is not None):
            break
    end = time.time() - 0.3
    fault.mend(under_test)
    under_test.wait_full()
    times = under_test.arrivals.times()
    flow = back_after(times, begin, end, under_test.rate)
    return Observed(fault.name, flow, fault.flow_aim, longest_silence(times, begin, end), strong, fault.strength_aim)


def change_replicas(under_test: Subject, count: int) -> str:
    """Set bolts to other numbers while tuples flow; how long until every worker routed by it, as its caller sees it."""
    draw, took = random.Random(1), []
    for _ in range(count):
        bolt, wanted = draw.choice(("step", "tally", "kept")), draw.randint(1, 8)
        begin = time.perf_counter()
        under_test.client.call(NAME, "scale", {"bolts": {bolt: wanted}}, 60.0)
        took.append(time.perf_counter() - begin)
    under_test.client.call(NAME, "scale", {"bolts": dict.fromkeys(("step", "tally", "kept"), "auto")}, 60.0)
    if not took:
        return "no changes of replicas"
    took.sort()
    p50, p99 = (1000 * took[min(len(took) - 1, int(len(took) * share))] for share in (0.5, 0.99))
    return (
        f"{len(took)} changes of replicas over HTTP while tuples flow: p50 {p50:.0f} ms, p99 {p99:.0f} ms, at most {1000 * took[-1]:.0f} ms"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 1 when something is missing at the sinks, or the flow did not come back."""
    parser = argparse.ArgumentParser("python -m benchmarks.reliability", description=__doc__)
    parser.add_argument("--rate", type=float, default=1000.0, help="events a second (default: 1000)")
    parser.add_argument("--only", help="some of the faults: words in their names, with commas between")
    parser.add_argument("--repeat", type=int, default=1, help="rounds over all faults")
    parser.add_argument("--spare", type=int, default=0, help="spare worker slots in each executor, beside its two")
    parser.add_argument("--changes", type=int, default=200, help="changes of a bolt's replicas before the faults (default: 200)")
    parser.add_argument("--json", type=Path, help="write what was observed to this file")
    wanted = parser.parse_args(arguments)
    words = wanted.only.split(",") if wanted.only else [""]
    faults = [fault for fault in FAULTS if any(word in fault.name for word in words)]
    observed: list[Observed] = []
    with tempfile.TemporaryDirectory(prefix="reliability-") as scratch, subject(Path(scratch), wanted.rate, _say) as under_test:
        options = {"spark.executor.cores": 2 + wanted.spare} if wanted.spare else {}
        under_test.submit(**options)
        changes = change_replicas(under_test, wanted.changes)
        if any("master" in fault.name for fault in faults):
            under_test.second_master()
        for _ in range(wanted.repeat):
            for fault in faults:
                _say(f"kills {fault.name}")
                observed.append(observe(fault, under_test))
                _say(json.dumps(asdict(observed[-1])))
        # after an outage of ZooKeeper it takes some seconds until a master leads again
        summary = wait_for(lambda: under_test.client.call(NAME, "kill", {"wait": 30.0}, 90.0), "the topology's end")
        under_test.arrivals.read()
        missing, arrivals = under_test.arrivals.missing(), under_test.arrivals
    show(observed, changes, arrivals, summary["left"])
    if wanted.json is not None:
        what = {"machine": machine(), "rate": wanted.rate, "rows": [asdict(row) for row in observed], "changes": changes}
        wanted.json.write_text(json.dumps({**what, "missing": len(missing), "duplicates": arrivals.duplicates}, indent=1) + "\n")
    return 1 if missing or any(row.flow_seconds is None for row in observed) else 0


def show(observed: Sequence[Observed], changes: str, arrivals: Arrivals, left: object) -> None:
    """Print a row for each fault, and what came."""
    heads = ["killed", "flow full after", "aim", "longest silence", "all workers after", "aim"]
    faults = dict.fromkeys(row.fault for row in observed)
    print(table("Reliability", heads, [_cells([row for row in observed if row.fault == fault]) for fault in faults]))
    print(f"\n{changes}")
    came = f"{len(arrivals.first):,} numbers, missing {len(arrivals.missing())}, duplicates {arrivals.duplicates:,}"
    print(f"\n{came}, left {left or 'nothing'}")


def _cells(rows: Sequence[Observed]) -> list[str]:
    first = rows[0]
    strong, aim = "-", "-"
    if first.strength_aim is not None:
        strong, aim = _seconds([row.strength_seconds for row in rows]), f"{first.strength_aim:g} s"
    flow, silence = _seconds([row.flow_seconds for row in rows]), _seconds([row.silence_seconds for row in rows])
    return [first.fault, flow, f"{first.flow_aim:g} s", silence, strong, aim]


def _seconds(values: Sequence[float | None]) -> str:
    """The median, and the range when there are several."""
    known = sorted(value for value in values if value is not None)
    if len(known) < len(values):
        return "not in time"
    middle = f"{median(known):.2f} s"
    return middle if len(known) == 1 else f"{middle} [{known[0]:.2f}-{known[-1]:.2f}]"


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
