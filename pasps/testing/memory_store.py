"""The store in this process, with sessions that can be lost and cut off: for tests. Keeps the contract of `Store`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from pasps.cluster.store.contract import ConflictError, Entry, StoreUnavailableError
from pasps.cluster.store.path import ROOT, checked, checked_name, checked_value, counted
from pasps.errors import ClosedError, InvalidError
from pasps.testing.memory_keeping import Kept, MemoryCandidacy, MemoryRegistration, MemoryWatch
from pasps.testing.memory_tree import Tree


class MemoryTree:
    """What several sessions share. Belongs to one event loop."""

    def __init__(self) -> None:
        self._tree = Tree()

    def session(self) -> MemoryStore:
        """A new session, as another process would have."""
        return MemoryStore(self._tree)


class MemoryStore:
    """A session; alone in its tree unless a `MemoryTree` made it."""

    def __init__(self, tree: Tree | None = None) -> None:
        self._tree = tree or Tree()
        self._closed = self._cut = False
        self._kept: list[Kept] = []
        self._watches: list[MemoryWatch] = []
        self._repair_due = False
        self._tree.listen(self._told)

    @property
    def connected(self) -> bool:
        """Neither cut off nor closed."""
        return not (self._cut or self._closed)

    async def read(self, path: str) -> Entry | None:
        """See `Store`."""
        await self._begin(path)
        found = self._tree.find(path)
        return None if found is None else Entry(found.value, found.version)

    async def create(self, path: str, value: bytes) -> None:
        """See `Store`."""
        await self._begin(path, value)
        self._tree.add(path, value)

    async def write(self, path: str, value: bytes, expected: int | None = None) -> int:
        """See `Store`."""
        await self._begin(path, value)
        found = self._tree.find(path)
        if expected is not None and (found is None or found.version != expected):
            got = "nothing" if found is None else f"version {found.version}"
            raise ConflictError(f"store: {path!r}: expected version {expected}, got {got}; read it again")
        if found is not None:
            return self._tree.change(path, value)
        self._tree.add(path, value)
        return 0

    async def remove(self, path: str) -> None:
        """See `Store`."""
        await self._begin(path)
        if path == ROOT:
            raise InvalidError("store: the root cannot be removed")
        self._tree.drop(path)

    async def children(self, path: str) -> list[str]:
        """See `Store`."""
        await self._begin(path)
        return self._tree.names(path)

    async def increment(self, path: str) -> int:
        """See `Store`."""
        await self._begin(path)
        found = self._tree.find(path)
        count = 1 if found is None else counted(path, found.value) + 1
        if found is None:
            self._tree.add(path, b"1")
        else:
            self._tree.change(path, b"%d" % count)
        return count

    async def register(self, path: str, value: bytes) -> MemoryRegistration:
        """See `Store`."""
        await self._begin(path, value)
        registration = MemoryRegistration(self._tree, path, value, self._is_reachable)
        registration.take()
        self._kept.append(registration)
        return registration

    def watch(self, path: str, changed: Callable[[], None]) -> MemoryWatch:
        """See `Store`."""
        self._refuse_closed()
        watch = MemoryWatch(checked(path), changed)
        self._watches.append(watch)
        watch.tell()
        return watch

    async def candidate(self, path: str, name: str, elected: Callable[[], None], deposed: Callable[[], None]) -> MemoryCandidacy:
        """See `Store`."""
        self._refuse_closed()
        candidacy = MemoryCandidacy(self._tree, checked(path), checked_name(name), elected, deposed, self._is_reachable)
        self._kept.append(candidacy)
        self._repair_soon()
        return candidacy

    async def close(self) -> None:
        """See `Store`."""
        if not self._closed:
            self._closed = True
            self._tree.forget(self._told)
            for watch in self._watches:
                watch.cancel()
            for kept in self._kept:
                kept.lose()
            await asyncio.sleep(0)

    def cut(self) -> None:
        """From now on it cannot be reached: calls raise StoreUnavailableError, and nobody is told anything."""
        self._cut = True

    def mend(self) -> None:
        """It can be reached again."""
        self._cut = False
        self._reconnected()

    def lose(self) -> None:
        """The session is lost, as after an outage that was longer than it may be; another begins, unless this one is cut off."""
        for kept in self._kept:
            kept.lose()
        self._reconnected()

    async def _begin(self, path: str, value: bytes = b"") -> None:
        self._refuse_closed()
        checked_value(checked(path), value)
        await asyncio.sleep(0)  # others run meanwhile, as they do while a server answers
        self._refuse_closed()
        if self._cut:
            raise StoreUnavailableError("store: cannot be reached; it was cut off")

    def _refuse_closed(self) -> None:
        if self._closed:
            raise ClosedError("store: the session was closed")

    def _is_reachable(self) -> bool:
        return self.connected

    def _reconnected(self) -> None:
        if self.connected:
            self._repair_soon()
            for watch in self._watches:
                watch.tell()

    def _told(self, path: str) -> None:
        if self.connected:
            self._repair_soon()
            for watch in self._watches:
                if watch.path == path:
                    watch.tell()

    def _repair_soon(self) -> None:
        if self._kept and not self._repair_due:
            self._repair_due = True
            asyncio.get_running_loop().call_soon(self._repair)

    def _repair(self) -> None:
        self._repair_due = False
        self._watches = [watch for watch in self._watches if watch.is_kept]
        for kept in self._kept:
            kept.repair()
        self._kept = [kept for kept in self._kept if not kept.is_over]
