"""Tables: every function gives a table that can run, moves as little as it can, and repairs without sending a moving task on."""

from __future__ import annotations

from collections import Counter

import hypothesis.strategies as st
import pytest
from hypothesis import given

from pasps.activation import (
    ActivationTable,
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
        st.tuples(st.just("active"), st.sampled_from(["split", "count", "sink"]), st.integers(1, 4)),
        st.tuples(st.just("lose"), st.integers(0, 3), st.just(0)),
        st.tuples(st.just("back"), st.integers(0, 3), st.just(0)),
        st.tuples(st.just("home"), st.sampled_from(["split", "count", "sink"]), st.just(0)),
    ),
    max_size=25,
)


@given(st.integers(1, 4), changes)
def test_any_series_of_changes_gives_tables_that_can_run(workers: int, series: list[tuple[str, object, int]]) -> None:
    table = table_on(workers)
    home = table.components
    for kind, what, count in series:
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
    assert {move.task for move in moves(table, repaired)} == lost
    assert all(move.source is None for move in moves(table, repaired))


def test_repair_sends_an_unconfirmed_task_back_to_the_worker_that_has_its_state() -> None:
    table = table_on(3)
    grown = with_active(table, "count", 6)
    for move in moves(table, grown):
        before = table.components["count"].replica_of(move.task)
        repaired = without_worker(grown, move.target, {("count", move.task): before})
        check(repaired)
        assert repaired.components["count"].worker_of(move.task) == move.source


def test_unconfirmed_tasks_go_back_even_when_no_replica_is_active_there() -> None:
    table = with_active(table_on(2), "count", 1)
    (active,) = table.components["count"].active
    other = next(r for r in range(6) if table.components["count"].places[r] != table.components["count"].places[active])
    dead, alive = table.components["count"].places[active], table.components["count"].places[other]
    third = with_worker(table, "w9", 1)
    repaired = without_worker(third, dead, {("count", 3): other})
    assert repaired.components["count"].worker_of(3) == alive
    check(repaired)


def test_an_unconfirmed_task_whose_state_died_too_goes_to_the_living() -> None:
    """It was sent back to a replica of a worker that was no longer there: what came for it failed at once, for ever."""
    shrunk = with_active(table_on(3), "count", 1)
    (active,) = shrunk.components["count"].active
    target = shrunk.components["count"].places[active]
    for replica, source in enumerate(shrunk.components["count"].places):
        if source != target:
            once = without_worker(shrunk, source)
            check(without_worker(once, target, {("count", 3): replica}))


def test_with_nobody_left_the_table_waits() -> None:
    table = table_on(1)
    gone = without_worker(table, "w0")
    assert gone.workers == {}
    assert gone.components == table.components
    check(with_worker(gone, "w0", 2))


def test_a_task_that_could_not_leave_stays_on_a_replica_that_is_active_again() -> None:
    table = with_active(table_on(2), "count", 1)
    back = left_where_it_was(table, "count", 5, 5)
    assert back.version == table.version + 1
    assert back.components["count"].replica_of(5) == 5
    assert 5 in back.components["count"].active
    check(back)


def test_no_replica_is_placed_while_nobody_lives() -> None:
    table = without_worker(first_table(place(NEEDS, ["w0"]), {"w0": 1}), "w0")
    with pytest.raises(BrokenError, match="no worker is alive, so no replica can be placed"):
        with_active(table, "split", 5)
