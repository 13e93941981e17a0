"""One ZooKeeper session on an asyncio loop: kazoo's threads are behind it, and it waits for none of them."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import (
    AuthFailedError,
    ConnectionClosedError,
    ConnectionLoss,
    KazooException,
    NoAuthError,
    OperationTimeoutError,
    SessionExpiredError,
)
from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.protocol.states import KazooState
from kazoo.retry import KazooRetry
from kazoo.security import ACL

from pasps.cluster.store.contract import StoreUnavailableError
from pasps.cluster.store.zookeeper_access import Access
from pasps.cluster.store.zookeeper_address import ZooKeeperAddress
from pasps.errors import BrokenError, ClosedError, InvalidError

CALL_SECONDS = 3.0
"""A call that has no answer after this time fails."""

_DIAL_SECONDS = 2.0  # a host that is gone does not answer at all, and others wait to be tried
_log = logging.getLogger(__name__)
_UNREACHABLE = (AuthFailedError, ConnectionClosedError, ConnectionLoss, OperationTimeoutError, SessionExpiredError)


class ZooKeeperConnection:
    """Belongs to one event loop.

    States: closed -> (open) -> connected <-> suspended -> lost -> connected, with another session -> (close) -> closed.
    In suspended and lost, calls wait for the connection as long as they may take; kazoo dials on and on.
    """

    def __init__(self, address: ZooKeeperAddress, access: Access | None, session_seconds: float) -> None:
        self.session: int | None = None
        """The session's number; None before there is one and after it was lost."""
        self.session_seconds = session_seconds
        self.hosts = address.hosts
        self.is_closed = False
        self._access, self._chroot = access, address.chroot
        self._loop = asyncio.get_running_loop()
        self._open_seconds = CALL_SECONDS + _DIAL_SECONDS * address.count
        self._up = asyncio.Event()
        self._down_since: float | None = None
        self._listeners: list[Callable[[], None]] = []
        self._noise = _Noise()
        self._client = KazooClient(
            hosts=address.hosts,
            timeout=session_seconds,
            handler=_Handler(),
            auth_data=None if access is None else [("digest", access.credentials)],
            connection_retry=KazooRetry(max_tries=-1, delay=0.1, max_delay=1.0),
            logger=self._noise,
        )

    @property
    def connected(self) -> bool:
        """Whether ZooKeeper can be reached, as far as is known."""
        return self._up.is_set()

    def acl(self, path: str) -> list[ACL] | None:
        """Who may do what with an entry of that whole path; None: everybody everything."""
        if self._access is None:
            return None
        # what is above the chroot is of no topology
        return self._access.acl(path[len(self._chroot) :] if path.startswith(f"{self._chroot}/") else "/")

    def listen(self, changed: Callable[[], None]) -> None:
        """Call it on the loop whenever the connection or the session was lost or is there again."""
        self._listeners.append(changed)

    def forget(self, changed: Callable[[], None]) -> None:
        """Call it no more."""
        with suppress(ValueError):
            self._listeners.remove(changed)

    async def open(self) -> None:
        """Connect.

        Raises:
            StoreUnavailableError: nobody answers; names the hosts and the cure.
        """
        self._client.add_listener(self._state_changed)
        self._client.start_async()
        try:
            async with asyncio.timeout(self._open_seconds):
                await self._up.wait()
        except TimeoutError as error:
            why = f" ({self._noise.last})" if self._noise.last else ""
            raise StoreUnavailableError(
                f"ZooKeeper at {self.hosts} does not answer within {self._open_seconds:g} s{why}; start it, or correct its hosts and ports"
            ) from error

    async def wait_connected(self) -> None:
        """Until it can be reached."""
        await self._up.wait()

    @asynccontextmanager
    async def bounded(self, what: str) -> AsyncIterator[None]:
        """What is done inside takes a few seconds at most, and fails as `Store` says; `what` is told in the errors."""
        self.refuse_closed()
        try:
            async with asyncio.timeout(CALL_SECONDS):
                yield
        except TimeoutError as error:
            self.refuse_closed()
            raise StoreUnavailableError(f"ZooKeeper at {self.hosts} does not answer within {CALL_SECONDS:g} s; {what}") from error
        except _UNREACHABLE as error:
            self.refuse_closed()
            raise StoreUnavailableError(f"ZooKeeper at {self.hosts}: {type(error).__name__}; {what}") from error
        except NoAuthError as error:
            raise InvalidError(f"ZooKeeper at {self.hosts} refuses it; {what}; give the credentials that it was made with") from error
        except KazooException as error:
            raise BrokenError(f"ZooKeeper at {self.hosts}: {type(error).__name__} {error}; {what}") from error

    async def call(self, operation: str, *arguments: Any, **options: Any) -> Any:
        """Do an operation of kazoo, when connected; its own errors pass. To be used inside `bounded`."""
        await self._up.wait()
        return await self.result(getattr(self._client, f"{operation}_async")(*arguments, **options))

    async def replace_ephemeral(self, path: str, value: bytes, version: int) -> None:
        """Put one of this session in the place of another, at once. Fails with the error of what failed."""
        await self._up.wait()
        request = self._client.transaction()
        request.delete(path, version)
        request.create(path, value, self.acl(path), ephemeral=True)
        if version == 0:  # so that its version is another, and whoever meant to take away the one before takes away none
            request.set_data(path, value)
        for answer in await self.result(request.commit_async()):
            if isinstance(answer, KazooException):
                raise answer

    async def result(self, pending: Any) -> Any:
        """What one of kazoo's promises comes to."""
        future: asyncio.Future[Any] = self._loop.create_future()
        pending.rawlink(lambda done: self.post(_settle, future, done))
        return await future

    def post(self, callback: Callable[..., object], *arguments: Any) -> None:
        """Call it on the loop; from any thread, and for nothing when the loop has ended."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(callback, *arguments)

    def refuse_closed(self) -> None:
        """Raise ClosedError when it was closed."""
        if self.is_closed:
            raise ClosedError("store: the session was closed")

    async def close(self) -> None:
        """End the session, or let it expire when ZooKeeper cannot be reached. More calls do nothing."""
        if self.is_closed:
            return
        self.is_closed = True
        self._up.clear()
        ended = asyncio.Event()
        # a thread that nobody waits for at the end of the process: kazoo may need ten seconds to give up a connection
        threading.Thread(target=self._stop, args=(ended,), name="zookeeper-stop", daemon=True).start()
        with suppress(TimeoutError):
            async with asyncio.timeout(CALL_SECONDS):
                await ended.wait()

    def _stop(self, ended: asyncio.Event) -> None:
        try:
            self._client.stop()
            self._client.close()
        except (KazooException, OSError) as error:
            _log.debug("the end of the session at %s: %r", self.hosts, error)
        finally:
            self.post(ended.set)

    def _state_changed(self, state: str) -> None:
        # in kazoo's thread, the one that sends too, while the state lasts
        if state == KazooState.CONNECTED:
            self._drop_what_is_late()
        found = self._client.client_id
        self.post(self._take_state, state, None if found is None else found[0])

    def _drop_what_is_late(self) -> None:
        """Fail what was asked for after kazoo had lost the connection and before the loop was told.

        Kazoo fails what it has when it loses the connection, and would send what comes then as soon as it is there again: whoever asked
        has been told long ago that it failed, and may have done something else about it.
        """
        queue, ends = self._client._queue, []  # noqa: SLF001 - there is no other way to take a request back
        while queue:
            late = queue.popleft()
            if late[1] is None:
                ends.append(late)  # nobody waits for the end of the session, and it is still wanted
            else:
                late[1].set_exception(ConnectionLoss())
        queue.extend(ends)

    def _take_state(self, state: str, session: int | None) -> None:
        if self.is_closed:
            return
        if state == KazooState.CONNECTED:
            self._log_up(session)
            self.session = session
            self._up.set()
        else:
            self._up.clear()
            self.session = None if state == KazooState.LOST else self.session
            if self._down_since is None:
                self._down_since = self._loop.time()
                _log.warning("ZooKeeper at %s cannot be reached; going on with what is known", self.hosts)
        for changed in tuple(self._listeners):
            changed()

    def _log_up(self, session: int | None) -> None:
        if self._down_since is not None:
            lost = "" if session == self.session else "; the session was lost, another has begun"
            _log.warning("ZooKeeper at %s answers again, after %.1f s%s", self.hosts, self._loop.time() - self._down_since, lost)
            self._down_since = None


class _Handler(SequentialThreadingHandler):  # type: ignore[misc]  # kazoo has no types
    """Kazoo's threads, which do not wait a whole session for a host that is gone."""

    def create_connection(self, *arguments: Any, timeout: float | None = None, **options: Any) -> Any:
        return super().create_connection(*arguments, timeout=min(timeout or _DIAL_SECONDS, _DIAL_SECONDS), **options)


class _Noise(logging.Logger):
    """What kazoo logs: its errors pass, the last of its many warnings is kept."""

    def __init__(self) -> None:
        super().__init__(__name__, logging.WARNING)
        self.last = ""

    def handle(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.ERROR:
            _log.handle(record)
        else:
            self.last = record.getMessage()


def _settle(future: asyncio.Future[Any], done: Any) -> None:
    if future.done():
        return
    if done.exception is None:
        future.set_result(done.value)
    else:
        future.set_exception(done.exception)
