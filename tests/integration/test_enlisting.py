"""Workers that come to the gate over real sockets: the right ones get in, everybody else is turned away and holds up nobody."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import socket

import pytest

from pasps.errors import AuthenticationError, BrokenError
from pasps.transport import handshake
from pasps.transport.entrance import MOST_INSIDE
from pasps.transport.handshake import Identity, Incarnations, greet
from pasps.worker import enlisting
from pasps.worker.enlisting import Gate
from tests.integration.gate_bench import PATIENCE, SECRET, Bench, run
from tests.integration.tcp_peers import until

pytestmark = pytest.mark.integration

REQUEST = {"where": ["here", "/there"], "cores": 2}


def framed(payload: bytes) -> bytes:
    return len(payload).to_bytes(4, "big") + payload


async def heard(reader: asyncio.StreamReader) -> bytes:
    """The next frame."""
    return await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))


def hello() -> bytes:
    """The first thing that a worker says."""
    said = next(handshake.dialer(Identity("enlisting", "w0", 7), SECRET, secrets.token_bytes(32), Incarnations()))
    assert said is not None
    return framed(said)


async def proved(streams: tuple[asyncio.StreamReader, asyncio.StreamWriter], secret: bytes = SECRET) -> None:
    """Shakes hands as a worker does, and has said nothing more."""
    reader, writer = streams

    async def write(data: bytes) -> None:
        writer.write(data)

    await greet(Identity("enlisting", "w0", 7), secret, "gate", reader.readexactly, write)


async def passes(one: socket.socket, other: socket.socket) -> None:
    """What one end says, the other hears."""
    one.setblocking(False)
    other.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(one, b"ping")
    async with asyncio.timeout(PATIENCE):
        assert await loop.sock_recv(other, 100) == b"ping"


def is_closed(control: socket.socket) -> bool:
    """Whether the other end hung up."""
    control.settimeout(PATIENCE)
    try:
        return control.recv(1) == b""
    except ConnectionResetError:
        return True


def test_both_know_the_secret_and_have_a_connection() -> None:
    async def body(bench: Bench) -> None:
        worker = await bench.enlisted("w0")
        found = await bench.taken("w0")
        assert (found.place, found.pid, found.where) == ("w0", os.getpid(), (socket.gethostname(), os.getcwd()))
        assert worker.gettimeout() is None
        await passes(worker, found.control)
        await passes(found.control, worker)
        worker.close()
        found.control.close()

    run(body)


def test_who_takes_a_place_waits_for_who_comes_for_it_but_not_for_ever() -> None:
    async def body(bench: Bench) -> None:
        assert await bench.gate.take("w0", 0.0) is None
        taking = asyncio.create_task(bench.taken("w1"))
        first, second = await bench.enlisted("w0"), await bench.enlisted("w1")
        assert (await taking).place == "w1"
        assert bench.gate.waiting() == 1
        (await bench.taken("w0")).control.close()
        (await taking).control.close()
        first.close()
        second.close()

    run(body)


def test_many_that_come_at_once_all_get_their_places() -> None:
    async def body(bench: Bench) -> None:
        places = [f"w{index}" for index in range(20)]
        workers = await asyncio.gather(*(bench.enlisted(place) for place in places))
        found = await asyncio.gather(*(bench.taken(place) for place in places))
        assert [one.place for one in found] == places
        for worker, one in zip(workers, found, strict=True):
            await passes(one.control, worker)
            worker.close()
            one.control.close()

    run(body)


def test_a_worker_with_another_secret_is_turned_away(caplog: pytest.LogCaptureFixture) -> None:
    async def body(bench: Bench) -> None:
        with pytest.raises(AuthenticationError, match=r"place w0: .*peer refused: .*does not hold the topology's secret"):
            await bench.enlisted("w0", b"another")
        await bench.still_works()
        assert bench.gate.waiting() == 0

    run(body)
    assert "somebody who is no worker of this topology was turned away: peer that says it is worker w0-" in caplog.text


@pytest.mark.parametrize(
    "said",
    [
        b"\n\n\n\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\xff\xfe\xff\xff",
        framed(b""),
        framed(b"{}"),
        b"x" * 5000,
        hello() + framed(b"no proof"),
        hello() + framed(b"PASPS\0\1\3" + bytes(32)),
        hello() + hello(),
        framed(hello()[4:].replace(b"enlisting", b"somewhere")),
        framed(hello()[4:].replace(b"\xa2w0", b"\xa4gate")),
    ],
    ids=range(11),
)
def test_garbage_is_turned_away_with_a_warning(said: bytes, caplog: pytest.LogCaptureFixture) -> None:
    async def body(bench: Bench) -> None:
        reader, writer = await bench.connect()
        writer.write(said)
        with contextlib.suppress(ConnectionResetError):  # it did not read all of it
            async with asyncio.timeout(PATIENCE):
                await reader.read()
        writer.close()
        assert bench.gate.waiting() == 0
        await bench.still_works()

    run(body)
    assert "somebody who is no worker of this topology was turned away" in caplog.text


@pytest.mark.parametrize(
    "said",
    [
        framed(b"no json"),
        framed(b"\xff\xfe"),
        framed(b"{}"),
        framed(json.dumps(REQUEST | {"where": []}).encode()),
        framed(json.dumps(REQUEST | {"cores": "2"}).encode()),
        framed(json.dumps(REQUEST | {"where": ["x" * 5000]}).encode()),
        b"\xff\xff\xff\xff",
    ],
    ids=range(7),
)
def test_a_worker_that_does_not_say_who_it_is_is_turned_away(said: bytes, caplog: pytest.LogCaptureFixture) -> None:
    async def body(bench: Bench) -> None:
        streams = await bench.connect()
        await proved(streams)
        streams[1].write(said)
        with contextlib.suppress(ConnectionResetError):
            assert await streams[0].read() == b""
        streams[1].close()
        assert bench.gate.waiting() == 0
        await bench.still_works()

    run(body)
    assert "somebody who is no worker of this topology was turned away" in caplog.text


def test_what_a_worker_says_right_after_is_for_who_takes_it() -> None:
    async def body(bench: Bench) -> None:
        streams = await bench.connect()
        await proved(streams)
        streams[1].write(framed(json.dumps(REQUEST).encode()) + b"first words")
        found = await bench.taken("w0")
        assert (found.where, found.pid, found.cores) == (("here", "/there"), 7, 2)
        async with asyncio.timeout(PATIENCE):
            assert await asyncio.get_running_loop().sock_recv(found.control, 100) == b"first words"
        found.control.close()
        streams[1].close()

    run(body)


def test_who_hangs_is_turned_away_and_holds_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    async def body(bench: Bench) -> None:
        silent, halfway, unproven = [await bench.connect() for _ in range(3)]
        halfway[1].write(hello()[:20])
        unproven[1].write(hello())
        await bench.still_works()
        await heard(unproven[0])
        for reader, writer in (silent, halfway, unproven):
            assert await reader.read() == b""
            writer.close()
        await bench.still_works()

    monkeypatch.setattr(enlisting, "ENLIST_SECONDS", 0.3)
    run(body)


def test_who_leaves_halfway_harms_nobody() -> None:
    async def body(bench: Bench) -> None:
        for said in (b"", hello()[:20], hello()):
            _, writer = await bench.connect()
            writer.write(said)
            writer.transport.abort()
        await bench.still_works()
        assert bench.gate.waiting() == 0

    run(body)


def test_a_second_one_for_a_place_replaces_the_first() -> None:
    async def body(bench: Bench) -> None:
        first = await bench.enlisted("w0")
        await until(lambda: bench.gate.waiting() == 1, "the first")
        second = await bench.enlisted("w0")
        assert await asyncio.to_thread(is_closed, first)
        assert bench.gate.waiting() == 1
        found = await bench.taken("w0")
        await passes(second, found.control)
        assert bench.gate.waiting() == 0
        for control in (first, second, found.control):
            control.close()

    run(body)


def test_one_that_was_taken_is_not_ended_by_its_successor() -> None:
    async def body(bench: Bench) -> None:
        first = await bench.enlisted("w0")
        taken = await bench.taken("w0")
        second = await bench.enlisted("w0")
        successor = await bench.taken("w0")
        await passes(first, taken.control)
        await passes(second, successor.control)
        for control in (first, second, taken.control, successor.control):
            control.close()

    run(body)


def test_closing_sends_away_who_waits_and_who_is_half_in() -> None:
    async def body(bench: Bench) -> None:
        waiting, taken = await bench.enlisted("w0"), await bench.enlisted("w1")
        kept = await bench.taken("w1")
        silent, unproven = await bench.connect(), await bench.connect()
        unproven[1].write(hello())
        await heard(unproven[0])
        await until(lambda: bench.gate.waiting() == 1, "who waits")
        await bench.gate.close()
        for reader, writer in (silent, unproven):
            assert await reader.read() == b""
            writer.close()
        assert await asyncio.to_thread(is_closed, waiting)
        assert bench.gate.waiting() == 0
        await passes(taken, kept.control)
        with pytest.raises(BrokenError, match=r"place w0: .*cannot be reached"):
            await bench.enlisted("w0")
        for control in (waiting, taken, kept.control):
            control.close()

    run(body)


@pytest.mark.parametrize("turns", range(4))
def test_closing_in_the_moment_in_which_somebody_comes_leaves_no_socket_open(turns: int) -> None:
    async def body(bench: Bench) -> None:
        reader, writer = await bench.connect()
        writer.write(hello())
        for _ in range(turns):
            await asyncio.sleep(0)
        await bench.gate.close()
        with contextlib.suppress(ConnectionResetError):
            assert len(await reader.read()) < 200, "no more than a challenge"
        writer.close()

    run(body)


def test_strangers_that_hold_connections_open_keep_no_worker_out(caplog: pytest.LogCaptureFixture) -> None:
    async def body(bench: Bench) -> None:
        strangers = [await bench.connect() for _ in range(3 * MOST_INSIDE)]
        await bench.still_works()
        assert await strangers[0][0].read() == b"", "the oldest was not sent away"
        for _, writer in strangers:
            writer.close()
        await bench.still_works()

    run(body)
    assert len(caplog.records) <= 2, "one line for all of them, and one for what was left to say"


def test_a_gate_needs_an_interface_that_is_there() -> None:
    with pytest.raises(BrokenError, match=r"on 203\.0\.113\.1: .*--bind"):
        asyncio.run(Gate(SECRET).open("203.0.113.1"))
