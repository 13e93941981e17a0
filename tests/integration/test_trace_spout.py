"""The trace spout in real workers: what becomes due is the trace's at every moment, whatever died before."""

from __future__ import annotations

import asyncio
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from pasps import Bolt, LocalCluster, RunningTopology, Stats, Topology, Tuple
from pasps.spouts import TraceSpout
from pasps.spouts.trace import Trace
from tests.integration.running import PATIENCE_SECONDS, config, finish, kill, rows, spout_worker, until, until_replaced
from tests.integration.topologies import WriteDown

pytestmark = pytest.mark.integration

ROWS = [200, 900, 100, 1200, 0, 700, 1500, 300, 0, 100]
STEP = 0.4
SLACK = 0.01
"""Seconds between the trace's clock, which is read twice when a worker begins, and this one."""

LEAST = 8
"""Samples of each part of a run."""

Sample = tuple[float, float, Stats]
"""Seconds since the epoch before and after, and what was told in between."""


class Numbered(TraceSpout):
    """What the bolts of these tests pass on."""

    outputs = ("n", "key")

    def values(self, number: int, due: float) -> tuple[int, int]:
        return number, int(due * 1e6)


class Wait(Bolt):
    """Carries two thousand a second at most, with four replicas, so that replays take a while."""

    outputs = ("n", "key")

    async def process(self, tup: Tuple) -> None:
        await asyncio.sleep(0.002)
        self.emit(tup.values)


class Replay(Topology):
    config = {"topology.max.spout.pending": 50}
    numbers = Numbered.spec()
    work = Wait.spec(inputs=[numbers], par=4)
    sink = WriteDown.spec(inputs=[work], par=2, pool=4)


def is_used(stats: Stats) -> bool:
    """Whether a controller would."""
    return stats.complete and stats.components["numbers"].knows_backlog


def sampled(running: RunningTopology, samples: list[Sample], seconds: float) -> None:
    """For so long at least, and as long as it takes to have some that are used."""
    began, used = time.monotonic(), 0
    while time.monotonic() < began + seconds or used < LEAST:
        before = time.time()
        stats = running.stats()
        samples.append((before, time.time(), stats))
        used += is_used(stats)
        assert time.monotonic() < began + PATIENCE_SECONDS, f"only {used} samples are complete: {stats}"
        time.sleep(0.02)


def checked(samples: list[Sample], began: float, trace: Trace) -> list[int]:
    """What became due in the samples that a controller would use, since the first one of the same life of the spout: what the trace has."""
    found = []
    lives: dict[int, tuple[float, float, int]] = {0: (began, began, 0)}
    for before, after, stats in samples:
        spout = stats.components["numbers"]
        if is_used(stats):
            earliest, latest, due = lives.setdefault(spout.restarts, (before, after, spout.due))
            low = trace.count(before - began - SLACK) - trace.count(latest - began + SLACK)
            high = trace.count(after - began + SLACK) - trace.count(earliest - began - SLACK)
            assert low <= spout.due - due <= high, f"{spout.due - due} became due, the trace has {low} to {high}: {spout}"
            found.append(spout.restarts)
    return found


def test_what_became_due_is_the_trace_s_while_its_worker_is_killed(tmp_path: Path) -> None:
    keys: dict[str, Any] = {"trace.rows": ROWS, "trace.step.seconds": STEP}
    samples: list[Sample] = []
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Replay, config=config(tmp_path, **keys))
        sampled(running, samples, 1.1)
        for _ in range(2):
            victim = spout_worker(running)
            kill(victim)
            sampled(running, samples, 0.5)
            until_replaced(running, victim)
            until(lambda: len(running.workers) == 2, "two workers")
        finish(running)
        sampled(running, samples, 0.1)
        stats = running.stats()
    lines = rows(tmp_path)
    trace = Trace(ROWS, Fraction(str(STEP)), Fraction(1))
    (due,) = {due for number, due in lines if number == 0}  # one time axis: a replay has the time of the first try
    found = checked(samples, due / 1e6 - trace.times([0])[0], trace)
    assert len(found) >= 4 * LEAST
    assert {0, 1, 2} >= {*found} > {0}
    assert {number for number, _ in lines} == set(range(sum(ROWS)))
    assert len(set(map(tuple, lines))) == sum(ROWS)
    assert stats.due == stats.emitted_first >= sum(ROWS)
    assert stats.pending == 0
    assert stats.components["numbers"].restarts in (1, 2), "a worker that was killed at once has told nothing of it"
    assert stats.components["numbers"].held_back > 0
    assert stats.latency.count == stats.complete_latency.count > 0
