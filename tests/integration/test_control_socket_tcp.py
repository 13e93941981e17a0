"""The control socket over TCP: it does nothing for who does not begin with the right token."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pasps.cluster.tokens import driver_token
from pasps.daemons import control_socket
from pasps.daemons.control_socket import MOST_CONNECTIONS, MOST_REQUEST_BYTES, MOST_STRANGERS, ControlSocket
from pasps.daemons.verbs import Verbs

pytestmark = pytest.mark.integration

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
HOST = "127.0.0.1"
TOKEN = driver_token("secret", "words")
HELLO = {"verb": "hello", "arguments": {"token": TOKEN}}
ADD = {"verb": "add"}


class Bench:
    """`add` counts how often it was called."""

    def __init__(self) -> None:
        self.count = 0
        self.verbs = Verbs()
        self.verbs.add("add", self._add)
        self.socket: ControlSocket
        self.opened: list[Streams] = []

    async def _add(self) -> int:
        self.count += 1
        return self.count

    async def connect(self) -> Streams:
        assert self.socket.address is not None
        self.opened.append(await asyncio.open_connection(*self.socket.address))
        return self.opened[-1]


@asynccontextmanager
async def benched() -> AsyncIterator[Bench]:
    bench = Bench()
    bench.socket = await ControlSocket.listen(HOST, bench.verbs, TOKEN)
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
        streams = await bench.connect()
        assert await ask(streams, HELLO) == {"ok": True, "result": {}}
        assert [(await ask(streams, ADD))["result"] for _ in range(3)] == [1, 2, 3]

    run(body)


def test_a_greeting_and_requests_in_one_piece_are_answered_in_order() -> None:
    async def body(bench: Bench) -> None:
        streams = await bench.connect()
        assert (await ask(streams, HELLO, ADD, ADD))["result"] == {}
        assert [json.loads(await streams[0].readline())["result"] for _ in range(2)] == [1, 2]

    run(body)


def test_each_connection_greets_for_itself() -> None:
    async def body(bench: Bench) -> None:
        known, unknown = await bench.connect(), await bench.connect()
        assert (await ask(known, HELLO))["ok"]
        assert (await ask(unknown, ADD))["error"]["kind"] == "AuthenticationError"
        assert (await ask(known, ADD))["result"] == 1

    run(body)


@pytest.mark.parametrize(
    ("first", "kind"),
    [
        (ADD, "AuthenticationError"),
        ({"verb": "add", "arguments": {"token": TOKEN}}, "AuthenticationError"),
        ({"verb": "hello"}, "AuthenticationError"),
        *(
            ({"verb": "hello", "arguments": {"token": wrong}}, "AuthenticationError")
            for wrong in ("", TOKEN[:-1], TOKEN + "0", TOKEN.upper(), "\u00e9", driver_token("secret", "others"), None, 1, [TOKEN], True)
        ),
        (b'{"verb": "hello", "arguments": {"token": "\\ud800"}}\n', "InvalidError"),
        (b"no json\n", "InvalidError"),
        (b"x" * (MOST_REQUEST_BYTES + 1), "ProtocolError"),
    ],
    ids=range(16),
)
def test_who_does_not_greet_rightly_gets_nothing_done(first: object, kind: str) -> None:
    async def body(bench: Bench) -> None:
        streams = await bench.connect()
        assert (await ask(streams, first, ADD))["error"]["kind"] == kind
        with contextlib.suppress(ConnectionResetError):  # it did not read the rest
            assert await streams[0].read() == b""
        assert bench.count == 0
        good = await bench.connect()
        assert (await ask(good, HELLO))["ok"]

    run(body)


def test_a_refusal_does_not_tell_the_token() -> None:
    async def body(bench: Bench) -> None:
        assert TOKEN not in json.dumps(await ask(await bench.connect(), ADD))

    run(body)


def test_who_greets_too_slowly_makes_room_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    async def body(bench: Bench) -> None:
        good = await bench.connect()
        assert (await ask(good, HELLO))["ok"]
        strangers = [await bench.connect() for _ in range(MOST_CONNECTIONS - 1)]
        strangers[0][1].write(b'{"verb":')
        for reader, _ in strangers:
            assert await reader.read() == b""
        assert (await ask(await bench.connect(), HELLO))["ok"]
        assert (await ask(good, ADD))["result"] == 1

    monkeypatch.setattr(control_socket, "GREETING_SECONDS", 0.3)
    run(body)


def test_strangers_that_hold_connections_open_keep_nobody_out() -> None:
    async def body(bench: Bench) -> None:
        good = await bench.connect()
        assert (await ask(good, HELLO))["ok"]
        for _ in range(MOST_CONNECTIONS + MOST_STRANGERS):
            await bench.connect()
        assert (await ask(await bench.connect(), HELLO))["ok"]
        assert (await ask(good, ADD))["result"] == 1
        assert await bench.opened[1][0].read() == b"", "the oldest was not closed"

    run(body)


def test_closing_ends_all_connections_and_frees_the_port() -> None:
    async def body(bench: Bench) -> None:
        known, unknown = await bench.connect(), await bench.connect()
        assert (await ask(known, HELLO))["ok"]
        await bench.socket.close()
        for reader, _ in (known, unknown):
            assert await reader.read() == b""
        with pytest.raises(ConnectionRefusedError):
            await bench.connect()

    run(body)


def test_an_interface_that_is_not_there_is_an_error_of_the_system() -> None:
    with pytest.raises(OSError, match="assign requested address"):
        asyncio.run(ControlSocket.listen("203.0.113.1", Verbs(), TOKEN))
