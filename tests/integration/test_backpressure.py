"""A slow bolt slows its spout and nothing else; what waits in between stays bounded by the configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from pasps import LocalCluster, Stats, Topology
from tests.integration.flow_topologies import SlowChain, SlowDiamond, SlowFan, TwoPaths
from tests.integration.running import config, until

BUFFER = 128
BATCH = 64
SPOUT_STEP = 600
"""A spout's step ends after the call that brought it to 512 tuples; `Endless` emits a hundred in each."""


def waiting(stats: Stats, component: str) -> int:
    """Tuples before a component: in its inboxes, on the way, and without credit at their senders."""
    return stats.components[component].queued


def bound(topology: type[Topology], component: str, growth: int) -> int:
    """All inboxes full, and every sender has one step's output parked."""
    plans = topology.blueprint().components
    plan = plans[component]
    senders = sum(plans[edge.source].par for edge in plan.inputs)
    return plan.par * BUFFER + senders * max(SPOUT_STEP, BATCH * growth)


@pytest.mark.parametrize("tracked", [True, False], ids=["tracked", "untracked"])
@pytest.mark.parametrize(
    ("topology", "slow", "growth"),
    [(SlowChain, "slow", 1), (SlowDiamond, "right", 1), (SlowFan, "slow", 1000)],
    ids=["chain", "diamond", "fan"],
)
def test_what_waits_is_bounded(tmp_path: Path, topology: type[Topology], slow: str, growth: int, tracked: bool) -> None:
    keys = config(tmp_path, tracked=tracked) | {
        "topology.executor.receive.buffer.size": BUFFER,
        "topology.producer.batch.size": BATCH,
    }
    most: dict[str, int] = {}
    bolts = [name for name, plan in topology.blueprint().components.items() if not plan.is_spout]
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(topology, config=keys)

        def enough() -> bool:
            stats = running.stats()
            for name in bolts:
                most[name] = max(most.get(name, 0), waiting(stats, name))
                assert waiting(stats, name) <= bound(topology, name, growth if name == slow else 1), f"{name}: {stats}"
                for replica in stats.components[name].replicas.values():
                    assert replica.queued <= BUFFER + BATCH, f"{name}[{replica.replica}]: {replica}"
            return stats.components[slow].executed > 2500

        until(enough, lambda: f"the slow bolt to go on: {running.stats()}")
        before = running.stats()
        until(lambda: running.stats().components[slow].executed > before.components[slow].executed + 300, "it to go on still")
        assert most[slow] >= BUFFER // 2, "nothing waited: no pressure was shown"
        if growth == 1:  # else it would take minutes: a thousand milliseconds for each of hundreds of tuples
            running.drain(30)


def test_another_path_is_not_slowed(tmp_path: Path) -> None:
    total = 200_000
    keys = config(tmp_path, total=total, tracked=True) | {"topology.executor.receive.buffer.size": BUFFER}
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(TwoPaths, config=keys)
        until(lambda: running.stats().components["sink"].acked == total, lambda: f"the swift path to end: {running.stats()}")
        stuck = running.stats().components["stuck"]
        assert 0 < stuck.executed < total // 4, "the slow path was not slow"
        # two workers' cuts are not of the same instant: what was executed between them looks queued, now and then
        assert min(running.stats().components["stuck"].queued for _ in range(10)) <= BUFFER + SPOUT_STEP
