from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Self

import pytest

from pasps.errors import AuthenticationError, BrokenError, InvalidError, ProtocolError
from pasps.transport import handshake
from pasps.transport.codec import Decoder, Encoder
from pasps.transport.connection import Connection
from pasps.transport.frames import HEADER_BYTES, FrameReader, seal
from pasps.transport.handshake import Identity, Incarnations
from pasps.transport.messages import Bundle, Handover, Mark, Message
from pasps.transport.tcp import Endpoint, Listener, TcpConnection, dial, listen
from pasps.transport.values import RowWrapper
from tests.unit.transport.contract import CHECKS, MOST_BYTES, ONE, TWO, Heard, Pair

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


class TcpPair(Pair):
    def __init__(self, ends: tuple[TcpConnection, TcpConnection], heard: tuple[Heard, Heard], rows: tuple[RowWrapper, RowWrapper]) -> None:
        self.ends, self.heard, self.rows = ends, heard, rows
        self.relay: Relay

    async def settle(self) -> None:
        def is_quiet() -> bool:
            one, two = self.ends[0].statistics(), self.ends[1].statistics()
            return one.bytes_out == two.bytes_in and two.bytes_out == one.bytes_in

        await until(is_quiet, "all bytes to arrive")

    async def settle_end(self) -> None:
        await until(lambda: all(heard.losses for heard in self.heard), "both ends to end")

    async def cut(self) -> None:
        self.relay.cut()


@pytest.mark.parametrize("check", CHECKS)
def test_contract(check: Callable[[Pair], Awaitable[None]]) -> None:
    async def main() -> None:
        async with serving() as server:
            relay = Relay(server.listener.port)
            heard, rows = Heard(), RowWrapper()
            one = await dial(HOST, await relay.start(), endpoint(ONE, heard, rows=rows), "two")
            await until(lambda: server.accepted, "the accepted end")
            pair = TcpPair((one, server.accepted[0]), (heard, server.heard), (rows, RowWrapper()))
            pair.relay = relay
            await check(pair)
            one.abort()
            relay.cut()
            await until(lambda: heard.losses, "the end")

    asyncio.run(main())


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


BAD_STARTS = {
    "http": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "random": secrets.token_bytes(4096),
    "oversized": b"\x00\x01\x00\x00",
    "negative": b"\xff\xff\xff\xff",
    "empty frame": frame(b""),
    "other version": frame(b"PASPS\x00\x09\x01"),
    "proof first": frame(b"PASPS\x00\x01\x03" + b"p" * 32),
}


