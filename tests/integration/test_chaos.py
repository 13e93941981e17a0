"""Everything at once: changes, kills, stops and broken connections at random, on all ways to run a bolt."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from pasps import LocalCluster
from tests.integration.flow_topologies import Everything
from tests.integration.running import config, finish, kill, rows, until, written

TOTAL = 8000
POOLS = {"cuts": 3, "thread": 6, "keyed": 6, "awaits": 4, "sink": 3}


@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_is_missing_after_everything(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    cuts = [draw.randrange(TOTAL) for _ in range(4)]
    with LocalCluster(workers=3) as cluster:
        running = cluster.submit(Everything, config=config(tmp_path, total=TOTAL, rate=1000, cut_at=cuts))
        for step in range(24):
            until(lambda step=step: written(tmp_path) >= step * 400, lambda: f"the flow to go on: {running.stats()}")  # type: ignore[misc]
            bolt = draw.choice(list(POOLS))
            count = draw.randint(1, POOLS[bolt])
            running.set_active(bolt, count)
            assert running.stats().components[bolt].active == count
            if step % 5 == 4:
                kill(draw.choice(running.workers))
        finish(running)
        until(lambda: len(running.workers) == 3, "three workers")
        stats = running.stats()
        assert stats.pending == 0
        assert running.errors == []
        for bolt, pool in POOLS.items():
            running.set_active(bolt, pool)
        running.drain(20)
    found = {(row[0], row[1]) for row in rows(tmp_path)}
    assert found == {(n, n % 13) for n in range(TOTAL)}
