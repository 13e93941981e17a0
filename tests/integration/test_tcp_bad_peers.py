from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import random
import resource
import socket
from collections.abc import Iterator

import pytest

from pasps.errors import AuthenticationError, InvalidError, ProtocolError
from pasps.transport.codec import Encoder
from pasps.transport.entrance import MOST_INSIDE
from pasps.transport.handshake import Identity
from pasps.transport.messages import Mark
from pasps.transport.values import RowWrapper
from tests.integration.tcp_peers import HOST, RawPeer, endpoint, frame, good_peer_still_works, serving, until
from tests.unit.transport.contract import MOST_BYTES, ONE, Heard

BAD_STARTS = {
    "http": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "random": random.Random(1).randbytes(4096),
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
            assert "it was silent for 0.1 s" in caplog.text
            assert server.accepted == []

    asyncio.run(main())


def test_a_short_secret_is_refused() -> None:
    with pytest.raises(InvalidError, match="expected 16 random bytes or more, got 3"):
        endpoint(ONE, Heard(), secret=b"abc")


BAD_FRAMES = {
    "garbage": frame(b"garbage"),
    "empty": frame(b""),
    "random": frame(random.Random(2).randbytes(1000)),
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


@contextlib.contextmanager
def strangers(count: int) -> Iterator[list[socket.socket]]:
    """Sockets that somebody else may connect."""
    made = [socket.socket() for _ in range(count)]
    try:
        yield made
    finally:
        for one in made:
            one.close()


def is_closed(stranger: socket.socket) -> bool:
    try:
        return stranger.recv(1000) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


@pytest.mark.parametrize("says", [b"", b"\0\0"], ids=["silent", "half a word"])
def test_strangers_in_crowds_do_not_keep_a_worker_out(says: bytes, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with serving(handshake_seconds=60) as server:
            with strangers(2 * MOST_INSIDE) as crowd:
                for one in crowd:
                    one.connect((HOST, server.listener.port))
                    one.sendall(says)
                    one.setblocking(False)
                for _ in range(3):
                    await good_peer_still_works(server)
                await until(lambda: sum(map(is_closed, crowd)) >= MOST_INSIDE, "the oldest to be sent away")
                assert sum(map(is_closed, crowd)) < 2 * MOST_INSIDE
                assert is_closed(crowd[0])
            server.listener.close()
            told = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
            assert 1 <= len(told) <= 2  # the first, and how many more there were
            assert "prove nothing: the oldest are closed" in told[0]

    asyncio.run(main())


def test_who_goes_away_without_a_word_is_no_news(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with serving() as server:
            for _ in range(50):
                with socket.create_connection((HOST, server.listener.port)):
                    pass
            await good_peer_still_works(server)
            assert caplog.records == []

    asyncio.run(main())


def test_where_no_file_can_be_opened_strangers_give_theirs_back(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with serving(handshake_seconds=60) as server:
            soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
            with strangers(20) as crowd:
                # five more than are open now
                resource.setrlimit(resource.RLIMIT_NOFILE, (max(one.fileno() for one in crowd) + 6, hard))
                try:
                    for one in crowd:
                        one.setblocking(False)
                        one.connect_ex((HOST, server.listener.port))
                    await until(lambda: "nobody can be let in" in caplog.text, "the complaint")
                    await until(lambda: sum(map(is_closed, crowd)) >= 15, "strangers to be sent away")
                    os.close(os.dup(0))  # what user code would do
                finally:
                    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            await good_peer_still_works(server)
            assert len([record for record in caplog.records if record.levelno >= logging.WARNING]) == 1

    asyncio.run(main())
