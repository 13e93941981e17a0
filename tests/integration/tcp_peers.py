"""Peers for the tests of TCP connections: a listening worker, a relay that cuts the line, and one that sends what it likes."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Callable
from typing import Any, Self

import pytest

from pasps.transport import handshake
from pasps.transport.frames import HEADER_BYTES, FrameReader, seal
from pasps.transport.handshake import Identity, Incarnations
from pasps.transport.messages import Mark
from pasps.transport.tcp import Endpoint, Listener, TcpConnection, dial, listen
from tests.unit.transport.contract import MOST_BYTES, ONE, TWO, Heard

SECRET = secrets.token_bytes(32)


HOST = "127.0.0.1"


def endpoint(identity: Identity, heard: Heard, **change: Any) -> Endpoint:
    settings: dict[str, Any] = {"secret": SECRET, "most_frame_bytes": MOST_BYTES} | change
    return Endpoint(identity=identity, on_message=heard.on_message, on_lost=heard.on_lost, on_refused=heard.on_refused, **settings)


async def until(condition: Callable[[], object], what: str) -> None:
    """Waits for something that another task or the system does."""
    for _ in range(2000):
        if condition():
            return
        await asyncio.sleep(0.005)
    raise AssertionError(f"waited 10 s for {what}")


class Server:
    """TWO, listening, with all connections that it accepted."""

    def __init__(self) -> None:
        self.heard = Heard()
        self.accepted: list[TcpConnection] = []
        self.listener: Listener

    async def dial(self, heard: Heard, identity: Identity = ONE, **change: Any) -> TcpConnection:
        return await dial(HOST, self.listener.port, endpoint(identity, heard, **change), "two")


@contextlib.asynccontextmanager
async def serving(**change: Any) -> AsyncIterator[Server]:
    server = Server()
    server.listener = await listen(HOST, 0, endpoint(TWO, server.heard, **change), server.accepted.append)
    try:
        yield server
    finally:
        server.listener.close()
        for connection in server.accepted:
            connection.abort()
        await until(lambda: len(server.heard.losses) == len(server.accepted), "the end of all connections")


class Relay:
    """A port in between, so that a test can cut the line or count what passes; `keep` bytes of each direction get through."""

    def __init__(self, target: int, keep: int | None = None) -> None:
        self._target, self._keep = target, keep
        self._writers: list[asyncio.StreamWriter] = []
        self._server: asyncio.Server

    async def start(self) -> int:
        self._server = await asyncio.start_server(self._serve, HOST, 0)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    def cut(self) -> None:
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(HOST, self._target)
        self._writers += [writer, far_writer]
        await asyncio.gather(self._pipe(reader, far_writer, self._keep), self._pipe(far_reader, writer, None))

    async def _pipe(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, keep: int | None) -> None:
        passed = 0
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65536):
                data = data if keep is None else data[: keep - passed]
                passed += len(data)
                writer.write(data)
                await writer.drain()
                if passed == keep:
                    break
        writer.close()


async def good_peer_still_works(server: Server) -> None:
    heard = Heard()
    count = len(server.heard.messages)
    connection = await server.dial(heard)
    connection.send(Mark(77))
    await until(lambda: len(server.heard.messages) == count + 1, "the message of a good peer")
    assert server.heard.messages[-1] == Mark(77)
    connection.close()
    await until(lambda: heard.losses, "the good peer's end")


def frame(payload: bytes) -> bytes:
    return bytes(seal(bytearray(HEADER_BYTES) + payload))


class RawPeer:
    """ONE, with the handshake done by hand, so that it can then send anything."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def __aenter__(self) -> Self:
        self.reader, self.writer = await asyncio.open_connection(HOST, self._port)
        self._frames = FrameReader(1024)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.writer.close()

    async def prove(self, *more: bytes) -> None:
        """Shakes hands; `more` goes out in one piece with the last step."""
        steps = handshake.dialer(ONE, SECRET, secrets.token_bytes(32), Incarnations())
        hello = next(steps)
        assert hello is not None
        self.writer.write(frame(hello))
        proof = steps.send(await self._payload())
        assert proof is not None
        self.writer.write(frame(proof) + b"".join(more))
        with pytest.raises(StopIteration):
            steps.send(await self._payload())

    async def _payload(self) -> memoryview:
        while True:
            for payload in self._frames.feed(await asyncio.wait_for(self.reader.read(4096), 10)):
                return payload
