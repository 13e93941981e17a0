"""The control socket over TCP: it does nothing for who does not prove first that it has the driver's secret."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pasps.cluster.store.tokens import driver_token
from pasps.errors import AuthenticationError
from pasps.topology import control_socket
from pasps.topology.control_socket import DRIVER, MASTER, MOST_CONNECTIONS, MOST_REQUEST_BYTES, ControlSocket
from pasps.topology.verbs import Verb, Verbs
from pasps.transport.entrance import MOST_INSIDE
from pasps.transport.handshake import Identity, greet

pytestmark = pytest.mark.integration

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
HOST = "127.0.0.1"
EPOCH = 3
TOKEN = driver_token("secret", "words", EPOCH)
ADD = {"verb": "add"}


class Add(Verb[int], frozen=True):
    name = "add"


class Bench:
    """`add` counts how often it was called."""

    def __init__(self) -> None:
        self.count = 0
        self.verbs = Verbs()
        self.verbs.add(Add, self._add)
        self.socket: ControlSocket
        self.opened: list[Streams] = []

    async def _add(self, _: Add) -> int:
        self.count += 1
        return self.count

    async def connect(self) -> Streams:
        assert self.socket.address is not None
        self.opened.append(await asyncio.open_connection(*self.socket.address))
        return self.opened[-1]

    async def greeted(self, token: str = TOKEN, topology: str = "words") -> Streams:
        reader, writer = await self.connect()

        async def write(data: bytes) -> None:
            writer.write(data)

        await greet(Identity(topology, MASTER, 0), token.encode(), DRIVER, reader.readexactly, write)
        return reader, writer


@asynccontextmanager
async def benched() -> AsyncIterator[Bench]:
    bench = Bench()
    bench.socket = await ControlSocket.listen(HOST, bench.verbs, "words", EPOCH, TOKEN)
    try:
        yield bench
    finally:
        await bench.socket.close(0.0)
        for _, writer in bench.opened:
            writer.close()
            await asyncio.gather(writer.wait_closed(), return_exceptions=True)


def run(body: Callable[[Bench], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with asyncio.timeout(20), benched() as bench:
            await body(bench)

    asyncio.run(whole())


async def ask(streams: Streams, *requests: object) -> Any:
    """What is answered to the first of them; all are sent at once."""
    reader, writer = streams
    writer.write(b"".join(one if isinstance(one, bytes) else json.dumps(one).encode() + b"\n" for one in requests))
    return json.loads(await reader.readline())


def test_who_greets_may_ask_as_often_as_it_likes() -> None:
    async def body(bench: Bench) -> None:
        assert bench.socket.address is not None
        assert bench.socket.address[0] == HOST
        streams = await bench.greeted()
        assert [(await ask(streams, ADD))["result"] for _ in range(3)] == [1, 2, 3]

    run(body)


def test_each_connection_proves_itself() -> None:
    async def body(bench: Bench) -> None:
        known, unknown = await bench.greeted(), await bench.connect()
        unknown[1].write(json.dumps(ADD).encode() + b"\n")
        assert b"result" not in await unknown[0].read()
        assert (await ask(known, ADD))["result"] == 1

    run(body)


@pytest.mark.parametrize(
    ("topology", "token"),
    [
        ("words", driver_token("other", "words", EPOCH)),
        ("words", driver_token("secret", "words", EPOCH - 1)),
        ("words", driver_token("secret", "words", EPOCH + 1)),
        ("others", driver_token("secret", "others", EPOCH)),
        ("words", ""),
    ],
    ids=["token", "older", "newer", "topology", "nothing"],
)
def test_who_has_another_secret_gets_nothing_done(topology: str, token: str) -> None:
    async def body(bench: Bench) -> None:
        with pytest.raises(AuthenticationError):
            await bench.greeted(token, topology)
        assert await bench.opened[0][0].read() == b""
        assert (await ask(await bench.greeted(), ADD))["result"] == 1

    run(body)


@pytest.mark.parametrize(
    "said", [b"no json\n", json.dumps(ADD).encode() + b"\n", b"\0\0\0\0", b"\0\0\4\0" + bytes(1024), b"x" * MOST_REQUEST_BYTES]
)
def test_who_says_something_else_gets_nothing_done(said: bytes) -> None:
    async def body(bench: Bench) -> None:
        reader, writer = await bench.connect()
        writer.write(said)
        with contextlib.suppress(ConnectionResetError):  # it did not read all of it
            assert b"PASPS" in await reader.read()
        assert bench.count == 0
        assert (await ask(await bench.greeted(), ADD))["result"] == 1

    run(body)


def test_nothing_that_passes_opens_the_port_again() -> None:
    """Who has taken the port of a driver that is gone hears what a master says, and says it at the next one's."""

    async def body(bench: Bench) -> None:
        heard, true = bytearray(), bench.socket.address
        assert true is not None

        async def between(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            far_reader, far_writer = await asyncio.open_connection(*true)

            async def passed_on(one: asyncio.StreamReader, other: asyncio.StreamWriter) -> None:
                while data := await one.read(1000):
                    if one is reader:
                        heard.extend(data)
                    other.write(data)

            await asyncio.gather(passed_on(reader, far_writer), passed_on(far_reader, writer))
            far_writer.close()
            writer.close()

        async with await asyncio.start_server(between, HOST, 0) as server:
            bench.socket.address = server.sockets[0].getsockname()[:2]
            _, through = await bench.greeted()
            bench.socket.address = true
            assert TOKEN.encode() not in heard
            assert b"secret" not in heard
            reader, writer = await bench.connect()
            writer.write(bytes(heard) + json.dumps(ADD).encode() + b"\n")
            assert b"does not hold" in await reader.read()
            assert bench.count == 0
            through.close()

    run(body)


def test_who_is_too_slow_makes_room_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_socket, "GREETING_SECONDS", 0.3)

    async def body(bench: Bench) -> None:
        good = await bench.greeted()
        strangers = [await bench.connect() for _ in range(MOST_CONNECTIONS - 1)]
        strangers[0][1].write(b"\0\0")
        for reader, _ in strangers:
            assert await reader.read() == b""
        assert (await ask(await bench.greeted(), ADD))["ok"]
        assert (await ask(good, ADD))["result"] == 2

    run(body)


@pytest.mark.parametrize("said", [b"", b"\0\0"], ids=["silent", "half a word"])
def test_strangers_that_hold_connections_open_keep_nobody_out(said: bytes) -> None:
    async def body(bench: Bench) -> None:
        good = await bench.greeted()
        for _ in range(2 * MOST_INSIDE):
            (await bench.connect())[1].write(said)
        assert (await ask(await bench.greeted(), ADD))["ok"]
        assert (await ask(good, ADD))["result"] == 2
        with contextlib.suppress(ConnectionResetError):
            assert await bench.opened[1][0].read() == b"", "the oldest was not closed"

    run(body)


def test_closing_ends_all_connections_and_frees_the_port() -> None:
    async def body(bench: Bench) -> None:
        known, unknown = await bench.greeted(), await bench.connect()
        await bench.socket.close()
        for reader, _ in (known, unknown):
            assert await reader.read() == b""
        with pytest.raises(ConnectionRefusedError):
            await bench.connect()

    run(body)


def test_an_interface_that_is_not_there_is_an_error_of_the_system() -> None:
    with pytest.raises(OSError, match="assign requested address"):
        asyncio.run(ControlSocket.listen("203.0.113.1", Verbs(), "words", EPOCH, TOKEN))
