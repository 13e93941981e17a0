"""The publisher: when a change is true, what a loss does to it, and what happens when a task cannot move."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest

from pasps.activation import ActivationTable, Routing, brought_home, first_table, with_active
from pasps.control.publisher import TablePublisher
from pasps.errors import BusyError, TimeoutExpiredError, UnmovableError

WORKERS = {"w0": 1, "w1": 1}


def keyed() -> ActivationTable:
    return first_table({"count": Routing((0,), ("w0", "w1"), (0, 0))}, WORKERS)


def shuffled() -> ActivationTable:
    return first_table({"step": Routing((0,), ("w0", "w1"))}, WORKERS)


class Wire:
    """What was sent, instead of sending it."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, int]] = []

    def __call__(self, worker: str, table: ActivationTable) -> None:
        self.sent.append((worker, table.version))


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(test())


def test_a_change_is_back_when_every_live_worker_has_confirmed() -> None:
    async def test() -> None:
        wire = Wire()
        publisher = TablePublisher(shuffled(), wire)
        change = asyncio.create_task(publisher.change(lambda table: with_active(table, "step", 2), 5.0))
        await asyncio.sleep(0)
        assert wire.sent == [("w0", 2), ("w1", 2)]
        publisher.applied("w0", 2)
        await asyncio.sleep(0)
        assert not change.done()
        publisher.applied("w1", 2)
        assert await change == 2

    run(test)


def test_nothing_to_change_sends_nothing() -> None:
    async def test() -> None:
        wire = Wire()
        assert await TablePublisher(shuffled(), wire).change(lambda _: None, 5.0) == 1
        assert wire.sent == []

    run(test)


def test_a_change_that_raises_changes_nothing() -> None:
    async def test() -> None:
        wire = Wire()
        publisher = TablePublisher(keyed(), wire)

        def refuse(_: ActivationTable) -> ActivationTable:
            raise UnmovableError("count", 1, "lock", "cannot pickle")

        with pytest.raises(UnmovableError):
            await publisher.change(refuse, 5.0)
        assert (publisher.table.version, wire.sent) == (1, [])
        assert not publisher.lock.locked()

    run(test)


def test_a_task_that_is_known_not_to_be_able_to_move_is_sent_nowhere_but_from_a_dead_worker() -> None:
    async def test() -> None:
        wire = Wire()
        publisher = TablePublisher(keyed(), wire, unmovable={("count", 1): UnmovableError("count", 1, "lock", "cannot pickle")})
        with pytest.raises(UnmovableError, match="lock"):
            await publisher.change(lambda table: with_active(table, "count", 2), 5.0)
        assert (publisher.table.version, wire.sent) == (1, [])
        publisher.lose("w0")
        assert publisher.table.components["count"].worker_of(1) == "w1"

    run(test)


def test_a_worker_that_does_not_confirm_is_named() -> None:
    async def test() -> None:
        publisher = TablePublisher(shuffled(), Wire())
        publisher.applied("w0", 2)
        with pytest.raises(TimeoutExpiredError, match="w1"):
            await publisher.change(lambda table: with_active(table, "step", 2), 0.0)
        assert publisher.table.version == 2

    run(test)


def test_nobody_waits_for_a_worker_that_died() -> None:
    async def test() -> None:
        publisher = TablePublisher(shuffled(), Wire())
        change = asyncio.create_task(publisher.change(lambda table: with_active(table, "step", 2), 5.0))
        await asyncio.sleep(0)
        publisher.applied("w0", 2)
        assert publisher.lose("w1") == 3
        assert await change == 2
        assert publisher.table.workers == {"w0": 1}
        assert not publisher.confirmed(3)
        publisher.applied("w0", 3)
        assert publisher.confirmed(3)

    run(test)


def test_losing_a_worker_that_is_in_no_table_is_no_change() -> None:
    async def test() -> None:
        wire = Wire()
        publisher = TablePublisher(shuffled(), wire)
        assert publisher.lose("w9") is None
        assert wire.sent == []

    run(test)


def test_a_change_waits_for_the_tasks_of_the_one_before() -> None:
    async def test() -> None:
        publisher = TablePublisher(keyed(), Wire())
        first = asyncio.create_task(publisher.change(lambda table: with_active(table, "count", 2), 5.0))
        second = asyncio.create_task(publisher.change(lambda table: with_active(table, "count", 1), 5.0))
        await asyncio.sleep(0)
        for worker in WORKERS:
            publisher.applied(worker, 2)
        for _ in range(5):
            await asyncio.sleep(0)
        assert publisher.table.version == 2
        assert not first.done()
        publisher.moved("count", 1, 2)
        assert await first == 2
        for _ in range(20):
            await asyncio.sleep(0)
        assert publisher.table.version == 3
        for worker in WORKERS:
            publisher.applied(worker, 3)
        publisher.moved("count", 1, 3)
        assert await second == 3

    run(test)


