from __future__ import annotations

import asyncio

import pytest

from pasps.cluster.store.contract import Store
from pasps.testing.memory_store import MemoryStore, MemoryTree
from tests.unit.cluster.store_contract import CONTRACT
from tests.unit.cluster.store_harness import Promise, stand, until_seen


class MemoryStores:
    def __init__(self) -> None:
        self.tree = MemoryTree()
        self.opened: list[MemoryStore] = []

    async def open(self) -> Store:
        self.opened.append(self.tree.session())
        return self.opened[-1]

    async def lose(self, store: Store) -> None:
        self._own(store).lose()

    async def cut(self, store: Store) -> None:
        self._own(store).cut()

    async def mend(self, store: Store) -> None:
        self._own(store).mend()

    async def pause(self) -> None:
        await asyncio.sleep(0)

    async def close(self) -> None:
        for store in self.opened:
            await store.close()

    def _own(self, store: Store) -> MemoryStore:
        return next(own for own in self.opened if own is store)


async def on_memory(promise: Promise) -> None:
    stores = MemoryStores()
    await promise(stores)
    await stores.close()


@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
def test_the_memory_store_keeps_its_promise(promise: Promise) -> None:
    asyncio.run(on_memory(promise))


async def lost_while_cut() -> None:
    stores, events = MemoryStores(), list[str]()
    one, two = stores.tree.session(), stores.tree.session()
    await one.register("/hosts/a", b"")
    await one.candidate(*stand("one", events))
    await until_seen(stores, events, ["one elected"])
    one.cut()
    one.lose()
    await until_seen(stores, events, ["one elected", "one deposed"])
    assert await two.children("/hosts") == []
    assert await two.children("/election") == []
    one.mend()
    await asyncio.sleep(0)
    assert await two.children("/hosts") == ["a"]


def test_a_session_lost_while_it_is_cut_off_comes_back_when_that_is_mended() -> None:
    asyncio.run(lost_while_cut())


async def alone() -> list[str]:
    store = MemoryStore()
    await store.create("/a", b"")
    return await store.children("/")


def test_a_memory_store_of_its_own_needs_no_tree() -> None:
    assert asyncio.run(alone()) == ["a"]
