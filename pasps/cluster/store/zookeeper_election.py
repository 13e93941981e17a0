"""Elections in ZooKeeper: ephemeral entries with numbers, of which the smallest leads; each watches only the one before it."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from pasps.cluster.store.contract import StoreUnavailableError
from pasps.cluster.store.path import below, turn
from pasps.cluster.store.zookeeper_connection import ZooKeeperConnection
from pasps.cluster.store.zookeeper_keeping import POLL_SECONDS, RETRY_SECONDS, wait_told
from pasps.cluster.store.zookeeper_nodes import ZooKeeperNodes
from pasps.errors import PaspsError

_BEATS = 5
"""So many times per session time a leader has its entry confirmed."""

_LEASE = 0.8
"""The part of the session time for which a confirmation counts: nobody else can be elected before all of it has passed."""

_log = logging.getLogger(__name__)


class ZooKeeperCandidacy:
    """States: standing -> leading -> standing ..., until withdrawn.

    A leader holds a lease: its entry was confirmed by a request sent less than 0.8 session times ago. ZooKeeper keeps a session for a
    whole session time after it last heard of it, so a leader whose confirmations cease is deposed before another can be elected,
    and one whose connection was away for less than half a session time stays.
    """

    def __init__(
        self, connection: ZooKeeperConnection, path: str, name: str, elected: Callable[[], None], deposed: Callable[[], None]
    ) -> None:
        self._connection, self._path, self._name = connection, path, name
        self._elected, self._deposed = elected, deposed
        self._nodes = ZooKeeperNodes(connection)
        self._token = uuid.uuid4().hex  # finds the entry whose making was not confirmed
        self._told = asyncio.Event()
        self._leads = self._withdrawn = False
        self._loop = asyncio.get_running_loop()
        connection.listen(self._told.set)
        self._task = self._loop.create_task(self._run(), name=f"candidate {path}")

    async def withdraw(self) -> None:
        """See `Candidacy`. When ZooKeeper cannot be reached, its entry is taken away later."""
        if self._withdrawn:
            return
        await self.stop()
        try:
            if self._connection.connected:
                return await self._leave()
        except StoreUnavailableError:
            pass
        if not self._connection.is_closed:
            self._task = self._loop.create_task(self._leave_later(), name=f"withdraw {self._path}")

    async def stop(self) -> None:
        """Lead no more, before the session ends."""
        self._withdrawn = True
        self._connection.forget(self._told.set)
        self._task.cancel()
        await asyncio.wait([self._task])
        self._step_down()
        await asyncio.sleep(0)  # deposed runs before ZooKeeper hears of it

    async def _run(self) -> None:
        while True:
            await self._connection.wait_connected()
            try:
                await self._stand()
            except StoreUnavailableError:
                await wait_told(self._told, RETRY_SECONDS)
            except PaspsError as error:
                _log.warning("cannot stand for election at %s: %s", self._path, error)
                await wait_told(self._told, POLL_SECONDS)

    async def _stand(self) -> None:
        """One round: lead until deposed, or wait until the one before may be gone."""
        # before looking: what changes behind the look is told into it
        self._told.clear()
        async with self._connection.bounded(f"standing for election at {self._path!r}"):
            entry = await self._found() or await self._nodes.make(below(self._path, self._prefix), self._name.encode(), **_TURN)
            names = sorted(await self._nodes.names(self._path), key=turn)
            before = [name for name in names if turn(name) < turn(entry)]
            if before and await self._nodes.find(below(self._path, before[-1]), self._tell) is None:
                return
        if before:
            await wait_told(self._told, POLL_SECONDS)
        else:
            await self._lead(entry)

    async def _lead(self, entry: str) -> None:
        session, beat = self._connection.session, self._connection.session_seconds / _BEATS
        confirmed: float | None = None
        try:
            while self._connection.session == session is not None:
                confirmed = await self._confirmed(entry, session, confirmed)
                if confirmed is None:
                    return
                if not self._leads:
                    self._leads = True
                    self._loop.call_soon(self._elected)
                # what was told since the asking may be lost with this: no wait is longer than the lease
                self._told.clear()
                await wait_told(self._told, min(beat, self._left(confirmed)))
        finally:
            self._step_down()

    async def _confirmed(self, entry: str, session: int, before: float | None) -> float | None:
        """When the entry was last known to be there, as the time of asking; None: it is not, or the lease is over."""
        # of the asking, not of the answer: ZooKeeper cannot have heard of the session before it, so it keeps it for longer than the lease
        sent = self._loop.time()
        try:
            async with asyncio.timeout(None if before is None else self._left(before)):
                async with self._connection.bounded(f"leading at {self._path!r}"):
                    there = await self._nodes.find(entry, self._tell)
        except (StoreUnavailableError, TimeoutError):
            return before if before is not None and self._left(before) > 0 else None
        return sent if there is not None and there.ephemeralOwner == session else None

    def _left(self, confirmed: float) -> float:
        return confirmed + self._connection.session_seconds * _LEASE - self._loop.time()

    async def _found(self) -> str | None:
        own = [name for name in await self._nodes.names(self._path) if name.startswith(self._prefix)]
        return below(self._path, own[0]) if own else None

    async def _leave(self) -> None:
        async with self._connection.bounded(f"withdrawing from the election at {self._path!r}"):
            while (entry := await self._found()) is not None:
                await self._nodes.drop(entry)

    async def _leave_later(self) -> None:
        while True:
            await self._connection.wait_connected()
            with suppress(StoreUnavailableError):
                return await self._leave()
            await asyncio.sleep(RETRY_SECONDS)

    @property
    def _prefix(self) -> str:
        return f"{self._name}-{self._token}-"

    def _step_down(self) -> None:
        if self._leads:
            self._leads = False
            self._loop.call_soon(self._deposed)

    def _tell(self, _event: Any) -> None:
        # in kazoo's thread
        self._connection.post(self._told.set)


_TURN = {"ephemeral": True, "sequence": True}
