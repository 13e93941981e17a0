"""`python -m benchmarks.soak`: does a topology of every kind of bolt keep the memory that it has, hour after hour?"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import psutil

from benchmarks.machine import machine
from benchmarks.report import table
from benchmarks.scenarios.nine_kinds import build
from pasps import LocalCluster
from pasps.errors import DrainTimeoutError

_MOST_PENDING = 2_000
_LEVEL_SECONDS = 60.0
"""Memory comes and goes with what is in flight: a level is the median of a minute."""
_GROWTH_MB = 5.0


@dataclass(frozen=True, slots=True)
class Sample:
    """One process at one moment; memory in MB. `own` is what no other process shares (USS); times count from the start."""

    seconds: float
    rss: float
    pss: float
    own: float
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class Growth:
    """RSS of one process: at the end of the warm-up, the highest level since, and the last one, in MB."""

    process: str
    before: float
    highest: float
    last: float
    own_before: float
    own_last: float
    cpu_share: float

    @property
    def grown(self) -> float:
        """How far it rose above where it was after the warm-up."""
        return self.highest - self.before


def sample(pid: int, start: float) -> Sample:
    """What the kernel knows of a process now.

    Raises:
        psutil.Error: it is gone.
    """
    process = psutil.Process(pid)
    memory, times = process.memory_full_info(), process.cpu_times()
    rss, pss, own = (size / (1 << 20) for size in (memory.rss, memory.pss, memory.uss))
    return Sample(time.monotonic() - start, rss, pss, own, times.user + times.system)


def growth(process: str, samples: Sequence[Sample], warm_up_seconds: float) -> Growth | None:
    """Levels, minute by minute after the warm-up; None before there is one."""
    minutes: dict[int, list[Sample]] = {}
    for seen in samples:
        if seen.seconds >= warm_up_seconds:
            minutes.setdefault(int((seen.seconds - warm_up_seconds) / _LEVEL_SECONDS), []).append(seen)
    levels = [median(seen.rss for seen in minute) for minute in minutes.values()]
    own = [median(seen.own for seen in minute) for minute in minutes.values()]
    if not levels:
        return None
    share = samples[-1].cpu_seconds / samples[-1].seconds
    return Growth(process, levels[0], max(levels), levels[-1], own[0], own[-1], share)


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 1 when a process grew by more than 5 MB after the warm-up, ended, or did not settle all that was emitted."""
    parser = argparse.ArgumentParser("python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--rate", type=float, default=500.0, help="events a second over all sources; 0: full speed (default: 500)")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--policy", help="who changes replicas meanwhile, for example pasps (default: nobody)")
    parser.add_argument("--warm-up", type=float, default=10.0, metavar="MINUTES", help="growth counts from here on (default: 10)")
    parser.add_argument("--every", type=float, default=5.0, metavar="SECONDS", help="between two samples (default: 5)")
    parser.add_argument("--json", type=Path, help="write all samples to this file; once a minute, too")
    wanted = parser.parse_args(arguments)
    if wanted.warm_up >= wanted.minutes:
        parser.error(f"--warm-up must be shorter than --minutes, got {wanted.warm_up:g} and {wanted.minutes:g}")
    os.environ.setdefault("PASPS_LOG", "CRITICAL")  # the workers would tell of every kind's failures, without end
    with LocalCluster(workers=wanted.workers) as cluster:
        config = {} if wanted.policy is None else {"pasps.policy": wanted.policy}
        running = cluster.submit(build(wanted.rate, wanted.workers, _MOST_PENDING), config=config)
        pids = {"controller": os.getpid()} | {worker.id: worker.pid for worker in running.workers}
        samples, ended = _watch(pids, wanted)
        try:
            stats = running.drain(60.0)
            left = ""
        except DrainTimeoutError as error:
            stats, left = running.stats(), str(error)
    emitted = stats.emitted_first
    print(f"{emitted:,} events, {stats.replayed:,} replayed, {stats.acked:,} acked, {stats.failed:,} failed")
    grown = [found for name, seen in samples.items() if (found := growth(name, seen, wanted.warm_up * 60)) is not None]
    heads = ["process", "RSS after warm-up", "highest", "at the end", "growth", "USS after warm-up", "at the end", "cores"]
    print(table(f"RSS in MB over {wanted.minutes:g} minutes at {wanted.rate:g} events/s", heads, list(map(_cells, grown))))
    problems = [f"{found.process} grew by {found.grown:.1f} MB" for found in grown if found.grown > _GROWTH_MB]
    problems += [*ended, *([left] if left else [])]
    if not left and stats.acked != emitted:
        problems.append(f"{emitted:,} events, {stats.acked:,} acked")
    if wanted.json is not None:
        counts = {"emitted": emitted, "replayed": stats.replayed, "acked": stats.acked, "failed": stats.failed}
        _write(wanted, samples, {"growth": [asdict(found) for found in grown], **counts, "problems": problems})
    print("\n" + ("NOT FLAT: " + "; ".join(problems) if problems else f"flat: every process within {_GROWTH_MB:g} MB after the warm-up"))
    return 1 if problems else 0


def _watch(pids: Mapping[str, int], wanted: argparse.Namespace) -> tuple[dict[str, list[Sample]], list[str]]:
    """Samples by process until the time is over; and which process ended before."""
    samples: dict[str, list[Sample]] = {name: [] for name in pids}
    start = time.monotonic()
    told, ended = start, list[str]()
    while time.monotonic() - start < wanted.minutes * 60 and not ended:
        time.sleep(wanted.every)
        for name, pid in pids.items():
            try:
                samples[name].append(sample(pid, start))
            except psutil.Error as error:
                ended.append(f"{name} (process {pid}) ended ({error})")
        if time.monotonic() - told >= _LEVEL_SECONDS:
            told += _LEVEL_SECONDS
            sizes = ", ".join(f"{name} {seen[-1].rss:.1f} (own {seen[-1].own:.1f})" for name, seen in samples.items())
            print(f"{(told - start) / 60:3.0f} min: {sizes} MB", file=sys.stderr, flush=True)
            if wanted.json is not None:
                _write(wanted, samples, {})
    return samples, ended


def _write(wanted: argparse.Namespace, samples: Mapping[str, list[Sample]], outcome: Mapping[str, object]) -> None:
    asked = {name: value for name, value in vars(wanted).items() if name != "json"}
    listed = {name: [[round(value, 3) for value in asdict(seen).values()] for seen in found] for name, found in samples.items()}
    columns = list(Sample.__annotations__)
    what = {"machine": machine(), "asked": asked, **outcome, "columns": columns, "samples": listed}
    wanted.json.write_text(json.dumps(what) + "\n")


def _cells(found: Growth) -> list[str]:
    sizes = (found.before, found.highest, found.last, found.grown, found.own_before, found.own_last)
    return [found.process, *(f"{size:.1f}" for size in sizes), f"{found.cpu_share:.2f}"]


if __name__ == "__main__":
    sys.exit(main())
