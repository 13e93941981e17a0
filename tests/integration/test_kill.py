"""SIGKILL and SIGSTOP of workers at any moment: everything arrives at least once, and the worker is back.

The message time-out is 300 s, so only the fence that follows a loss can have failed what was in flight.
"""

from __future__ import annotations

import random
import signal
from pathlib import Path

import pytest

from pasps import LocalCluster, RunningTopology, Stats
from tests.integration.running import config, finish, kill, rows, spout_worker, until, until_replaced, worker, written
from tests.integration.topologies import Chain

TOTAL = 20_000


def flowing(running: RunningTopology, directory: Path, lines: int) -> None:
    """Wait until so many lines are at the sink."""
    until(lambda: written(directory) >= lines, lambda: f"{lines} lines at the sink; there are {written(directory)}: {running.stats()}")


def check_complete(running: RunningTopology, directory: Path, total: int = TOTAL) -> Stats:
    """Everything is at the sink, and every tracked tuple is settled."""
    finish(running)
    stats = until(lambda: s if (s := running.stats()).complete else None, "a snapshot of all workers; one may have just come back")
    missing = set(range(total)) - {row[0] for row in rows(directory)}
    assert not missing, f"{len(missing)} missing, for example {sorted(missing)[:5]}"
    assert stats.pending == 0
    assert {name: component.queued for name, component in stats.components.items() if component.queued} == {}
    return stats


@pytest.mark.parametrize("whose", ["spout", "other"])
def test_a_killed_worker_loses_nothing(tmp_path: Path, whose: str) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Chain, config=config(tmp_path, total=TOTAL, rate=8000))
        flowing(running, tmp_path, 3000)
        host = spout_worker(running)
        victim = host if whose == "spout" else next(info for info in running.workers if info.id != host.id)
        active = {name: component.active for name, component in running.stats().components.items()}
        kill(victim)
        until_replaced(running, victim)
        stats = check_complete(running, tmp_path)
        assert {name: component.active for name, component in stats.components.items()} == active
        if whose == "other":
            assert stats.failed > 0, "what was in flight was not failed"
            assert stats.emitted_first == TOTAL
            assert stats.replayed == stats.failed
        running.kill()


def test_the_only_worker_is_killed(tmp_path: Path) -> None:
    with LocalCluster(workers=1) as cluster:
        running = cluster.submit(Chain, config=config(tmp_path, total=TOTAL, rate=8000))
        flowing(running, tmp_path, 3000)
        victim = running.workers[0]
        kill(victim)
        until_replaced(running, victim)
        check_complete(running, tmp_path)


def test_two_of_three_are_killed_one_right_after_the_other(tmp_path: Path) -> None:
    with LocalCluster(workers=3) as cluster:
        running = cluster.submit(Chain, config=config(tmp_path, total=TOTAL, rate=8000))
        flowing(running, tmp_path, 3000)
        victims = [spout_worker(running), *[info for info in running.workers if info.id != spout_worker(running).id]][:2]
        for victim in victims:
            kill(victim)
        for victim in victims:
            until_replaced(running, victim)
        check_complete(running, tmp_path)


def test_all_workers_are_killed_at_once(tmp_path: Path) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Chain, config=config(tmp_path, total=TOTAL, rate=8000))
        flowing(running, tmp_path, 3000)
        victims = running.workers
        for victim in victims:
            kill(victim)
        for victim in victims:
            until_replaced(running, victim)
        check_complete(running, tmp_path)


def test_repeated_kills(tmp_path: Path) -> None:
    draw = random.Random(7)
    with LocalCluster(workers=3) as cluster:
        running = cluster.submit(Chain, config=config(tmp_path, total=40_000, rate=8000))
        for kills in range(1, 7):
            flowing(running, tmp_path, 1500 * kills)
            victim = draw.choice(running.workers)
            kill(victim)
            if kills % 2:
                until_replaced(running, victim)
        check_complete(running, tmp_path, 40_000)
        until(lambda: len(running.workers) == 3, "three workers")


@pytest.mark.parametrize("seed", range(3))
def test_a_kill_in_the_middle_of_moves(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    with LocalCluster(workers=3) as cluster:
        running = cluster.submit(Chain, config=config(tmp_path, total=TOTAL, rate=8000))
        for kills in range(3):
            flowing(running, tmp_path, 2000 * (kills + 1))
            victim = draw.choice(running.workers)
            for change in range(8):
                if change == 4:
                    kill(victim)
                running.set_active(draw.choice(["keyed", "work", "sink"]), draw.randint(1, 4))
            until_replaced(running, victim)
        running.set_active("keyed", 6)
        check_complete(running, tmp_path)
        assert running.stats().components["keyed"].active == 6


def test_a_stopped_worker_is_replaced(tmp_path: Path) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Chain, config=config(tmp_path, total=TOTAL, rate=8000))
        flowing(running, tmp_path, 1000)
        victim = worker(running, "w1")
        kill(victim, signal.SIGSTOP)
        until_replaced(running, victim)
        check_complete(running, tmp_path)