def test_a_task_that_has_not_arrived_in_time_is_not_sent_on() -> None:
    """Its state was handed to a worker that it was not to stay on, which threw it away; it started afresh on a third."""

    async def test() -> None:
        first = Routing((0,), ("w0", "w1", "w2"), (0, 0, 0))

        def send(worker: str, table: ActivationTable) -> None:
            publisher.applied(worker, table.version)

        publisher = TablePublisher(first_table({"count": first, "other": first}, dict.fromkeys(("w0", "w1", "w2"), 1)), send)
        assert await publisher.change(lambda table: with_active(table, "count", 2), 0.0) == 2
        table = publisher.table
        moving = next(task for task in range(3) if table.components["count"].worker_of(task) == "w1")

        def on(worker: int) -> Callable[[ActivationTable], ActivationTable]:
            hosts = tuple(worker if task == moving else host for task, host in enumerate(table.components["count"].hosts or ()))
            return lambda table: table.following(count=replace(table.components["count"], active=(0, 1, 2), hosts=hosts))

        for worker in (0, 2):
            with pytest.raises(BusyError, match=f"component 'count': task {moving} is still on its way to worker w1"):
                await publisher.change(on(worker), 0.0)
        assert publisher.table is table
        assert await publisher.change(lambda table: with_active(table, "other", 2), 0.0) == 3, "another bolt may change"
        publisher.moved("count", moving, 2)
        assert await publisher.change(on(2), 0.0) == 4

    run(test)


def test_a_task_that_cannot_move_is_left_where_it_was_by_the_next_table() -> None:
    async def test() -> None:
        publisher = TablePublisher(keyed(), Wire())
        change = asyncio.create_task(publisher.change(lambda table: with_active(table, "count", 2), 5.0))
        await asyncio.sleep(0)
        for worker in WORKERS:
            publisher.applied(worker, 2)
        publisher.move_failed(2, UnmovableError("count", 1, "lock", "cannot pickle"))
        routing = publisher.table.components["count"]
        assert publisher.table.version == 3
        assert routing.worker_of(1) == "w0"
        for worker in WORKERS:
            publisher.applied(worker, 3)
        publisher.moved("count", 1, 3)
        with pytest.raises(UnmovableError, match="lock"):
            await change

    run(test)


def test_a_task_that_cannot_go_home_is_left_on_the_worker_where_it_is() -> None:
    """It was left on its replica, which was at home by then: no worker heard that it was to stay."""

    async def test() -> None:
        home, away = Routing((0,), ("w0",), (0,)), Routing((0,), ("w1",), (0,))
        publisher = TablePublisher(first_table({"count": away}, WORKERS), Wire())
        change = asyncio.create_task(publisher.change(lambda table: brought_home(table, {"count": home}, "count"), 5.0))
        await asyncio.sleep(0)
        assert publisher.table.components["count"].worker_of(0) == "w0"
        publisher.move_failed(2, UnmovableError("count", 0, "lock", "cannot pickle"))
        assert publisher.table.components["count"].worker_of(0) == "w1"
        for worker in WORKERS:
            publisher.applied(worker, 3)
        publisher.moved("count", 0, 3)
        with pytest.raises(UnmovableError, match="lock"):
            await change

    run(test)


@pytest.mark.parametrize(("dead", "stays"), [("w1", "w0"), ("w0", "w1")])
def test_a_move_that_fails_after_either_end_has_died_changes_nothing(dead: str, stays: str) -> None:
    """What the other end said last was taken for the move of the repair, and sent the task to the dead worker's replica."""

    async def test() -> None:
        publisher = TablePublisher(keyed(), Wire())
        change = asyncio.create_task(publisher.change(lambda table: with_active(table, "count", 2), 5.0))
        await asyncio.sleep(0)
        publisher.lose(dead)
        repaired = publisher.table
        publisher.move_failed(2, UnmovableError("count", 1, "lock", "cannot pickle"))
        assert publisher.table is repaired
        assert repaired.components["count"].worker_of(1) == stays
        publisher.applied(stays, 3)
        for task in (0, 1):
            publisher.moved("count", task, 3)
        assert await change == 2

    run(test)


def test_a_task_on_its_way_to_a_worker_that_dies_goes_back_to_who_has_its_state() -> None:
    async def test() -> None:
        publisher = TablePublisher(keyed(), Wire())
        change = asyncio.create_task(publisher.change(lambda table: with_active(table, "count", 2), 5.0))
        await asyncio.sleep(0)
        assert publisher.table.components["count"].worker_of(1) == "w1"
        publisher.applied("w0", 2)
        publisher.lose("w1")
        assert publisher.table.components["count"].worker_of(1) == "w0"
        publisher.applied("w0", 3)
        publisher.moved("count", 1, 3)
        assert await change == 2

    run(test)


def test_when_all_workers_are_ended_on_purpose_nothing_is_sent_and_nothing_moves_any_more() -> None:
    async def test() -> None:
        wire = Wire()
        publisher = TablePublisher(keyed(), wire)
        publisher.publish(with_active(publisher.table, "count", 2))  # task 1 is on its way to w1
        assert not publisher.over(2)
        wire.sent.clear()
        publisher.vacate()
        assert (publisher.table.version, publisher.table.workers, wire.sent) == (3, {}, [])
        begun = replace(with_active(keyed(), "count", 2), version=4, workers={"w0": 2, "w1": 2})
        publisher.begin(begun)
        assert (publisher.confirmed(4), publisher.over(4), wire.sent) == (True, True, [])
        publisher.refuse(with_active(begun, "count", 1))  # raises where a task is still on its way

    run(test)


def test_who_waits_for_a_worker_hears_of_those_that_were_made_with_a_table() -> None:
    async def test() -> None:
        publisher = TablePublisher(shuffled(), Wire())
        publisher.vacate()
        waiting = asyncio.create_task(publisher.wait_lived(60.0))
        await asyncio.sleep(0)
        publisher.begin(shuffled())
        assert await waiting

    run(test)
