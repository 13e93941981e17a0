"""User code that raises, cannot move, cannot start, forgets; values that cannot travel; connections that break."""

from __future__ import annotations

from pathlib import Path

import pytest

from pasps import LocalCluster
from pasps.errors import UnmovableError, WorkerStartError
from tests.integration.faulty_topologies import (
    EmitsTooEarly,
    MovableByHooks,
    NeverStarts,
    Travel,
    Unmovable,
    WithForgets,
    WithFragile,
    WithStubborn,
    everything,
)
from tests.integration.flow_topologies import WithCuts
from tests.integration.running import config, finish, kill, no_children, rows, until, until_replaced, worker, written


def test_a_bolt_that_raises_fails_its_tuple_and_goes_on(tmp_path: Path) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(WithFragile, config=config(tmp_path, total=2000))
        pids = [info.pid for info in running.workers]
        finish(running)
        stats = running.stats()
        errors = running.errors
        assert [info.pid for info in running.workers] == pids
    assert sorted(row[0] for row in rows(tmp_path)) == list(range(2000))
    assert (stats.failed, stats.replayed, stats.emitted_first, stats.acked) == (200, 200, 2000, 2000)
    fragile = stats.components["fragile"]
    assert (fragile.failed, fragile.errors, fragile.executed) == (200, 200, 2200)
    assert errors
    assert {error.component for error in errors} == {"fragile"}
    assert "ValueError: cannot digest" in errors[0].text
    assert 'raise ValueError(f"cannot digest {n}")' in errors[0].text
    assert len(errors) <= 2 * 6, "errors are not throttled"


def test_what_fails_again_and_again_on_another_worker_is_waited_for(tmp_path: Path) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(WithStubborn, config=config(tmp_path, total=10))
        finish(running)
        stats = running.stats()
    assert stats.components["stubborn"].replicas[0].worker != stats.components["numbers"].replicas[0].worker
    assert sorted(row[0] for row in rows(tmp_path)) == list(range(10))
    assert (stats.acked, stats.failed, stats.replayed, stats.pending) == (10, 1999, 1999, 0)


def test_a_task_that_cannot_move_stops_set_active_before_anything_changes(tmp_path: Path) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Unmovable, config=config(tmp_path, total=2000, rate=2000))
        before = running.stats()
        with pytest.raises(UnmovableError, match=r"component 'keyed', task \d: attribute 'log' cannot move.*on_move_out"):
            running.set_active("keyed", 4)
        after = running.stats()
        assert after.table_version == before.table_version
        assert after.components["keyed"].active == 1
        finish(running)
        assert running.stats().failed == 0
    assert sorted(row[0] for row in rows(tmp_path)) == list(range(2000))


def test_it_cannot_move_either_once_its_worker_has_died(tmp_path: Path) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Unmovable, config=config(tmp_path, total=6000, rate=3000))
        until(lambda: written(tmp_path) > 100, "tuples")
        victim = worker(running, running.stats().components["keyed"].replicas[0].worker)
        kill(victim)
        until_replaced(running, victim)
        finish(running)
        settled = until(lambda: s if (s := running.stats()).complete and len(running.workers) == 2 else None, "both workers")
        with pytest.raises(UnmovableError, match="attribute 'log' cannot move"):
            running.set_active("keyed", 4)
        assert running.stats().components["keyed"].active == settled.components["keyed"].active == 1
        assert running.stats().table_version == settled.table_version
    assert {row[0] for row in rows(tmp_path)} == set(range(6000))


def test_hooks_let_it_move(tmp_path: Path) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(MovableByHooks, config=config(tmp_path, total=2000, rate=2000))
        for count in (4, 1, 3):
            running.set_active("keyed", count)
        finish(running)
        assert running.stats().failed == 0
        assert running.errors == []
    assert sorted(row[0] for row in rows(tmp_path)) == list(range(2000))


def test_initialize_that_raises_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    with LocalCluster(workers=2) as cluster:
        told = r"(?s)worker w\d could not start.*in initialize.*RuntimeError: no database here\ncomponent 'bolt': initialize raised this$"
        with pytest.raises(WorkerStartError, match=told):
            cluster.submit(NeverStarts, config=config(tmp_path, total=10))
        no_children()
        with pytest.raises(WorkerStartError):  # its name is free
            cluster.submit(NeverStarts, config=config(tmp_path, total=10))


def test_an_emit_in_initialize_is_told_with_its_line(tmp_path: Path) -> None:
    told = r"component 'bolt', stream 'default': .*, in initialize \(faulty_topologies.py:\d+\): self.emit\(\[1\]\)$"
    with LocalCluster(workers=1) as cluster, pytest.raises(WorkerStartError, match=told):
        cluster.submit(EmitsTooEarly, config=config(tmp_path, total=10))


def test_what_is_never_acked_times_out(tmp_path: Path) -> None:
    with LocalCluster(workers=2) as cluster:
        keys = config(tmp_path, total=500) | {"topology.message.timeout.secs": 0.3}
        running = cluster.submit(WithForgets, config=keys)
        until(lambda: running.stats().failed >= 50, "the time-outs")
        finish(running)
        stats = running.stats()
    assert {row[0] for row in rows(tmp_path)} == set(range(500))
    assert stats.failed == stats.replayed >= 50
    assert stats.acked == 500


def test_values_cross_workers_as_they_are(tmp_path: Path) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Travel, config=config(tmp_path))
        finish(running)
        stats = running.stats()
        assert running.errors == []
    count = len(everything())
    assert sorted(rows(tmp_path)) == sorted([number, 1] for number in range(count) for _ in range(2))
    assert (stats.acked, stats.failed) == (count, 0)
    assert len({replica.worker for replica in stats.components["sink"].replicas.values()}) == 2


def test_a_value_that_cannot_travel_fails_its_tuple_alone(tmp_path: Path) -> None:
    with LocalCluster(workers=2) as cluster:
        running = cluster.submit(Travel, config=config(tmp_path, opaque=True))
        until(lambda: running.stats().acked == len(everything()), lambda: f"the others to be acked: {running.stats()}")
        until(lambda: running.errors, "the error")
        errors = [error.text for error in running.errors]
        assert "component 'things', stream 'default', field 'value'" in errors[0]
        assert "Opaque cannot travel between workers" in errors[0]
        assert len(errors) == 1
        assert running.stats().failed == 1
    assert rows(tmp_path, "things") == [[99]]


def test_connections_that_break_between_live_workers_are_made_again(tmp_path: Path) -> None:
    cuts = [1000, 4000, 4001, 8000, 11_000]
    with LocalCluster(workers=3) as cluster:
        keys = config(tmp_path, total=15_000, rate=6000, cut_at=cuts)
        running = cluster.submit(WithCuts, config=keys | {"topology.executor.receive.buffer.size": 64})
        pids = [info.pid for info in running.workers]
        finish(running)
        stats = running.stats()
        running.set_active("work", 4)
        assert [info.pid for info in running.workers] == pids
        running.drain(10)
    assert {row[0] for row in rows(tmp_path)} == set(range(15_000))
    assert written(tmp_path) >= 15_000
    assert stats.failed == stats.replayed
    assert stats.failed > 0
