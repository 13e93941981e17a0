from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pasps.topology.control_socket import MOST_CONNECTIONS, MOST_REQUEST_BYTES, ControlSocket
from pasps.topology.verbs import Verb, Verbs

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Echo(Verb[str], frozen=True):
    name = "echo"

    word: str


class Wait(Verb[str], frozen=True):
    name = "wait"


class Flood(Verb[str], frozen=True):
    name = "flood"


class Table(Verbs):
    """`echo` answers, `wait` does when it is let, `flood` with more than a socket takes."""

    def __init__(self) -> None:
        super().__init__()
        self.let = asyncio.Event()
        self.add(Echo, self._echo)
        self.add(Wait, self._wait)
        self.add(Flood, self._flood)

    async def _echo(self, asked: Echo) -> str:
        return asked.word

    async def _wait(self, _: Wait) -> str:
        await self.let.wait()
        return "let"

    async def _flood(self, _: Flood) -> str:
        return "x" * (8 << 20)


class Bench:
    def __init__(self, path: str) -> None:
        self.path = path
        self.table = Table()
        self.socket: ControlSocket
        self.opened: list[Streams] = []

    def mode(self) -> int:
        return os.stat(self.path).st_mode & 0o777

    async def connect(self) -> Streams:
        streams = await asyncio.open_unix_connection(self.path, limit=16 << 20)
        self.opened.append(streams)
        return streams


@pytest.fixture
def path() -> Iterator[str]:
    """Not in `tmp_path`, which is too long for some systems."""
    with tempfile.TemporaryDirectory(prefix="pasps-test-") as place:
        yield os.path.join(place, "control.sock")


@asynccontextmanager
async def bench_at(path: str) -> AsyncIterator[Bench]:
    bench = Bench(path)
    bench.socket = await ControlSocket.open(path, bench.table)
    try:
        yield bench
    finally:
        await bench.socket.close(0.0)
        for _, writer in bench.opened:
            writer.close()
            await asyncio.gather(writer.wait_closed(), return_exceptions=True)


def run(path: str, body: Callable[[Bench], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with bench_at(path) as bench, asyncio.timeout(5):
            await body(bench)

    asyncio.run(whole())


async def ask(streams: Streams, request: object) -> Any:
    reader, writer = streams
    writer.write(request if isinstance(request, bytes) else json.dumps(request).encode() + b"\n")
    return json.loads(await reader.readline())


def echo(word: str) -> dict[str, Any]:
    return {"verb": "echo", "arguments": {"word": word}}


def test_many_requests_of_one_connection_one_after_the_other(path: str) -> None:
    async def body(bench: Bench) -> None:
        streams = await bench.connect()
        assert [await ask(streams, echo(word)) for word in "ab"] == [{"ok": True, "result": "a"}, {"ok": True, "result": "b"}]
        assert (await ask(streams, {"verb": "eco"}))["error"]["kind"] == "InvalidError"
        assert (await ask(streams, echo("c")))["result"] == "c"
        assert bench.mode() == 0o600

    run(path, body)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (b"no json\n", "InvalidError"),
        (b"\xff\n", "InvalidError"),
        (b"[]\n", "InvalidError"),
        (b"{}\n", "InvalidError"),
        (b'{"verb": 3}\n', "InvalidError"),
        (b'{"verb": "echo", "arguments": []}\n', "InvalidError"),
        (b'{"verb": "echo", "more": 1}\n', "InvalidError"),
        (b"x" * (MOST_REQUEST_BYTES + 1), "ProtocolError"),
    ],
)
def test_what_is_no_request_ends_its_own_connection_alone(path: str, line: bytes, kind: str) -> None:
    async def body(bench: Bench) -> None:
        good, bad = await bench.connect(), await bench.connect()
        assert (await ask(bad, line))["error"]["kind"] == kind
        assert await bad[0].read() == b""
        assert (await ask(good, echo("a")))["result"] == "a"

    run(path, body)


def test_who_hangs_holds_up_nobody(path: str) -> None:
    async def body(bench: Bench) -> None:
        silent, halfway, waiting, deaf, good = [await bench.connect() for _ in range(5)]
        halfway[1].write(b'{"verb":')
        waiting[1].write(b'{"verb": "wait"}\n')
        deaf[1].write(b'{"verb": "flood"}\n')
        assert (await ask(good, echo("a")))["result"] == "a"
        bench.table.let.set()
        assert json.loads(await waiting[0].readline())["result"] == "let"
        assert silent[0].at_eof() is False

    run(path, body)


def test_who_leaves_before_the_answer_harms_nobody(path: str) -> None:
    async def body(bench: Bench) -> None:
        _, leaving = await bench.connect()
        leaving.write(b'{"verb": "flood"}\n')
        await leaving.drain()
        leaving.close()
        assert (await ask(await bench.connect(), echo("a")))["result"] == "a"

    run(path, body)


def test_closing_gives_the_answers_that_are_due(path: str) -> None:
    async def body(bench: Bench) -> None:
        idle, waiting = await bench.connect(), await bench.connect()
        waiting[1].write(b'{"verb": "wait"}\n')
        assert (await ask(idle, echo("a")))["result"] == "a"
        closing = asyncio.ensure_future(bench.socket.close(3.0))
        await asyncio.sleep(0)
        bench.table.let.set()
        assert json.loads(await waiting[0].readline())["result"] == "let"
        await closing
        assert await idle[0].read() == b""

    run(path, body)
    assert not os.path.exists(path)


@pytest.mark.parametrize(
    "said", [b"", b'{"verb":', b'{"verb": "echo", "arguments": {"word": "a"}}\n'], ids=["nothing", "half a word", "a word"]
)
def test_idle_connections_make_room_for_others(path: str, said: bytes) -> None:
    async def body(bench: Bench) -> None:
        for _ in range(2 * MOST_CONNECTIONS):
            (await bench.connect())[1].write(said)
        for _ in range(3):
            assert (await ask(await bench.connect(), echo("a")))["result"] == "a"
        if said:
            reader, _ = bench.opened[0]
            assert not said.endswith(b"\n") or await reader.readline()
            assert await reader.read() == b"", "the oldest was not closed"

    run(path, body)


def test_who_waits_for_an_answer_makes_room_for_nobody(path: str) -> None:
    async def body(bench: Bench) -> None:
        idle, *waiting = [await bench.connect() for _ in range(MOST_CONNECTIONS)]
        assert (await ask(idle, echo("a")))["ok"]
        for _, writer in waiting:
            writer.write(b'{"verb": "wait"}\n')
        last = await bench.connect()
        assert (await ask(last, echo("a")))["ok"], "the idle one made room"
        last[1].write(b'{"verb": "wait"}\n')
        assert (await ask(await bench.connect(), echo("b")))["error"]["kind"] == "BusyError"
        bench.table.let.set()
        assert [json.loads(await reader.readline())["result"] for reader, _ in waiting] == ["let"] * len(waiting)

    run(path, body)


def test_a_place_that_takes_no_socket_is_an_error_of_the_system(path: str) -> None:
    async def body() -> None:
        for place in (path + "x" * 200, os.path.join(path, "nowhere")):
            with pytest.raises(OSError, match=r"too long|No such file|Not a directory"):
                await ControlSocket.open(place, Table())

    coroutine: Coroutine[Any, Any, None] = body()
    asyncio.run(coroutine)
