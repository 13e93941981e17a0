"""Tables: every function gives a table that can run, moves as little as it can, and repairs without sending a moving task on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import hypothesis.strategies as st
import pytest
from hypothesis import given

from pasps.activation import (
    ActivationTable,
    Routing,
    brought_home,
    first_table,
    host_tasks,
    left_where_it_was,
    moves,
    with_active,
    with_worker,
    without_worker,
)
from pasps.assignment import Need, place
from pasps.errors import BrokenError

NEEDS = {
    "words": Need(2, 2),
    "split": Need(6, 2),
    "count": Need(6, 3, keyed=True),
    "few": Need(3, 2, keyed=True),
    "sink": Need(4, 1, pinned=True),
}


def table_on(workers: int) -> ActivationTable:
    names = [f"w{i}" for i in range(workers)]
    return first_table(place(NEEDS, names), dict.fromkeys(names, 1))


def check(table: ActivationTable) -> None:
    for name, routing in table.components.items():
        assert list(routing.active) == sorted(set(routing.active)), name
        assert routing.active, name
        assert routing.pool == NEEDS[name].pool
        assert all(routing.places[replica] in table.workers for replica in routing.active), name
        if routing.hosts is not None:
            assert len(routing.hosts) == routing.pool
            assert set(routing.hosts) <= set(routing.active), name
        if routing.pinned:
            assert 0 in routing.active


changes = st.lists(
    st.one_of(
        st.tuples(st.just("active"), st.sampled_from(["split", "count", "few", "sink"]), st.integers(1, 3)),
        st.tuples(st.just("lose"), st.integers(0, 3), st.just(0)),
        st.tuples(st.just("back"), st.integers(0, 3), st.just(0)),
        st.tuples(st.just("home"), st.sampled_from(["split", "count", "few", "sink"]), st.just(0)),
    ),
    max_size=25,
)


@given(st.integers(1, 4), changes)
def test_any_series_of_changes_gives_tables_that_can_run(workers: int, series: list[tuple[str, object, int]]) -> None:
    table = table_on(workers)
    home = table.components
    for change in series:
        table = changed(table, home, workers, *change)


def changed(table: ActivationTable, home: Mapping[str, Routing], workers: int, kind: str, what: object, count: int) -> ActivationTable:
    before = table
    if kind == "active":
        table = with_active(table, str(what), count)
        assert len(table.components[str(what)].active) == count
    elif kind == "lose" and f"w{what}" in table.workers and len(table.workers) > 1:
        table = without_worker(table, f"w{what}")
        assert all(len(table.components[n].active) == len(before.components[n].active) for n in NEEDS)
    elif kind == "back" and isinstance(what, int) and what < workers and f"w{what}" not in table.workers:
        table = with_worker(table, f"w{what}", table.version + 1)
        assert table.components == before.components
    elif kind == "home":
        table = brought_home(table, home, str(what)) or table
        assert len(table.components[str(what)].active) == len(before.components[str(what)].active)
    assert table.version == before.version + (table is not before)
    check(table)
    return table


@given(st.sets(st.integers(0, 9), min_size=1), st.sets(st.integers(0, 9), min_size=1))
def test_tasks_are_at_home_where_that_is_active_and_balanced_otherwise(first: set[int], second: set[int]) -> None:
    before = host_tasks(tuple(sorted(first)), None, 10)
    after = host_tasks(tuple(sorted(second)), before, 10)
    for active, hosts in ((first, before), (second, after)):
        assert all(hosts[task] == task for task in active)
        loads = Counter(hosts)
        assert max(loads.values()) - min(loads[replica] for replica in active) <= 1
    assert host_tasks(tuple(sorted(second)), after, 10) == after


def test_active_replicas_are_a_spread_prefix_at_first() -> None:
    table = table_on(2)
    places = [table.components["split"].places[replica] for replica in table.components["split"].active]
    assert sorted(places) == ["w0", "w1"]
    assert table.components["words"].places[0] != table.components["split"].places[0]


def test_growing_and_shrinking_keeps_the_workers_even() -> None:
    table = table_on(3)
    for count in (6, 3, 5, 1, 4):
        table = with_active(table, "split", count)
        crowd = Counter(table.components["split"].places[replica] for replica in table.components["split"].active)
        assert max(crowd.values()) - min(crowd.get(worker, 0) for worker in table.workers) <= 1


def test_moves_names_the_tasks_that_change_worker() -> None:
    table = table_on(2)
    wanted = with_active(table, "count", 1)
    found = moves(table, wanted)
    assert {move.component for move in found} == {"count"}
    for move in found:
        assert move.source == table.components["count"].worker_of(move.task) != move.target
    assert moves(wanted, wanted) == []


def test_repair_moves_what_was_lost_and_nothing_else() -> None:
    """A task between two live workers that was sent on by a repair lost its state, since nobody had it to hand on."""
    table = table_on(3)
    repaired = without_worker(table, "w1")
    lost = {task for task in range(6) if table.components["count"].worker_of(task) == "w1"}
    assert {move.task for move in moves(table, repaired) if move.component == "count"} == lost
    assert all(move.source is None for move in moves(table, repaired))


def test_repair_sends_an_unconfirmed_task_back_to_the_worker_that_has_its_state() -> None:
    table = table_on(3)
    grown = with_active(table, "count", 6)
    for move in moves(table, grown):
        assert move.source is not None
        repaired = without_worker(grown, move.target, {("count", move.task): move.source})
        check(repaired)
        assert repaired.components["count"].worker_of(move.task) == move.source


def test_unconfirmed_tasks_go_back_even_when_no_replica_is_active_there() -> None:
    table = with_active(table_on(2), "count", 1)
    (active,) = table.components["count"].active
    other = next(r for r in range(6) if table.components["count"].places[r] != table.components["count"].places[active])
    dead, alive = table.components["count"].places[active], table.components["count"].places[other]
    third = with_worker(table, "w9", 1)
    repaired = without_worker(third, dead, {("count", 3): alive})
    assert repaired.components["count"].worker_of(3) == alive
    check(repaired)


def test_an_unconfirmed_task_goes_back_to_a_worker_whose_replicas_have_gone_home() -> None:
    home = {"count": Routing((0, 1), ("w0", "w1"), (0, 1))}
    away = first_table({"count": Routing((0, 1), ("w2", "w2"), (0, 1))}, dict.fromkeys(("w0", "w1", "w2"), 1))
    moved = brought_home(away, home, "count")
    assert moved is not None
    for task, dead in ((0, "w0"), (1, "w1")):
        repaired = without_worker(moved, dead, {("count", task): "w2"}).components["count"]
        assert repaired.worker_of(task) == "w2"
        assert repaired.worker_of(1 - task) != "w2", "it is on its way home"


def test_an_unconfirmed_task_whose_state_died_too_goes_to_the_living() -> None:
    """It was sent back to a replica of a worker that was no longer there: what came for it failed at once, for ever."""
    shrunk = with_active(table_on(3), "count", 1)
    (active,) = shrunk.components["count"].active
    target = shrunk.components["count"].places[active]
    for source in shrunk.components["count"].places:
        if source != target:
            once = without_worker(shrunk, source)
            check(without_worker(once, target, {("count", 3): source}))


def test_with_nobody_left_the_table_waits() -> None:
    table = table_on(1)
    gone = without_worker(table, "w0")
    assert gone.workers == {}
    assert gone.components == table.components
    check(with_worker(gone, "w0", 2))


def test_a_task_that_could_not_leave_stays_on_a_replica_that_is_active_again() -> None:
    table = with_active(table_on(2), "count", 1)
    (active,) = table.components["count"].active
    for worker in table.workers:
        back = left_where_it_was(table, "count", 5, worker)
        assert back.version == table.version + 1
        assert back.components["count"].worker_of(5) == worker
        assert len(back.components["count"].active) == (1 if table.components["count"].places[active] == worker else 2)
        check(back)


def test_no_replica_is_placed_while_nobody_lives() -> None:
    table = without_worker(first_table(place(NEEDS, ["w0"]), {"w0": 1}), "w0")
    with pytest.raises(BrokenError, match="no worker is alive, so no replica can be placed"):
        with_active(table, "split", 5)


@given(st.integers(2, 5), changes, st.sampled_from(["count", "few"]), st.integers(0, 3))
def test_whatever_moves_when_a_worker_dies_is_where_its_state_is(
    workers: int, series: list[tuple[str, object, int]], name: str, count: int
) -> None:
    """A task on its way home was looked for where its replica had been placed by then, and its state was forgotten where it was."""
    table = table_on(workers)
    home = table.components
    for change in series:
        table = changed(table, home, workers, *change)
    moved = with_active(table, name, count) if count else brought_home(table, home, name)
    if moved is None or len(table.workers) < 2:
        return
    for dead in table.workers:
        coming = {move.task: move.source for move in moves(table, moved) if move.target == dead and move.source is not None}
        repaired = without_worker(moved, dead, {(name, task): source for task, source in coming.items()})
        check(repaired)
        assert {task: repaired.components[name].worker_of(task) for task in coming} == coming
        assert all(move.source is None for move in moves(moved, repaired)), "a task was sent on between two live workers"
        for task, source in coming.items():
            stays = left_where_it_was(moved, name, task, source)
            check(stays)
            assert [(move.task, move.target) for move in moves(moved, stays)] == [(task, source)]
