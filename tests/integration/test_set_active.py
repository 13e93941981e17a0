"""Replicas are switched on and off while tuples flow, and nobody who reads the results can tell."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path

import pytest

from pasps import Grouping, LocalCluster, RunningTopology, Topology
from tests.integration.faulty_topologies import UntilEnough
from tests.integration.running import config, finish, rows, until
from tests.integration.topologies import KeyedCount, PassCount, SecondCount, WriteDown

BOLTS = {"first": 6, "aware": 5, "shuffled": 5, "second": 6}


class Elastic(Topology):
    """Keyed first, so that its order is the spout's; then load-aware and shuffle; then keyed again."""

    numbers = UntilEnough.spec()
    first = KeyedCount.spec(inputs={numbers: Grouping.fields("key")}, par=2, pool=6)
    aware = PassCount.spec(inputs=[first], par=2, pool=5)
    shuffled = PassCount.spec(inputs={aware: Grouping.SHUFFLE}, par=2, pool=5)
    second = SecondCount.spec(inputs={shuffled: Grouping.fields("key")}, par=2, pool=6)
    sink = WriteDown.spec(inputs={second: Grouping.GLOBAL})


class ParkedStayStill:
    """Fed with a snapshot after every change: what was parked and is parked has not executed anything in between."""

    def __init__(self) -> None:
        self._parked: dict[tuple[str, int], int] = {}
        self.seen = 0

    def look(self, running: RunningTopology) -> None:
        stats = running.stats()
        assert stats.complete
        now = {}
        for name, component in stats.components.items():
            for index, replica in component.replicas.items():
                if replica.state != "INACTIVE":
                    continue
                now[name, index] = replica.executed
                if (name, index) in self._parked:
                    assert replica.executed == self._parked[name, index], f"{name}[{index}] worked while it was parked"
                    self.seen += 1
        self._parked = now


def check_exact(directory: Path, total: int, keys: int) -> None:
    found = sorted(rows(directory))
    assert [row[0] for row in found] == list(range(total)), "lost or duplicated"
    by_key: dict[int, list[list[int]]] = defaultdict(list)
    for row in found:
        by_key[row[1]].append(row)
    for key, of_key in by_key.items():
        assert [row[2] for row in of_key] == list(range(1, len(of_key) + 1)), f"key {key}: its count is not continuous"
        assert [row[3] for row in of_key] == [-1, *(row[0] for row in of_key[:-1])], f"key {key}: out of order"
        assert sorted(row[4] for row in of_key) == list(range(1, len(of_key) + 1)), f"key {key}: its second count has gaps"
    assert len(by_key) == keys


@pytest.mark.parametrize("workers", [2, 3])
def test_fifty_changes_lose_and_double_nothing(tmp_path: Path, workers: int) -> None:
    draw, parked = random.Random(workers), ParkedStayStill()
    versions = [0]
    with LocalCluster(workers=workers) as cluster:
        running = cluster.submit(Elastic, config=config(tmp_path, total=10_000_000, keys=23, rate=10_000))
        for _ in range(50):
            bolt = draw.choice(list(BOLTS))
            count = draw.randint(1, BOLTS[bolt])
            versions.append(running.set_active(bolt, count))
            assert running.stats().components[bolt].active == count
            parked.look(running)
        assert versions == sorted(versions)
        until(lambda: running.stats().acked > 20_000, "tuples")
        (tmp_path / "enough").touch()
        ((total,),) = until(lambda: rows(tmp_path, "numbers"), "the end of input")
        finish(running)
        parked.look(running)
        stats = running.stats()
        assert running.errors == []
        running.kill()
    check_exact(tmp_path, total, 23)
    assert (stats.acked, stats.failed, stats.replayed, stats.pending) == (total, 0, 0, 0)
    for name in BOLTS:
        assert (stats.components[name].executed, stats.components[name].queued) == (total, 0), name
        assert stats.components[name].edges[0].received == total
    assert parked.seen > 50
