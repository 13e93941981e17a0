"""Lets an event loop go round until something is so; and stores that do worse than being cut off."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from pasps.cluster.store.contract import Entry, StoreUnavailableError
from pasps.testing.memory_store import MemoryStore


async def rounds(count: int = 50) -> None:
    """Let everything happen that is due."""
    for _ in range(count):
        await asyncio.sleep(0)


async def until(condition: Callable[[], bool], what: str) -> None:
    """Until it holds, a thousand rounds at most."""
    for _ in range(1000):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError(f"waited in vain: {what}")


async def value_at(store: MemoryStore, path: str) -> bytes | None:
    entry = await store.read(path)
    return None if entry is None else entry.value


async def until_value(store: MemoryStore, path: str, value: bytes | None) -> None:
    """Until the store has it there; `store` is the session of somebody else."""
    for _ in range(1000):
        if await value_at(store, path) == value:
            return
    raise AssertionError(f"waited in vain for {value!r} at {path}, got {await value_at(store, path)!r}")


class HangingStore(MemoryStore):
    """Seems to be connected, but no write ever comes back; `hung` are those."""

    hung = 0

    async def write(self, path: str, value: bytes, expected: int | None = None) -> int:
        self.hung += 1
        await asyncio.Event().wait()
        return 0


class DoubtfulStore(MemoryStore):
    """Does the next write of `value`, but whoever wrote does not hear of it; `meanwhile` is called then."""

    def __init__(self, value: bytes, meanwhile: Callable[[], None]) -> None:
        super().__init__()
        self._value: bytes | None = value
        self._meanwhile = meanwhile

    async def write(self, path: str, value: bytes, expected: int | None = None) -> int:
        version = await super().write(path, value, expected)
        if value == self._value:
            self._value = None
            self._meanwhile()
            raise StoreUnavailableError("store: the connection was lost")
        return version


class StrangeStore(MemoryStore):
    """Its client fails in a way that nobody has thought of, whenever that path is written or read."""

    def __init__(self, path: str, *, reads: bool = False) -> None:
        super().__init__()
        self.path, self._reads = path, reads

    async def read(self, path: str) -> Entry | None:
        if self._reads and path == self.path:
            raise RuntimeError("nobody has thought of this")
        return await super().read(path)

    async def write(self, path: str, value: bytes, expected: int | None = None) -> int:
        if not self._reads and path == self.path:
            raise RuntimeError("nobody has thought of this")
        return await super().write(path, value, expected)
