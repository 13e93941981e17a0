"""`finish` of bolts in real workers: when it is called, and what does not keep the end from coming."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from pasps import LocalCluster, RunningTopology, Stats, Topology
from pasps.errors import DrainTimeoutError
from tests.integration.finish_topologies import Inline, Tallies, Threads, WithForgetful
from tests.integration.running import config, finish, kill, until, worker

TOTAL = 20_000


def said(directory: Path) -> Counter[str]:
    """What came to the sinks, by the first value."""
    found: Counter[str] = Counter()
    for path in directory.glob("sink-*.log"):
        for line in path.read_text().splitlines():
            what, count = line.split()
            found[what] += int(count)
    return found


def drained(running: RunningTopology, seconds: float) -> Stats:
    """As everything does that ends a topology."""
    return running.on_controller(lambda controller: controller.drain(seconds, finish=True))


def flowing(running: RunningTopology, count: int = 1000) -> None:
    until(lambda: running.stats().emitted_first >= count, f"{count} tuples")


@pytest.mark.parametrize("workers", [1, 3])
def test_input_has_ended_only_when_every_bolt_has_said_its_last(tmp_path: Path, workers: int) -> None:
    with LocalCluster(workers=workers) as cluster:
        running = cluster.submit(Tallies, config=config(tmp_path, total=TOTAL, rate=20_000))
        for count in (5, 1, 3):
            running.set_active("inline", count)
            running.set_active("thread", 1 + count % 3)
            running.set_active("awaits", 1 + count % 2)
        finish(running)
        assert said(tmp_path) == {"inline": TOTAL, "thread": TOTAL, "awaits": TOTAL}
        before = running.stats()
        assert {name: c.unfinished + c.finishing for name, c in before.components.items() if c.unfinished or c.finishing} == {}
        # nobody is asked twice, however often the end is waited for
        running.set_active("inline", 5)
        finish(running)
        drained(running, 30)
        assert {name: c.emitted for name, c in running.stats().components.items()} == {n: c.emitted for n, c in before.components.items()}
        assert running.errors == []


def test_whoever_ends_a_topology_that_goes_on_lets_it_finish(tmp_path: Path) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Tallies, config=config(tmp_path, total=10**9, rate=5000))
        flowing(running)
        running.drain(30)
        running.deactivate()
        assert said(tmp_path) == {}, "it may be activated again"
        running.activate()
        flowing(running, running.stats().emitted_first + 1000)
        emitted = running.drain(30).emitted_first
        running.kill(wait=30)
        assert said(tmp_path) == {"inline": emitted, "thread": emitted, "awaits": emitted}


@pytest.mark.parametrize("end", [lambda running: running.kill(wait=0), lambda running: None])
def test_an_end_without_a_drain_calls_nothing(tmp_path: Path, end: Callable[[RunningTopology], None]) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Inline, config=config(tmp_path, total=10**9, rate=5000))
        flowing(running)
        end(running)
    assert said(tmp_path) == {}


@pytest.mark.parametrize("topology", [Inline, Threads])
def test_a_finish_that_exits_is_reported_and_the_others_are_heard(tmp_path: Path, topology: type[Topology]) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(topology, config=config(tmp_path, total=1000, finish="exit"))
        finish(running)
        assert [(error.component, error.text.splitlines()[-1]) for error in running.errors] == [("tally", "SystemExit: enough")]
        assert 0 < said(tmp_path).total() < 1000
        assert [info.incarnation for info in running.workers] == [1, 1]


@pytest.mark.parametrize("topology", [Inline, Threads])
def test_a_finish_that_does_not_come_back_is_named_and_held_to_the_deadline(tmp_path: Path, topology: type[Topology]) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(topology, config=config(tmp_path, total=1000, finish="wait"))
        until(lambda: running.wait_finished(0.2) or list(tmp_path.glob("waits-*")), "a finish that waits")
        assert not running.wait_finished(0.5)
        with pytest.raises(DrainTimeoutError, match=r"left: tally\.finish\(\): [12]") as caught:
            drained(running, 1)
        assert list(caught.value.left) == ["tally.finish()"]
        (tmp_path / "release").touch()
        finish(running)
        assert said(tmp_path).total() == 1000


def test_a_worker_that_dies_meanwhile_is_not_waited_for(tmp_path: Path) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Threads, config=config(tmp_path, total=1000, finish="wait"))
        until(lambda: running.wait_finished(0.2) or list(tmp_path.glob("waits-*")), "a finish that waits")
        (waits,) = tmp_path.glob("waits-*")
        kill(worker(running, waits.name.removeprefix("waits-")))
        finish(running)
        # what it had counted is gone: `finish` is no store
        assert 0 < said(tmp_path).total() < 1000


def test_a_finish_that_ends_its_worker_does_not_do_so_for_ever(tmp_path: Path) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Inline, config=config(tmp_path, total=1000, finish="die"))
        finish(running)
        assert 0 < said(tmp_path).total() < 1000


def test_what_nobody_acks_does_not_cost_others_their_last_words(tmp_path: Path) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(WithForgetful, config=config(tmp_path, total=1000))
        flowing(running)
        running.kill(wait=10)  # half of it for those who will never ack
        assert said(tmp_path).total() == 1000
