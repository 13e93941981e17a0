"""The line in virtual time: exact, and under the real loop."""

from __future__ import annotations

import asyncio

import pytest

from benchmarks.elasticity.rehearsal import Try, linear, rehearse
from benchmarks.elasticity.traces import Prepared
from benchmarks.elasticity.virtual_line import Stage, VirtualLine
from pasps.control.situation import PolicySettings

BURST = Prepared("burst", 0, 1.0, 1.0, (*[20] * 10, *[150] * 5, *[20] * 10))


def tried(policy: str, settings: PolicySettings, prepared: Prepared = BURST) -> Try:
    return asyncio.run(rehearse(Try(policy, "basic", settings), prepared, wait_seconds=0.05))


def test_an_event_goes_to_the_replica_that_is_free_first() -> None:
    stage = Stage(pool=3, wait_seconds=1.0, active=2)
    assert stage.run([(0.0, 0.0), (0.1, 0.1), (0.2, 0.2)], until=5.0) == [(1.0, 0.0), (1.1, 0.1), (2.0, 0.2)]
    assert stage.free[2] == 0.0


def test_a_deactivated_replica_finishes_what_it_has() -> None:
    stage = Stage(pool=2, wait_seconds=1.0, active=2)
    assert stage.run([(0.0, 0.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0)], until=0.5) == []
    stage.active = 1
    assert (stage.draining(0.5), stage.draining(2.0)) == (1, 0)
    assert stage.run([(0.6, 0.6)], until=9.0)[-1] == (3.0, 0.6)
    assert (stage.received, stage.executed) == (5, 5)


def test_every_event_comes_out_once_and_an_idle_line_takes_its_waiting_alone() -> None:
    line = VirtualLine(Prepared("t", 0, 0.5, 1.0, (3, 0, 4)), wait_seconds=0.02)
    for step in range(6):
        line.run(step * 0.5)
    assert line.done
    assert line.latencies == pytest.approx([0.08] * 7)


def test_a_snapshot_counts_what_is_under_way() -> None:
    line = VirtualLine(Prepared("t", 0, 1.0, 1.0, (10,)), wait_seconds=1.0, active=1)
    line.run(1.0)
    stats = line.stats(1.0)
    assert (stats.due, stats.acked) == (10, 0)
    assert stats.components["bolt1"].queued == 10


def test_static_replicas_stay() -> None:
    found = tried("static", PolicySettings(interval_seconds=5, static_replicas=8))
    assert found.saved == pytest.approx(0.0, abs=0.05)
    assert found.share == 1.0


@pytest.mark.parametrize("policy", ["presps", "pa-sps", "pasps"])
def test_the_real_policies_follow_the_burst_and_process_everything(policy: str) -> None:
    found = tried(policy, PolicySettings(interval_seconds=5))
    assert found.share == 1.0
    assert found.changes > 8
    assert 0.3 < found.saved < 0.9


def test_a_rehearsal_repeats() -> None:
    settings = PolicySettings(interval_seconds=5, target_utilisation=0.9)
    assert tried("pasps", settings) == tried("pasps", settings)


def test_the_line_through_samples_goes_on_and_not_below_zero() -> None:
    assert linear([1, 2, 3, 4], 3) == pytest.approx((5, 6, 7))
    assert linear([4, 3, 2, 1], 3) == pytest.approx((0, 0, 0))
