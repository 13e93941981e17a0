"""`python -m benchmarks.execution_times`: what `pasps et` measures, beside what the live runtime measures at low load.

A process is faster or slower than another of the same code for all of its life, by chance. So of each subject several passes of
`pasps et` and as many live workers are measured, in turn, and the means over all of them are compared.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.execution_time_subjects.bolts import SUBJECTS, Numbers, Sink
from benchmarks.machine import machine
from pasps import Blueprint, LocalCluster, TopologyBuilder
from pasps.api.blueprint import ComponentPlan
from pasps.cli.words import seconds_text, table
from pasps.clock import SystemClock
from pasps.data.et_benchmark import Plan, Watcher, benchmark
from pasps.data.et_pass import Pace
from pasps.data.et_sample import Limits, take_sample
from pasps.data.et_spark import CONF, Here, SparkPasses
from pasps.data.spark import spark_session
from pasps.metrics import ComponentStats

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_AIM = 0.1
_NO_AIM = frozenset({"skewed"})
"""Here et is not near the mean, by its definition."""
_WARM_UP = 50
"""First events of each process that do not count."""
_LIMIT_SECONDS = 60.0
_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Size:
    """Of each subject so many processes, by `pasps et` and live, with so many events each that count."""

    processes: int
    events: int
    events_per_second: float


@dataclass(frozen=True, slots=True)
class Seen:
    """One subject, in seconds of one event: what each pass of `pasps et` found, and each live worker."""

    subject: str
    et: tuple[float, ...]
    live: tuple[float, ...]
    varies: float | None

    @property
    def ratio(self) -> float:
        """The mean of the passes as a part of that of the workers."""
        return statistics.fmean(self.et) / statistics.fmean(self.live)

    @property
    def error(self) -> float | None:
        """The standard error of the ratio, from how far processes lie apart; None: there is only one of a kind."""
        if min(len(self.et), len(self.live)) < 2:
            return None
        parts = (statistics.stdev(each) / statistics.fmean(each) / math.sqrt(len(each)) for each in (self.et, self.live))
        return self.ratio * math.hypot(*parts)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; a missed aim is shown, and does not change the exit code."""
    parser = argparse.ArgumentParser("python -m benchmarks.execution_times", description=__doc__)
    parser.add_argument("--processes", type=int, default=10, help="of each subject, by `pasps et` and live (default: 10)")
    parser.add_argument("--events", type=int, default=100, help="that count, of each process (default: 100)")
    parser.add_argument("--rate", type=float, default=100.0, help="events per second, in both (default: 100)")
    parser.add_argument("--subjects", nargs="*", choices=[*SUBJECTS], default=[*SUBJECTS], help="only these")
    parser.add_argument("--json", type=Path, help="write everything measured to this file")
    wanted = parser.parse_args(arguments)
    size = Size(wanted.processes, wanted.events, wanted.rate)
    seen: list[Seen] = []
    with spark_session("execution times", "local[*]", CONF) as session:
        for name in wanted.subjects:
            began = time.monotonic()
            seen.append(both(name, size, session))
            print(f"{seen[-1]} in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    print("\n".join(lines(seen)))
    if wanted.json:
        found = {"machine": machine(), "size": asdict(size), "seen": [asdict(each) for each in seen]}
        wanted.json.write_text(json.dumps(found, indent=1) + "\n")
    return 0


def topology(subject: str, events: int, seconds: float) -> Blueprint:
    """The subject alone, with `events` in so many seconds."""
    builder = TopologyBuilder()
    builder.set_spout("numbers", Numbers, 1)
    builder.set_bolt(subject, SUBJECTS[subject], 1).load_aware_grouping("numbers")
    builder.set_bolt("sink", Sink, 1).load_aware_grouping(subject)
    return builder.create_topology(f"times-of-{subject}", {"trace.rows": [events], "trace.step.seconds": seconds})


class _Between(Watcher):
    """After each pass a live worker: a machine is not as fast all the time."""

    def __init__(self, measure: Callable[[], float]) -> None:
        self.found: list[float] = []
        self._measure = measure

    def passed(self, plan: ComponentPlan, number: int) -> None:
        """See `Watcher`."""
        self.found.append(self._measure())


def both(subject: str, size: Size, session: SparkSession) -> Seen:
    """Passes as `pasps et` makes them, and live workers, in turn."""
    total = size.events + _WARM_UP
    blueprint = topology(subject, total, 1.0)
    sample = take_sample(blueprint, {}, Limits(total, _LIMIT_SECONDS), SystemClock(), threading.Event().wait)
    pace = Pace(size.events_per_second, _LIMIT_SECONDS)
    plan = Plan(total, size.processes, _WARM_UP, pace, frozenset({"sink"}))
    between = _Between(lambda: live(subject, size))
    measured = benchmark(blueprint, sample, plan, SparkPasses(session, Here(tuple(sys.path))), between)[0]
    if measured.summary is None:
        raise RuntimeError(f"{subject}: {measured.reason}: {measured.error}")
    return Seen(subject, measured.summary.of_passes, tuple(between.found), measured.summary.varies)


def live(subject: str, size: Size) -> float:
    """The mean that the meters of a running topology have, without the first events."""
    total = size.events + _WARM_UP
    seconds = total / size.events_per_second
    with LocalCluster(workers=1) as cluster:
        running = cluster.submit(topology(subject, total, seconds))
        while (first := running.stats().components[subject]).executed < _WARM_UP:
            time.sleep(_POLL_SECONDS)
        if not running.wait_finished(10 * seconds):
            raise RuntimeError(f"{subject} is not finished after ten times as long as it should take")
        last = running.stats().components[subject]
    return (_seconds(last) - _seconds(first)) / (last.executed - first.executed)


def _seconds(stats: ComponentStats) -> float:
    return stats.execute_seconds * stats.executed


def lines(seen: Sequence[Seen]) -> list[str]:
    """The table, with the smallest and the largest of each kind, and what is aimed at."""
    rows = []
    for each in seen:
        error = "" if each.error is None else f" ± {each.error:.2f}"
        verdict = "" if each.subject in _NO_AIM else "yes" if abs(each.ratio - 1) <= _AIM else "NO"
        varies = "-" if each.varies is None else f"{each.varies:.0%}"
        rows.append((each.subject, _spread(each.et), _spread(each.live), f"{each.ratio:.2f}{error}", varies, verdict))
    head = ("bolt", "et", "live", "et / live", "varies", f"within {_AIM:.0%}")
    aim = (
        f"aim: et / live within {_AIM:.0%} of 1; ± is its standard error, and in brackets are the smallest and the largest of all processes"
    )
    return [*table(head, rows), aim]


def _spread(seconds: Sequence[float]) -> str:
    return f"{seconds_text(statistics.fmean(seconds))} [{seconds_text(min(seconds))} to {seconds_text(max(seconds))}]"


if __name__ == "__main__":
    sys.exit(main())
