"""What outlives outages and lost sessions of the ZooKeeper store: registrations and watches."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from kazoo.exceptions import BadVersionError, NodeExistsError, NoNodeError

from pasps.cluster.store.contract import StoreUnavailableError
from pasps.cluster.store.zookeeper_connection import ZooKeeperConnection
from pasps.cluster.store.zookeeper_nodes import ZooKeeperNodes
from pasps.errors import BusyError, PaspsError

POLL_SECONDS = 10.0
"""How often is looked without having been told; under the watches as a safety net."""

RETRY_SECONDS = 1.0
_log = logging.getLogger(__name__)


async def wait_told(told: asyncio.Event, seconds: float) -> None:
    """Until it is told, at most that long."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await told.wait()


class ZooKeeperRegistration:
    """An ephemeral entry; the newest who registers a path has it, in whatever process.

    What somebody removed or took over stays so: only what a lost session took away is made again.
    """

    def __init__(self, connection: ZooKeeperConnection, path: str, value: bytes) -> None:
        self._connection, self._path, self._value = connection, path, value
        self._nodes = ZooKeeperNodes(connection)
        self._session: int | None = None
        """The session it was made in; None: it is not known to be there."""
        self._wanted = True
        self._busy = asyncio.Lock()

    @property
    def is_due(self) -> bool:
        """Whether `repair` has something to do."""
        return self._wanted != self._is_held()

    @property
    def is_over(self) -> bool:
        """Whether it is neither to be kept, nor to be taken away."""
        return not (self._wanted or self._is_held())

    async def withdraw(self) -> None:
        """See `Registration`. When ZooKeeper cannot be reached, it is taken away later."""
        self._wanted = False
        if self._connection.connected:
            with suppress(StoreUnavailableError):
                await self.repair()

    def abandon(self) -> None:
        """It may have been made or not, and is to be taken away."""
        self._wanted = False

    def forget(self) -> None:
        """Another registration of this session has the path now."""
        self._wanted, self._session = False, None

    async def take(self) -> None:
        """Make it, in the place of another's."""
        async with self._busy, self._connection.bounded(f"registering {self._path!r}"):
            while True:
                await self._connection.wait_connected()
                # before it is made: if that is not confirmed, only what is known to be of this session is taken away again
                self._session = self._connection.session
                try:
                    await self._nodes.make(self._path, self._value, ephemeral=True)
                    return
                except NodeExistsError:
                    if await self._replaced():
                        return

    async def repair(self) -> None:
        """Make it again, or take it away, if that is due. Not in the place of another's, nor when what was above it is gone."""
        async with self._busy, self._connection.bounded(f"keeping {self._path!r} registered"):
            session = self._connection.session
            if session is None or not self.is_due:
                return
            if self._wanted:
                await self._make_again(session)
            else:
                await self._take_away(session)

    def _is_held(self) -> bool:
        return self._session is not None and self._session == self._connection.session

    async def _replaced(self) -> bool:
        there = await self._nodes.find(self._path)
        if there is None:
            return False
        if not there.ephemeralOwner:
            raise BusyError(f"store: {self._path!r} exists, and is not ephemeral")
        try:
            await self._connection.replace_ephemeral(self._path, self._value, there.version)
        except (BadVersionError, NoNodeError, NodeExistsError):
            return False
        return True

    async def _make_again(self, session: int) -> None:
        try:
            await self._nodes.make_alone(self._path, self._value)
        except NodeExistsError:
            there = await self._nodes.find(self._path)
            if there is None or there.ephemeralOwner != session:
                return
        except NoNodeError:
            return
        self._session = session

    async def _take_away(self, session: int) -> None:
        there = await self._nodes.find(self._path)
        if there is not None and there.ephemeralOwner == session:
            with suppress(BadVersionError):  # somebody took it over just now
                await self._nodes.drop(self._path, there.version)
        self._session = None


class ZooKeeperWatch:
    """A subscription: looks, so that ZooKeeper tells the next change, and then calls `changed`. And again."""

    def __init__(self, connection: ZooKeeperConnection, path: str, changed: Callable[[], None]) -> None:
        self._connection, self._path, self._changed = connection, path, changed
        self._nodes = ZooKeeperNodes(connection)
        self._told = asyncio.Event()
        self.is_cancelled = False
        self._task = asyncio.get_running_loop().create_task(self._run(), name=f"watch {path}")

    def cancel(self) -> None:
        """See `Watch`."""
        self.is_cancelled = True
        self._task.cancel()

    async def _run(self) -> None:
        while True:
            await self._connection.wait_connected()
            # before looking: what changes behind the look is told into it
            self._told.clear()
            try:
                await self._look()
            except StoreUnavailableError:
                await wait_told(self._told, RETRY_SECONDS)
            except PaspsError as error:
                _log.warning("cannot watch %s: %s", self._path, error)
                await wait_told(self._told, POLL_SECONDS)
            else:
                # not called here: what it raises must not end the watch
                asyncio.get_running_loop().call_soon(self._call)
                await wait_told(self._told, POLL_SECONDS)

    async def _look(self) -> None:
        async with self._connection.bounded(f"watching {self._path!r}"):
            if await self._nodes.find(self._path, self._tell) is not None:
                await self._nodes.names(self._path, self._tell)

    def _tell(self, _event: Any) -> None:
        # in kazoo's thread; also when the connection is lost
        self._connection.post(self._told.set)

    def _call(self) -> None:
        if not self.is_cancelled:
            self._changed()
