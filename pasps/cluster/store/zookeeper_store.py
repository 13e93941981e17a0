"""The store in ZooKeeper. Keeps the contract of `Store`; `open_store` opens a session."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from kazoo.exceptions import BadVersionError, NodeExistsError, NoNodeError

from pasps.cluster.store.contract import ConflictError, Entry, StoreUnavailableError
from pasps.cluster.store.path import ROOT, below, checked, checked_name, checked_value, counted
from pasps.cluster.store.zookeeper_access import DriverAccess, MasterAccess, is_open
from pasps.cluster.store.zookeeper_address import checked_session_seconds, parse_connect
from pasps.cluster.store.zookeeper_connection import ZooKeeperConnection
from pasps.cluster.store.zookeeper_election import ZooKeeperCandidacy
from pasps.cluster.store.zookeeper_keeping import POLL_SECONDS, RETRY_SECONDS, ZooKeeperRegistration, ZooKeeperWatch, wait_told
from pasps.cluster.store.zookeeper_nodes import ZooKeeperNodes
from pasps.errors import BusyError, InvalidError, PaspsError

_OF_ZOOKEEPER = "/zookeeper"
_log = logging.getLogger(__name__)


async def open_store(connect: str, credentials: str | DriverAccess | None = None, session_seconds: float = 10) -> ZooKeeperStore:
    """Open a session with "h1:2181,h2:2181/chroot"; the chroot is made if need be. With `credentials` ("user:password") only they open
    the entries that are made, and a topology's those that a driver of it was given.

    Raises:
        InvalidError: an argument is wrong, the credentials do not open the chroot, or it is open to others as well.
        StoreUnavailableError: nobody answers there.
    """
    address = parse_connect(connect)
    access = MasterAccess(credentials) if isinstance(credentials, str) else credentials
    if access is not None and not address.chroot:
        cure = f"others may make what is missing there; give a path of the cluster's own, for example '{address.hosts}/pasps'"
        raise InvalidError(f"ZooKeeper connect string {connect!r}: credentials protect what is below a path, got the root; {cure}")
    connection = ZooKeeperConnection(address, access, checked_session_seconds(session_seconds))
    store = ZooKeeperStore(connection, address.chroot)
    try:
        await connection.open()
        if access is None or access.looks_around:
            await store.prepare()
    except BaseException:
        await store.close()
        raise
    return store


class ZooKeeperStore:
    """A session; `open_store` makes it."""

    def __init__(self, connection: ZooKeeperConnection, chroot: str) -> None:
        self._connection, self._chroot = connection, chroot
        self._nodes = ZooKeeperNodes(connection)
        self._registrations: dict[str, ZooKeeperRegistration] = {}
        self._watches: list[ZooKeeperWatch] = []
        self._candidacies: list[ZooKeeperCandidacy] = []
        self._changed = asyncio.Event()
        connection.listen(self._changed.set)
        self._keeper = asyncio.get_running_loop().create_task(self._keep(), name="keep registrations")

    @property
    def connected(self) -> bool:
        """See `Store`."""
        return self._connection.connected

    async def prepare(self) -> None:
        """Make the chroot, and see that it can be read, and with credentials by nobody else."""
        if self._chroot:
            async with self._connection.bounded(f"opening {self._chroot!r}"):
                try:
                    await self._connection.call("get", self._chroot)
                except NoNodeError:
                    with suppress(NodeExistsError):
                        await self._nodes.make(self._chroot, b"")
                await self._close_to_others()

    async def _close_to_others(self) -> None:
        """An empty chroot that was made by hand gets our ACL; of one that is in use nobody knows what else is open."""
        own = self._connection.acl(self._chroot)
        if own is None or not is_open((await self._connection.call("get_acls", self._chroot))[0]):
            return
        if await self._nodes.names(self._chroot):
            cure = "end its masters and remove it, or give another path"
            raise InvalidError(f"ZooKeeper: {self._chroot!r} was made without credentials, and is open to everybody; {cure}")
        await self._connection.call("set_acls", self._chroot, own)

    async def read(self, path: str) -> Entry | None:
        """See `Store`."""
        async with self._bounded("reading", path) as node:
            try:
                value, stat = await self._connection.call("get", node)
            except NoNodeError:
                return None
            return Entry(value or b"", stat.version)

    async def create(self, path: str, value: bytes) -> None:
        """See `Store`."""
        async with self._bounded("creating", path, value) as node:
            try:
                await self._nodes.make(node, value)
            except NodeExistsError as error:
                raise BusyError(f"store: {path!r} exists") from error

    async def write(self, path: str, value: bytes, expected: int | None = None) -> int:
        """See `Store`."""
        async with self._bounded("writing", path, value) as node:
            while True:
                try:
                    return await self._set(node, value, expected)
                except NoNodeError as error:
                    if expected is not None:
                        raise ConflictError(f"store: {path!r}: expected version {expected}, got nothing; read it again") from error
                except BadVersionError as error:
                    raise ConflictError(f"store: {path!r}: expected version {expected}, got another; read it again") from error
                with suppress(NodeExistsError):
                    await self._nodes.make(node, value)
                    return 0

    async def remove(self, path: str) -> None:
        """See `Store`."""
        async with self._bounded("removing", path) as node:
            if path == ROOT:
                raise InvalidError("store: the root cannot be removed")
            await self._nodes.drop_all(node)

    async def children(self, path: str) -> list[str]:
        """See `Store`."""
        async with self._bounded("listing", path) as node:
            return [name for name in await self._nodes.names(node) if below(node, name) != _OF_ZOOKEEPER]

    async def increment(self, path: str) -> int:
        """See `Store`. When it fails, a number may be skipped."""
        async with self._bounded("counting", path) as node:
            while True:
                with suppress(BadVersionError, NoNodeError, NodeExistsError):  # another one counted at the same time
                    return await self._count(path, node)

    async def register(self, path: str, value: bytes) -> ZooKeeperRegistration:
        """See `Store`. In the place of another's, who is not told; when it raises, nothing is kept."""
        node = self._node(path, value)
        registration = ZooKeeperRegistration(self._connection, node, value)
        before = self._registrations.pop(node, None)
        if before is not None:
            before.forget()
        self._registrations[node] = registration
        try:
            await registration.take()
        except BaseException:
            registration.abandon()  # it may have been made all the same
            self._changed.set()
            raise
        return registration

    def watch(self, path: str, changed: Callable[[], None]) -> ZooKeeperWatch:
        """See `Store`. Called once when it watches, and every ten seconds."""
        node = self._node(path)
        watch = ZooKeeperWatch(self._connection, node, changed)
        self._watches = [known for known in self._watches if not known.is_cancelled]
        self._watches.append(watch)
        return watch

    async def candidate(self, path: str, name: str, elected: Callable[[], None], deposed: Callable[[], None]) -> ZooKeeperCandidacy:
        """See `Store`. Stands as soon as ZooKeeper can be reached; does not raise when it cannot."""
        node = self._node(path)
        candidacy = ZooKeeperCandidacy(self._connection, node, checked_name(name), elected, deposed)
        self._candidacies.append(candidacy)
        return candidacy

    async def close(self) -> None:
        """See `Store`. A leader is deposed. When ZooKeeper cannot be reached, the session ends there when its time is over."""
        if self._connection.is_closed:
            return
        self._keeper.cancel()
        for watch in self._watches:
            watch.cancel()
        for candidacy in self._candidacies:
            await candidacy.stop()
        await self._connection.close()

    async def _keep(self) -> None:
        while True:
            await self._connection.wait_connected()
            self._changed.clear()
            await wait_told(self._changed, POLL_SECONDS if await self._repaired() else RETRY_SECONDS)

    async def _repaired(self) -> bool:
        for node, registration in tuple(self._registrations.items()):
            try:
                if registration.is_due:
                    await registration.repair()
            except StoreUnavailableError:
                return False
            except PaspsError as error:
                _log.warning("cannot keep a registration: %s", error)
            if registration.is_over and self._registrations.get(node) is registration:
                del self._registrations[node]
        return True

    async def _set(self, node: str, value: bytes, expected: int | None) -> int:
        stat = await self._connection.call("set", node, value, -1 if expected is None else expected)
        return int(stat.version)

    async def _count(self, path: str, node: str) -> int:
        if await self._nodes.find(node) is None:
            await self._nodes.make(node, b"1")
            return 1
        value, stat = await self._connection.call("get", node)
        count = counted(path, value or b"") + 1
        await self._set(node, b"%d" % count, stat.version)
        return count

    @asynccontextmanager
    async def _bounded(self, doing: str, path: str, value: bytes = b"") -> AsyncIterator[str]:
        node = self._node(path, value)
        async with self._connection.bounded(f"{doing} {path!r}"):
            yield node

    def _node(self, path: str, value: bytes = b"") -> str:
        self._connection.refuse_closed()
        checked_value(checked(path), value)
        return (self._chroot + path).rstrip("/") or ROOT
