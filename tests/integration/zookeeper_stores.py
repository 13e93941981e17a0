"""Stores on a real ZooKeeper, each on a line that can be cut; and a plain client of it."""

from __future__ import annotations

import asyncio
import contextlib
import struct
from collections.abc import Iterator
from typing import Self

from kazoo.client import KazooClient

from pasps.cluster.dev.zookeeper_server import LOOPBACK
from pasps.cluster.store.contract import Store
from pasps.cluster.store.zookeeper_store import open_store
from tests.integration.zookeeper_server import ZooKeeperServer, free_port

SESSION_SECONDS = 4


class Line:
    """A relay to a server, through which one session goes; it reads there who the session is."""

    def __init__(self, target: int) -> None:
        self.port = free_port()
        self.client_id: tuple[int, bytes] | None = None
        self._target = target
        self._flows = asyncio.Event()
        self._flows.set()
        self._listener: asyncio.Server | None = None
        self._ends: list[asyncio.StreamWriter] = []

    async def mend(self) -> None:
        self._listener = await asyncio.start_server(self._relay, LOOPBACK, self.port)

    async def cut(self) -> None:
        """Connections break, and no other can be made."""
        assert self._listener is not None
        self._listener.close()
        for end in self._ends:
            end.transport.abort()
        self._ends.clear()
        await asyncio.sleep(0)

    def hold(self) -> None:
        """Connections stay, and nothing passes."""
        self._flows.clear()

    def release(self) -> None:
        self._flows.set()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(OSError, asyncio.IncompleteReadError):
            server_reader, server_writer = await asyncio.open_connection(LOOPBACK, self._target)
            self._ends += [writer, server_writer]
            there = asyncio.create_task(self._pump(reader, server_writer))
            try:
                # the first answer: length, protocol version, time-out in ms, session number, password with its length
                hello = await server_reader.readexactly(4 + 4 + 4 + 8 + 4 + 16)
                self.client_id = struct.unpack_from(">q", hello, 12)[0], hello[24:40]
                writer.write(hello)
                await self._pump(server_reader, writer)
            finally:
                there.cancel()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                await self._flows.wait()
                writer.write(data)
                await writer.drain()
        writer.close()


class ZooKeeperStores:
    """Sessions in one chroot, each on its line; for the contract of stores."""

    def __init__(self, server: ZooKeeperServer, chroot: str, session_seconds: float = SESSION_SECONDS) -> None:
        self._server, self._chroot, self._session_seconds = server, chroot, session_seconds
        self._opened: list[tuple[Store, Line]] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        for store, line in self._opened:
            await store.close()
            await line.cut()

    async def open(self) -> Store:
        line = Line(self._server.port)
        await line.mend()
        store: Store = await open_store(f"{LOOPBACK}:{line.port}{self._chroot}", session_seconds=self._session_seconds)
        self._opened.append((store, line))
        return store

    async def lose(self, store: Store) -> None:
        """By ending its session in another client, which the server takes for it."""
        client_id = self.line(store).client_id
        await asyncio.to_thread(end_session, self._server.connect, client_id)

    async def cut(self, store: Store) -> None:
        await self.line(store).cut()

    async def mend(self, store: Store) -> None:
        await self.line(store).mend()

    async def pause(self) -> None:
        await asyncio.sleep(0.01)

    def line(self, store: Store) -> Line:
        return next(line for own, line in self._opened if own is store)


def end_session(connect: str, client_id: tuple[int, bytes] | None) -> None:
    with kazoo(connect, client_id):
        pass


@contextlib.contextmanager
def kazoo(connect: str, client_id: tuple[int, bytes] | None = None) -> Iterator[KazooClient]:
    """A client that knows no more than kazoo does."""
    client = KazooClient(connect, client_id=client_id)
    client.start()
    yield client
    client.stop()
    client.close()