@pytest.mark.parametrize("data", BAD_STARTS.values(), ids=BAD_STARTS.keys())
def test_a_stranger_is_cut_off_and_disturbs_nobody(data: bytes, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with serving() as server:
            heard = Heard()
            good = await server.dial(heard)
            reader, writer = await asyncio.open_connection(HOST, server.listener.port)
            mine = writer.get_extra_info("sockname")
            writer.write(data)
            with contextlib.suppress(ConnectionError):
                await asyncio.wait_for(reader.read(), 10)
            writer.close()
            warnings = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
            assert len(warnings) == 1
            assert f"{mine[0]}:{mine[1]}" in warnings[0]
            good.send(Mark(5))
            await until(lambda: server.heard.messages, "the good peer's message")
            await good_peer_still_works(server)
            assert len(server.accepted) == 2
            good.close()
            await until(lambda: heard.losses == [None], "the end")

    asyncio.run(main())


def test_a_peer_with_another_secret_is_refused_on_both_sides() -> None:
    async def main() -> None:
        async with serving() as server:
            with pytest.raises(AuthenticationError, match=r"peer refused: .*does not hold the topology's secret"):
                await server.dial(Heard(), secret=b"x" * 32)
            assert server.accepted == []
            await good_peer_still_works(server)

    asyncio.run(main())


def test_an_old_incarnation_is_told_why_it_is_refused() -> None:
    async def main() -> None:
        async with serving() as server:
            heard = Heard()
            newer = await server.dial(heard, Identity("wc", "one", 9))
            with pytest.raises(AuthenticationError, match="expected incarnation 9 or later"):
                await server.dial(Heard())
            newer.close()
            await until(lambda: heard.losses, "the end")

    asyncio.run(main())


def test_an_unfinished_handshake_is_ended(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with serving(handshake_seconds=0.1) as server:
            reader, writer = await asyncio.open_connection(HOST, server.listener.port)
            await asyncio.wait_for(reader.read(), 10)
            writer.close()
            assert "expected to finish within 0.1 s" in caplog.text
            assert server.accepted == []

    asyncio.run(main())


def test_dialling_one_that_never_answers_ends() -> None:
    async def main() -> None:
        with socket.create_server((HOST, 0)) as silent:
            with pytest.raises(AuthenticationError, match=r"expected to finish within 0.1 s"):
                await dial(HOST, silent.getsockname()[1], endpoint(ONE, Heard(), handshake_seconds=0.1), "two")
            port = silent.getsockname()[1]
        with pytest.raises(BrokenError, match=r"worker two at .* no connection"):
            await dial(HOST, port, endpoint(ONE, Heard()), "two")

    asyncio.run(main())


def test_a_port_that_is_taken_is_an_error() -> None:
    async def main() -> None:
        async with serving() as server:
            with pytest.raises(BrokenError, match="cannot listen on"):
                await listen(HOST, server.listener.port, endpoint(TWO, Heard()), lambda _: None)

    asyncio.run(main())


def test_a_closed_listener_cuts_off_who_has_not_proved_itself() -> None:
    async def main() -> None:
        async with serving() as server:
            heard = Heard()
            good = await server.dial(heard)
            reader, writer = await asyncio.open_connection(HOST, server.listener.port)
            await until(lambda: server.accepted, "the accepted end")
            await asyncio.sleep(0)
            server.listener.close()
            with contextlib.suppress(ConnectionError):
                assert await asyncio.wait_for(reader.read(), 10) == b""
            writer.close()
            good.send(Mark(1))
            await until(lambda: server.heard.messages, "a message on the connection that goes on")
            good.close()
            await until(lambda: heard.losses, "the end")

    asyncio.run(main())


def test_a_short_secret_is_refused() -> None:
    with pytest.raises(InvalidError, match="expected 16 random bytes or more, got 3"):
        endpoint(ONE, Heard(), secret=b"abc")


MAIN_SCRIPT = """
import sys
from dataclasses import dataclass
from enum import Enum
from pasps.transport.codec import Decoder, Encoder
from pasps.transport.messages import Bundle, WireBatch
from pasps.transport.values import RowWrapper

class Kind(Enum):
    BIG = "b"

@dataclass(frozen=True)
class Event:
    kind: Kind
    size: int

rows = RowWrapper()
encoder = Encoder(rows)
for size in (1, 2):
    batch = WireBatch(1, 2, 3, rows.wire_rows([(Event(Kind.BIG, size),)], "c", "s", ["event"]))
    for frame in encoder.encode(Bundle([batch])):
        sys.stdout.buffer.write(frame)
"""


def test_classes_of_a_main_script_travel_to_another_process() -> None:
    sent = subprocess.run([sys.executable, "-c", MAIN_SCRIPT], check=True, capture_output=True, timeout=60).stdout
    decoder = Decoder()
    got = [message for payload in FrameReader(100_000).feed(sent) if (message := decoder.decode(payload)) is not None]
    one, two = (bundle.batches[0].rows[0][0] for bundle in got if isinstance(bundle, Bundle))
    assert type(one) is type(two)
    assert (one.size, two.size) == (1, 2)
    assert one.kind is two.kind
    assert one.kind.value == "b"


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


def test_messages_in_one_piece_with_the_end_of_the_handshake_arrive() -> None:
    async def main() -> None:
        async with serving() as server, RawPeer(server.listener.port) as peer:
            messages: list[Message] = [Mark(1), Handover(1, 2, 3, b"s" * 50_000, [], []), Mark(2)]
            encoder = Encoder(RowWrapper())
            await peer.prove(*[bytes(piece) for message in messages for piece in encoder.encode(message)])
            await until(lambda: len(server.heard.messages) == 3, "the messages")
            assert server.heard.messages == messages

    asyncio.run(main())


BAD_FRAMES = {
    "garbage": frame(b"garbage"),
    "empty": frame(b""),
    "random": frame(os.urandom(1000)),
    "oversized": (MOST_BYTES + 1).to_bytes(4, "big"),
    "negative": b"\xff\xff\xff\xff",
    "another handshake": frame(b"PASPS\x00\x01\x01"),
}


@pytest.mark.parametrize("data", BAD_FRAMES.values(), ids=BAD_FRAMES.keys())
def test_a_malformed_frame_closes_that_connection_alone(data: bytes, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with serving() as server, RawPeer(server.listener.port) as peer:
            await peer.prove(bytes(Encoder(RowWrapper()).encode(Mark(1))[0]) + data)
            await until(lambda: server.heard.losses, "the end of the bad connection")
            assert server.heard.messages == [Mark(1)]
            assert isinstance(server.heard.losses[0], ProtocolError)
            assert sum("one-1 of 'wc' at 127.0.0.1:" in record.getMessage() for record in caplog.records) == 1
            await good_peer_still_works(server)

    asyncio.run(main())


def test_a_connection_cut_in_the_middle_of_a_frame_delivers_nothing_of_it() -> None:
    async def main() -> None:
        async with serving() as server, RawPeer(server.listener.port) as peer:
            encoder = Encoder(RowWrapper())
            whole = [bytes(encoder.encode(message)[0]) for message in (Mark(1), Handover(1, 2, 3, b"s" * 50_000, [], []))]
            await peer.prove(whole[0] + whole[1][:-10])
            await until(lambda: server.heard.messages, "the whole message")
            peer.writer.transport.abort()
            await until(lambda: server.heard.losses, "the end")
            assert server.heard.messages == [Mark(1)]
            (error,) = server.heard.losses
            assert "lost in the middle of a frame" in str(error)

    asyncio.run(main())


def test_a_fault_in_a_callback_costs_one_connection(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with serving() as server:

            def fails(_: Connection, __: Message) -> None:
                raise RuntimeError("a fault of ours")

            heard = Heard()
            faulty = Endpoint(ONE, SECRET, fails, heard.on_lost)
            await dial(HOST, server.listener.port, faulty, "two")
            await until(lambda: server.accepted, "the accepted end")
            server.accepted[0].send(Mark(1))
            await until(lambda: heard.losses, "the end of the faulty one")
            assert isinstance(heard.losses[0], RuntimeError)
            assert "a fault of ours" in caplog.text
            await good_peer_still_works(server)

    asyncio.run(main())


def test_a_peer_that_does_not_read_holds_up_nobody() -> None:
    async def main() -> None:
        async with serving(most_frame_bytes=2**26) as server, RawPeer(server.listener.port) as peer:
            await peer.prove()
            await until(lambda: server.accepted, "the accepted end")
            (stuck,) = server.accepted
            for version in range(4):
                stuck.send(Handover(version, 1, 2, bytes(2**23), [], []))
            assert stuck.unsent_bytes > 2**23
            stuck.close()
            await good_peer_still_works(server)
            assert len(server.heard.losses) == 1
            stuck.abort()
            await until(lambda: len(server.heard.losses) == 2, "the end of the stuck one")

    asyncio.run(main())
