"""Latency minute by minute, and in how many minutes a policy kept the one that it was told to keep. Pure; for virtual and live runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from benchmarks.elasticity.traces import Prepared, in_the_trace
from pasps.control.run_log import Sample
from pasps.metrics import Histogram

MINUTE = 60.0
SHARE = 0.95
"""Of what was done in a minute, so much is to be within the target: `latency_target` is of this percentile."""


def minutely(latencies: Iterable[tuple[float, Mapping[int, int]]], seconds: float) -> list[float]:
    """p95 of each whole minute of a trace of so many seconds; NaN where nothing was done.

    `latencies` are a running histogram's buckets by seconds since the trace began, in order. A minute ends with the first of them that
    is not earlier, so what was done counts in the minute in which it was done.
    """
    before = Histogram()
    found: list[float] = []
    for at, buckets in latencies:
        if MINUTE * (len(found) + 1) <= at <= seconds + 1.0:
            now = Histogram(buckets)
            before, spent = now, now.since(before)
            found.append(spent.quantile(SHARE))
    return found


def minutes_of(samples: Sequence[Sample], trace: Prepared) -> list[float]:
    """The same of a live run, whose trace began whenever it did."""
    whole = [sample for sample in samples if sample.complete]
    if not whole:
        return []
    return minutely(((at, sample.latency) for at, sample in zip(in_the_trace(whole, trace), whole, strict=True)), trace.seconds)


def minutes_kept(found: Sequence[float], with_all: Sequence[float], target: float) -> tuple[int, int]:
    """In how many minutes p95 was within `target`, of those in which it is with the whole pools."""
    carried = [p95 for p95, best in zip(found, with_all, strict=False) if best <= target]
    return sum(p95 <= target for p95 in carried), len(carried)
