"""Runs one subject as a child process, samples its process tree, and reads the records it leaves: the same for all subjects."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.options import Options, set_records_directory
from benchmarks.process_tree import TreeSampler, highest, idle_percent, value_at
from benchmarks.records import SinkRecord, SourceRecord, read
from benchmarks.workloads import expected_classes

ROOT = Path(__file__).resolve().parent.parent

_SAMPLE_SECONDS = 0.25
_PSS_EVERY = 4
_GRACE_SECONDS = 60.0
_WARM_UP = 0.2
_LATENCY_WARM_UP = 0.25


@dataclass(frozen=True, slots=True)
class Measurement:
    """One run of one subject. Throughput and CPU are over the last 80% of the time between first and last event at the sink;
    latencies are of events due after the first quarter of it; `exact` says whether the sinks saw just what was emitted."""

    received: int
    emitted: int
    exact: bool
    events_per_second: float = 0.0
    cpu_seconds_per_million: float = 0.0
    cores_used: float = 0.0
    p50_ms: float | None = None
    p99_ms: float | None = None
    rss_mb: float | None = None
    pss_mb: float | None = None
    start_seconds: float = 0.0
    run_seconds: float = 0.0
    processes: int = 0
    idle_before: float = 0.0
    exit_code: int | None = None
    problem: str = ""


def measure(command: Sequence[str], options: Options, *, quiet_wait: float = 30.0) -> Measurement:
    """Run `command` to its end, one measurement at a time on this machine; waits up to `quiet_wait` seconds for it to be idle."""
    idle = _wait_until_quiet(quiet_wait)
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        directory = Path(name)
        environment = dict(os.environ)
        options.export(environment)
        set_records_directory(directory, environment)
        with (directory / "log").open("wb") as log:
            began = time.monotonic()
            child = subprocess.Popen(
                [*command, *options.arguments()], cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )
            sampler, exit_code, left = _watch(child, options.seconds + _GRACE_SECONDS)
        sinks, sources = read(SinkRecord, directory), read(SourceRecord, directory)
        problem = _problem(exit_code, left, sinks, (directory / "log").read_text(errors="replace"))
    return _evaluate(options, sinks, sources, sampler, began, idle, exit_code, problem)


def _wait_until_quiet(seconds: float) -> float:
    deadline = time.monotonic() + seconds
    while (idle := idle_percent(1.0 if seconds else 0.1)) < 90.0 and time.monotonic() < deadline:
        pass
    return idle


def _watch(child: subprocess.Popen[bytes], timeout: float) -> tuple[TreeSampler, int | None, int]:
    sampler, deadline, turn = TreeSampler(child.pid), time.monotonic() + timeout, 0
    exit_code = None
    while exit_code is None and time.monotonic() < deadline:
        try:
            exit_code = child.wait(_SAMPLE_SECONDS)
        except subprocess.TimeoutExpired:
            sampler.sample(with_pss=turn % _PSS_EVERY == _PSS_EVERY - 1)
            turn += 1
    left = sampler.kill_leftovers()
    child.wait(5)
    return sampler, exit_code, left


def _problem(exit_code: int | None, left: int, sinks: list[SinkRecord], log: str) -> str:
    tail = " | ".join(log.strip().splitlines()[-4:])
    if exit_code is None:
        return f"did not end in time: {tail}"
    if exit_code:
        return f"exit code {exit_code}: {tail}"
    if not sinks:
        return f"no sink saw an event: {tail}"
    return f"left {left} processes behind" if left else ""


def _evaluate(
    options: Options,
    sinks: list[SinkRecord],
    sources: list[SourceRecord],
    sampler: TreeSampler,
    began: float,
    idle: float,
    exit_code: int | None,
    problem: str,
) -> Measurement:
    received, emitted = sum(sink.received for sink in sinks), sum(source.emitted for source in sources)
    exact = received == emitted > 0 and (options.workload not in ("w2", "w3") or _classes_match(options.workload, sinks, sources))
    if not sinks:
        return Measurement(received, emitted, exact, idle_before=round(idle, 1), exit_code=exit_code, problem=problem)
    first, last = min(sink.first for sink in sinks), max(sink.last for sink in sinks)
    warm = first + _WARM_UP * (last - first)
    counted = received - sum(_received_by(sink, warm) for sink in sinks)
    seconds = max(last - warm, 1e-9)
    # what a process used after the last look at it is not known once it has ended
    looked = max(min(last, sampler.whole_until), warm + 1e-9)
    cores = (value_at(sampler.cpu_seconds, looked) - value_at(sampler.cpu_seconds, warm)) / (looked - warm)
    p50, p99 = _latencies(sinks, first + _LATENCY_WARM_UP * (last - first)) if options.rate else (None, None)
    return Measurement(
        received=received,
        emitted=emitted,
        exact=exact,
        events_per_second=round(counted / seconds, 1),
        cpu_seconds_per_million=round(cores * seconds / max(counted, 1.0) * 1e6, 3),
        cores_used=round(cores, 3),
        p50_ms=p50,
        p99_ms=p99,
        rss_mb=_megabytes(highest(sampler.rss_bytes, first, last)),
        pss_mb=_megabytes(highest(sampler.pss_bytes, first, last)),
        start_seconds=round(first - began, 3),
        run_seconds=round(last - first, 2),
        processes=sampler.most_processes,
        idle_before=round(idle, 1),
        exit_code=exit_code,
        problem=problem or ("" if exact else f"emitted {emitted}, received {received}, or classes differ"),
    )


def _received_by(sink: SinkRecord, moment: float) -> float:
    return value_at([*sink.marks, (sink.last, sink.received)], moment) if sink.first <= moment else 0.0


def _classes_match(workload: str, sinks: list[SinkRecord], sources: list[SourceRecord]) -> bool:
    counted, expected = Counter[int](), Counter[int]()
    for sink in sinks:
        found = Counter({int(user_class): count for user_class, count in sink.classes.items()})
        # W2's sinks have counted a part of each class, W3's have seen a part of its counts
        counted = counted + found if workload == "w2" else counted | found
    for source in sources:
        expected.update(expected_classes(source.part, source.parts, source.emitted))
    return counted == expected


def _latencies(sinks: list[SinkRecord], after: float) -> tuple[float | None, float | None]:
    latencies = sorted(arrived - due for sink in sinks for due, arrived in sink.samples if due >= after)
    return _percentile_ms(latencies, 0.50), _percentile_ms(latencies, 0.99)


def _percentile_ms(ordered: list[float], share: float) -> float | None:
    return round(ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1e3, 3) if ordered else None


def _megabytes(size: float | None) -> float | None:
    return None if size is None else round(size / 2**20, 1)
