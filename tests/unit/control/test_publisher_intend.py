"""The publisher and who writes down what it is about to publish."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from pasps.activation import ActivationTable, Routing, first_table, with_active
from pasps.control.publisher import TablePublisher
from pasps.errors import UnmovableError

WORKERS = {"w0": 1, "w1": 1, "w2": 1}
Make = Callable[[ActivationTable], ActivationTable | None]


def table() -> ActivationTable:
    return first_table({"step": Routing((0,), ("w0", "w1", "w2")), "count": Routing((0,), ("w0", "w1", "w2"), (0, 0, 0))}, WORKERS)


def to_two(before: ActivationTable) -> ActivationTable | None:
    return None if len(before.components["step"].active) == 2 else with_active(before, "step", 2)


class Book:
    """Writes down in the order in which things happen; an intent is held up while the gate is closed."""

    def __init__(self) -> None:
        self.events: list[tuple[str, int]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.publisher = TablePublisher(table(), self.send, self.intend)
        self.confirms = True

    def send(self, worker: str, sent: ActivationTable) -> None:
        if ("sent", sent.version) not in self.events:
            self.events.append(("sent", sent.version))
        if self.confirms:
            asyncio.get_running_loop().call_soon(self.publisher.applied, worker, sent.version)

    async def intend(self, wanted: ActivationTable) -> None:
        self.events.append(("intended", wanted.version))
        await self.gate.wait()
        self.events.append(("kept", wanted.version))

    def change(self, make: Make = to_two) -> asyncio.Task[int]:
        return asyncio.create_task(self.publisher.change(make, 5.0))


async def rounds() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def run(body: Callable[[Book], Coroutine[Any, Any, None]]) -> None:
    async def whole() -> None:
        async with asyncio.timeout(5):
            await body(Book())

    asyncio.run(whole())


def test_nothing_is_sent_before_it_is_kept() -> None:
    async def body(book: Book) -> None:
        book.gate.clear()
        change = book.change()
        await rounds()
        assert book.events == [("intended", 2)]
        assert book.publisher.table.version == 1
        book.gate.set()
        assert await change == 2
        assert book.events == [("intended", 2), ("kept", 2), ("sent", 2)]

    run(body)


def test_nothing_to_change_is_not_written_down() -> None:
    async def body(book: Book) -> None:
        assert await book.change(lambda _: None) == 1
        assert book.events == []

    run(body)


def test_a_change_that_is_refused_is_not_written_down() -> None:
    async def body(book: Book) -> None:
        def refuse(_: ActivationTable) -> ActivationTable:
            raise UnmovableError("count", 1, "lock", "cannot pickle")

        with pytest.raises(UnmovableError):
            await book.change(refuse)
        assert book.events == []

    run(body)


def test_a_loss_waits_for_no_intent_and_the_change_is_made_again_of_what_is_left() -> None:
    async def body(book: Book) -> None:
        book.gate.clear()
        change = book.change()
        await rounds()
        assert book.publisher.lose("w1") == 2
        assert book.events == [("intended", 2), ("sent", 2)]
        book.gate.set()
        assert await change == 3
        assert book.events == [("intended", 2), ("sent", 2), ("kept", 2), ("intended", 3), ("kept", 3), ("sent", 3)]
        routing = book.publisher.table.components["step"]
        assert book.publisher.table.workers == {"w0": 1, "w2": 1}
        assert len(routing.active) == 2
        assert "w1" not in {routing.places[replica] for replica in routing.active}

    run(body)


def test_several_losses_while_it_is_written_down_are_all_in_the_table() -> None:
    async def body(book: Book) -> None:
        book.gate.clear()
        change = book.change()
        await rounds()
        book.publisher.lose("w1")
        book.publisher.lose("w2")
        book.gate.set()
        assert await change == 4
        assert book.publisher.table.workers == {"w0": 1}
        assert [version for what, version in book.events if what == "intended"] == [2, 4]

    run(body)


def test_a_change_that_is_not_wanted_any_more_after_a_loss_is_none() -> None:
    async def body(book: Book) -> None:
        book.gate.clear()
        change = book.change(lambda before: with_active(before, "step", 2) if len(before.workers) == 3 else None)
        await rounds()
        book.publisher.lose("w1")
        book.gate.set()
        assert await change == 2
        assert len(book.publisher.table.components["step"].active) == 1

    run(body)


def test_a_task_that_could_not_move_while_it_is_written_down_is_in_the_table_too() -> None:
    async def body(book: Book) -> None:
        book.confirms = False
        moving = asyncio.create_task(book.publisher.change(lambda before: with_active(before, "count", 2), 0.0))
        with pytest.raises(TimeoutError):  # nobody confirmed, and the task is still under way
            await moving
        book.gate.clear()
        book.confirms = True
        change = book.change()
        await rounds()
        book.publisher.move_failed(2, UnmovableError("count", 1, "lock", "cannot pickle"))
        book.gate.set()
        await rounds()
        for task in range(3):
            book.publisher.moved("count", task, 4)
        assert await change == 4
        assert book.publisher.table.components["count"].worker_of(1) == "w0"
        assert len(book.publisher.table.components["step"].active) == 2

    run(body)


def test_the_next_change_waits_until_the_one_before_is_written_down() -> None:
    async def body(book: Book) -> None:
        book.gate.clear()
        first, second = book.change(), book.change(lambda before: with_active(before, "step", 3))
        await rounds()
        assert book.events == [("intended", 2)]
        book.gate.set()
        assert (await first, await second) == (2, 3)

    run(body)


def test_a_change_that_is_cancelled_while_it_is_written_down_is_not_made_and_holds_up_nobody() -> None:
    async def body(book: Book) -> None:
        book.gate.clear()
        change = book.change()
        await rounds()
        change.cancel()
        await asyncio.gather(change, return_exceptions=True)
        assert book.publisher.table.version == 1
        book.gate.set()
        assert await book.change() == 2

    run(body)


def test_workers_that_begin_with_a_table_route_by_it() -> None:
    async def body(book: Book) -> None:
        later = first_table({"step": Routing((0,), ("w8", "w9"))}, {"w8": 4, "w9": 5}).following()
        book.publisher.begin(later)
        assert book.publisher.table is later
        assert book.publisher.confirmed(2)
        assert not book.publisher.confirmed(3)
        assert book.events == []
        assert await book.change() == 3
        assert book.publisher.observed == {"w8": 3, "w9": 3}

    run(body)
