"""One master as a process: from its first contact with the store until a signal ends it. Drivers go on without it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
from collections.abc import Callable, Iterator, Sequence

from pasps.clock import SystemClock
from pasps.cluster.master.app import create_app
from pasps.cluster.master.assemble import Means, assemble
from pasps.cluster.master.driver_process import DRIVER_PROGRAM, DriverProcesses
from pasps.cluster.master.home import Home
from pasps.cluster.master.packages import open_packages
from pasps.cluster.master.records import Member
from pasps.cluster.master.settings import Settings
from pasps.cluster.store.zookeeper_store import open_store
from pasps.errors import InvalidError
from pasps.topology.process_identity import started
from pasps.topology.run_record import host
from pasps.transport.entrance import listening_socket
from pasps.transport.http_server import HttpServer

_log = logging.getLogger(__name__)

_SETTLE_SECONDS = 2.0
"""So long it waits to be elected before it answers; a predecessor that was killed holds the lead until its session is over."""
_ENDING = (signal.SIGTERM, signal.SIGINT)
Announce = Callable[[str], None]


def serve(settings: Settings, announce: Announce, program: Sequence[str] = DRIVER_PROGRAM) -> None:
    """Blocks; for the main thread. `announce` gets one line when it answers; `program` is what drivers are started as.

    Raises:
        InvalidError: it cannot be started like this: an address that is taken, a location that cannot be written, other masters.
        BusyError: another master uses its home.
        StoreUnavailableError: ZooKeeper cannot be reached.
    """
    with Home(settings.home) as home, _listening(settings) as listener:
        token = settings.token
        if token is None:
            token = home.token()
            _log.info("clients need the token in %s", home.token_path)
        key = settings.signing_key or token
        processes = DriverProcesses(settings, home, key, program)
        means = Means(
            open_packages(settings.packages, home.packages),
            processes,
            token,
            SystemClock(),
            home.incoming,
            signing=key,
        )
        # a mask is inherited, and neither this process nor its drivers may ignore the end
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
        try:
            with contextlib.suppress(asyncio.CancelledError):
                asyncio.run(_run(settings, means, listener, announce))
        finally:
            processes.close()


async def _run(settings: Settings, means: Means, listener: socket.socket, announce: Announce) -> None:
    """1. Open the session. 2. Join the other masters. 3. Answer. 4. Step down, in the opposite order."""
    ending = _Ending()
    store = await open_store(settings.zookeeper, settings.zookeeper_auth, settings.session_seconds)
    try:
        url = settings.url(listener.getsockname()[1])
        master = assemble(store, _member(settings, url), means)
        try:
            await master.leadership.join(master.reconciler.wake)
            await master.leadership.wait_settled(_SETTLE_SECONDS)
            reconciling = asyncio.create_task(master.reconciler.run())
            server = _Server(create_app(master.parts, means.token), listener, url, announce)
            ending.end_gently(server)
            try:
                await server.serve()
            finally:
                reconciling.cancel()
                await asyncio.gather(reconciling, return_exceptions=True)
        finally:
            await master.leadership.close()
    finally:
        await store.close()


class _Ending:
    """What a signal does: it cancels the running task while that still begins, and later asks the server to end."""

    def __init__(self) -> None:
        self._server: _Server | None = None
        self._task = asyncio.current_task()
        for number in _ENDING:
            asyncio.get_running_loop().add_signal_handler(number, self._end)

    def end_gently(self, server: _Server) -> None:
        self._server = server

    def _end(self) -> None:
        if self._server is not None:
            self._server.should_exit = True
        elif self._task is not None:
            self._task.cancel()


class _Server(HttpServer):
    """Says where it listens, and leaves signals to its owner."""

    def __init__(self, app: object, listening: socket.socket, url: str, announce: Announce) -> None:
        super().__init__(app, listening)
        self._told_url, self._announce = url, announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._announce(f"master listening on {self._told_url}")

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _member(settings: Settings, url: str) -> Member:
    pid = os.getpid()
    return Member(url, host(), pid, started(pid) or "", settings.packages or "", settings.token is not None)


def _listening(settings: Settings) -> socket.socket:
    try:
        return listening_socket(settings.host, settings.port)
    except OSError as error:
        where = f"{settings.host} port {settings.port}"
        raise InvalidError(f"cannot listen on {where}: {error.strerror or error}; choose another with --host and --port") from error
