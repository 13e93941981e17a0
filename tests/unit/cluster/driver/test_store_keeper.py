from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
import pytest

from pasps.activation import ActivationTable, Routing, first_table, with_active
from pasps.cluster.driver import latest, store_keeper
from pasps.cluster.driver.store_keeper import StoreKeeper
from pasps.cluster.store import layout
from pasps.cluster.store.contract import StoreUnavailableError
from pasps.testing.memory_store import MemoryStore, MemoryTree
from pasps.topology.keeper import Resume
from tests.unit.cluster.driver.rounds import HangingStore, StrangeStore, rounds, until, until_value, value_at

NAME = "words"
WORKERS = {"w0": 1, "w1": 1}
POSITIONS = {1: b"\x80\x05\xff", 2: b""}


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(latest, "_RETRY_SECONDS", 0.0)


def table() -> ActivationTable:
    return first_table({"words": Routing((0,), ("w0",)), "count": Routing((0,), ("w0", "w1"), (0, 0))}, WORKERS)


class Bench:
    """Drivers that come one after the other, and somebody who looks."""

    def __init__(self) -> None:
        tree = MemoryTree()
        self.store, self.other = tree.session(), tree.session()
        self.keepers: list[StoreKeeper] = []
        self.failures: list[BaseException] = []

    async def load(self, store: MemoryStore | None = None) -> StoreKeeper:
        self.keepers.append(await StoreKeeper.load(store or self.store, NAME, self.failures.append))
        return self.keepers[-1]

    async def kept(self) -> ActivationTable:
        entry = await self.other.read(layout.table(NAME))
        assert entry is not None
        return msgspec.json.decode(entry.value, type=ActivationTable)


def run(body: Callable[[Bench], Coroutine[Any, Any, None]]) -> None:
    async def whole() -> None:
        bench = Bench()
        async with asyncio.timeout(5):
            await body(bench)
            for keeper in bench.keepers:
                await keeper.close()
            assert not bench.failures

    asyncio.run(whole())


def test_a_topology_that_never_ran_begins_at_the_beginning() -> None:
    async def body(bench: Bench) -> None:
        assert (await bench.load()).resume == Resume()

    run(body)


def test_the_next_driver_goes_on_where_this_one_was() -> None:
    async def body(bench: Bench) -> None:
        keeper = await bench.load()
        grown = with_active(table(), "count", 2)
        keeper.acted(grown)
        keeper.reached(POSITIONS)
        await keeper.close()
        assert (await bench.load()).resume == Resume(2, {"words": 1, "count": 2}, POSITIONS)
        assert await bench.kept() == grown

    run(body)


def test_the_last_positions_are_kept_though_others_were_kept_a_moment_before() -> None:
    async def body(bench: Bench) -> None:
        keeper = await bench.load()
        keeper.acted(table())
        keeper.reached({1: b"1"})
        await until_value(bench.other, layout.positions(NAME), msgspec.json.encode({1: b"1"}))
        keeper.reached(POSITIONS)
        await keeper.close()
        assert (await bench.load()).resume.positions == POSITIONS

    run(body)


@pytest.mark.parametrize("wrong", [b"", b"no json", b"[]", b'{"version": "1"}', b"\xff", b'{"components": {"\xff": {}}}'])
def test_what_cannot_be_understood_is_not_used_but_told(wrong: bytes, caplog: pytest.LogCaptureFixture) -> None:
    async def body(bench: Bench) -> None:
        for path in (layout.table(NAME), layout.positions(NAME)):
            await bench.other.write(path, wrong)
        assert (await bench.load()).resume == Resume()

    run(body)
    assert f"{layout.table(NAME)} holds something else" in caplog.text


def test_without_the_store_there_is_no_keeper() -> None:
    async def body(bench: Bench) -> None:
        bench.store.cut()
        with pytest.raises(StoreUnavailableError):
            await bench.load()

    run(body)


# ---- tables


