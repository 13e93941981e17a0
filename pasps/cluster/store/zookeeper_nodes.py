"""Single entries in ZooKeeper, on one connection: what the store, its registrations, watches and candidacies are made of."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from kazoo.exceptions import NoChildrenForEphemeralsError, NodeExistsError, NoNodeError, NotEmptyError

from pasps.cluster.store.path import above, below
from pasps.cluster.store.zookeeper_connection import ZooKeeperConnection
from pasps.errors import InvalidError

Watcher = Callable[[Any], None]
"""Called once, in one of kazoo's threads."""


class ZooKeeperNodes:
    """Paths here are whole, with the chroot. To be used inside `ZooKeeperConnection.bounded`."""

    def __init__(self, connection: ZooKeeperConnection) -> None:
        self._call, self._acl = connection.call, connection.acl

    async def find(self, path: str, watcher: Watcher | None = None) -> Any | None:
        """What ZooKeeper knows of it, None when there is nothing; `watcher` is told when it is made, changed or removed."""
        return await self._call("exists", path, watcher)

    async def names(self, path: str, watcher: Watcher | None = None) -> list[str]:
        """What is below it, sorted; `watcher` is told when that changes, if there is an entry."""
        try:
            return sorted(await self._call("get_children", path, watcher))
        except NoNodeError:
            return []

    async def make(self, path: str, value: bytes, *, ephemeral: bool = False, sequence: bool = False) -> str:
        """Make it, and what is above it. Returns its path, which has a number at its end if `sequence`.

        Raises:
            NodeExistsError: it is there.
        """
        options = {"ephemeral": ephemeral, "sequence": sequence}
        try:
            while True:
                try:
                    return str(await self._call("create", path, value, self._acl(path), **options))
                except NoNodeError:  # something above it is missing, perhaps again
                    await self._make_above(path)
        except NoChildrenForEphemeralsError as error:
            raise InvalidError(f"store: nothing can be below an ephemeral entry, got {path!r}") from error

    async def make_alone(self, path: str, value: bytes) -> None:
        """Make an ephemeral entry, not what is above it.

        Raises:
            NodeExistsError: it is there.
            NoNodeError: what is above it is not.
        """
        await self._call("create", path, value, self._acl(path), ephemeral=True)

    async def drop(self, path: str, version: int = -1) -> None:
        """Take it away alone; nothing happens when it is not there.

        Raises:
            NotEmptyError: there is something below.
            BadVersionError: it has another version; -1 is every.
        """
        with suppress(NoNodeError):
            await self._call("delete", path, version)

    async def drop_all(self, path: str) -> None:
        """Take it away with all below, also what is made there meanwhile."""
        while True:
            for name in await self.names(path):
                await self.drop_all(below(path, name))
            with suppress(NotEmptyError):
                return await self.drop(path)

    async def _make_above(self, path: str) -> None:
        # the nearest first: what is farther up may be somebody's who lets nobody look, nor make what is there
        parent = above(path)
        try:
            with suppress(NodeExistsError):
                await self._call("create", parent, b"", self._acl(parent))
        except NoNodeError:
            await self._make_above(parent)
