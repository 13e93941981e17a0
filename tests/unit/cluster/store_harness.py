"""For the contract of stores: what a promise is given, and how it waits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from pasps.cluster.store.contract import Store


class Stores(Protocol):
    """Sessions over one empty tree, and what can happen to them."""

    async def open(self) -> Store:
        """Another session."""

    async def lose(self, store: Store) -> None:
        """End the session without its doing."""

    async def cut(self, store: Store) -> None:
        """From now on it reaches nobody."""

    async def mend(self, store: Store) -> None:
        """It reaches them again."""

    async def pause(self) -> None:
        """Let something happen."""


Promise = Callable[[Stores], Awaitable[None]]


async def eventually(stores: Stores, condition: Callable[[], Awaitable[bool]], what: str) -> None:
    """Until it holds, a thousand pauses at most."""
    for _ in range(1000):
        if await condition():
            return
        await stores.pause()
    raise AssertionError(f"waited in vain: {what}")


async def value_of(store: Store, path: str) -> bytes | None:
    found = await store.read(path)
    return None if found is None else found.value


async def until_value(stores: Stores, store: Store, path: str, value: bytes | None) -> None:
    async def holds() -> bool:
        return await value_of(store, path) == value

    await eventually(stores, holds, f"{path} = {value!r}")


async def until_seen(stores: Stores, events: list[str], expected: list[str]) -> None:
    """Exactly these, in this order."""
    await until_many(stores, events, len(expected))
    assert events == expected


async def until_many(stores: Stores, events: list[str], count: int) -> None:
    async def holds() -> bool:
        return len(events) >= count

    await eventually(stores, holds, f"{count} events")


async def until_connected(stores: Stores, store: Store, connected: bool) -> None:
    async def holds() -> bool:
        return store.connected == connected

    await eventually(stores, holds, f"connected = {connected}")


async def until_children(stores: Stores, store: Store, count: int) -> None:
    async def holds() -> bool:
        return len(await store.children("/election")) == count

    await eventually(stores, holds, f"{count} candidates")


class Follower:
    """Reads what it watches whenever it is told, as users of a watch do."""

    def __init__(self, stores: Stores, store: Store, path: str) -> None:
        self._stores, self._store, self._path = stores, store, path
        self._told = asyncio.Event()
        self.calls = 0
        self.watch = store.watch(path, self._tell)

    def _tell(self) -> None:
        self.calls += 1
        self._told.set()

    async def sees(self, value: bytes | None, children: list[str]) -> None:
        """Fails when the last call came before that could be seen."""
        while True:
            await asyncio.wait_for(self._told.wait(), 8)
            self._told.clear()
            if (await value_of(self._store, self._path), await self._store.children(self._path)) == (value, children):
                return


def stand(name: str, events: list[str]) -> tuple[str, str, Callable[[], None], Callable[[], None]]:
    return "/election", name, lambda: events.append(f"{name} elected"), lambda: events.append(f"{name} deposed")