def test_an_intent_is_there_when_that_was_awaited() -> None:
    async def body(bench: Bench) -> None:
        keeper = await bench.load()
        await keeper.intend(table())
        assert await bench.kept() == table()

    run(body)


def test_an_intent_does_not_wait_for_a_store_that_is_away_and_the_table_comes_later() -> None:
    async def body(bench: Bench) -> None:
        keeper = await bench.load()
        bench.store.cut()
        await keeper.intend(table())
        keeper.acted(table())
        await rounds()
        assert await value_at(bench.other, layout.table(NAME)) is None
        bench.store.mend()
        await until_value(bench.other, layout.table(NAME), msgspec.json.encode(table()))

    run(body)


def test_an_intent_waits_for_a_store_that_hangs_no_longer_than_a_moment(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def body(bench: Bench) -> None:
        store = HangingStore()
        keeper = await bench.load(store)
        await keeper.intend(table())
        assert store.hung == 1

    monkeypatch.setattr(store_keeper, "INTEND_SECONDS", 0.001)
    run(body)
    assert "table 1 is acted on before it is kept" in caplog.text


def test_an_intent_that_came_to_nothing_is_replaced_by_the_table_that_was_published() -> None:
    async def body(bench: Bench) -> None:
        keeper = await bench.load()
        keeper.acted(table())
        await until_value(bench.other, layout.table(NAME), msgspec.json.encode(table()))
        await keeper.intend(with_active(table(), "count", 2))
        published = table().following()
        keeper.acted(published)
        await until_value(bench.other, layout.table(NAME), msgspec.json.encode(published))

    run(body)


# ---- incarnations


def test_incarnations_are_counted_for_each_worker_over_all_drivers() -> None:
    async def body(bench: Bench) -> None:
        keeper = await bench.load()
        assert [await keeper.incarnation("w0"), await keeper.incarnation("w0"), await keeper.incarnation("w1")] == [1, 2, 1]
        assert await (await bench.load()).incarnation("w0") == 3

    run(body)


def test_while_the_store_is_away_incarnations_are_counted_on_and_the_store_hears_of_it_later() -> None:
    async def body(bench: Bench) -> None:
        keeper = await bench.load()
        assert await keeper.incarnation("w0") == 1
        bench.store.cut()
        assert [await keeper.incarnation("w0") for _ in range(3)] == [2, 3, 4]
        bench.store.mend()
        assert await keeper.incarnation("w0") == 5
        assert await (await bench.load()).incarnation("w0") == 6

    run(body)


def test_a_new_driver_that_lost_the_store_again_does_not_count_from_the_beginning() -> None:
    async def body(bench: Bench) -> None:
        keeper = await bench.load()
        for _ in range(3):
            await keeper.incarnation("w0")
        successor = await bench.load()
        bench.store.cut()
        assert await successor.incarnation("w0") > 3

    run(body)


# ---- what nobody has thought of


def failure(bench: Bench) -> str:
    return str(bench.failures.pop())


@pytest.mark.parametrize("path", [layout.table(NAME), layout.positions(NAME)])
def test_who_made_it_is_told_that_something_is_not_kept_any_more(path: str) -> None:
    async def body(bench: Bench) -> None:
        keeper = await bench.load(StrangeStore(path))
        keeper.acted(table())
        keeper.reached(POSITIONS)
        await until(lambda: bool(bench.failures), "that it is not kept")
        await keeper.close()  # the others are kept, and it is over soon
        assert failure(bench) == "nobody has thought of this"

    run(body)


def test_who_made_it_is_told_that_it_tells_the_store_no_more_what_it_counted() -> None:
    async def body(bench: Bench) -> None:
        store = StrangeStore(layout.incarnation(NAME, "w0"), reads=True)
        keeper = await bench.load(store)
        await keeper.incarnation("w0")
        await until(lambda: bool(bench.failures), "that it tells no more")
        assert failure(bench) == "nobody has thought of this"

    run(body)
