from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable

import pytest

from pasps.errors import AuthenticationError, BrokenError, ClosedError
from pasps.transport.codec import Decoder, Encoder
from pasps.transport.connection import Connection
from pasps.transport.frames import FrameReader
from pasps.transport.messages import Bundle, Handover, Mark, Message
from pasps.transport.tcp import Endpoint, TcpConnection, dial, listen
from pasps.transport.values import RowWrapper
from tests.integration.tcp_peers import HOST, SECRET, RawPeer, Relay, endpoint, good_peer_still_works, serving, until
from tests.unit.transport.contract import CHECKS, ONE, TWO, Heard, Pair

LAST = Mark(2**40)
"""What `TcpPair.settle` sends behind everything."""


class TcpPair(Pair):
    def __init__(self, ends: tuple[TcpConnection, TcpConnection], heard: tuple[Heard, Heard], rows: tuple[RowWrapper, RowWrapper]) -> None:
        self.ends, self.heard, self.rows = ends, heard, rows
        self.relay: Relay

    async def settle(self) -> None:
        waited_for = []
        for end, heard in zip(self.ends, reversed(self.heard), strict=True):
            with contextlib.suppress(ClosedError, BrokenError):
                end.send(LAST)  # messages arrive in order
                waited_for.append(heard.messages)
        await until(lambda: all(LAST in messages for messages in waited_for), "all messages to arrive")
        for messages in waited_for:
            messages.remove(LAST)

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


def test_dialling_one_that_never_answers_ends() -> None:
    async def main() -> None:
        with socket.create_server((HOST, 0)) as silent:
            with pytest.raises(AuthenticationError, match=r"expected to finish within 0.1 s"):
                await dial(HOST, silent.getsockname()[1], endpoint(ONE, Heard(), handshake_seconds=0.1), "two")
            port = silent.getsockname()[1]
        with pytest.raises(BrokenError, match=r"worker two at .* no connection"):
            await dial(HOST, port, endpoint(ONE, Heard()), "two")

    asyncio.run(main())


def test_the_dialler_is_given_its_connection_before_the_first_message() -> None:
    """Also when the handshake's end and that message come in one piece; one that was replaced meanwhile says nothing more."""

    async def main() -> None:
        order: list[str] = []
        listener = await listen(HOST, 0, endpoint(TWO, Heard()), lambda connection: connection.send(Mark(1)))
        one = Endpoint(ONE, SECRET, lambda _, message: order.append(f"message {message}"), lambda _, error: order.append(f"lost {error}"))
        kept = await dial(HOST, listener.port, one, "two", lambda _: order.append("accepted"))
        await until(lambda: len(order) == 2, "the message")
        replaced = await dial(HOST, listener.port, one, "two", lambda connection: connection.abort("replaced"))
        await until(lambda: len(order) == 3, "the end of the one that was replaced")
        assert order == ["accepted", f"message {Mark(1)}", "lost None"]
        assert replaced is not kept
        kept.abort()
        await until(lambda: len(order) == 4, "the end")
        listener.close()

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


def test_messages_in_one_piece_with_the_end_of_the_handshake_arrive() -> None:
    async def main() -> None:
        async with serving() as server, RawPeer(server.listener.port) as peer:
            messages: list[Message] = [Mark(1), Handover(1, 2, 3, b"s" * 50_000, [], []), Mark(2)]
            encoder = Encoder(RowWrapper())
            await peer.prove(*[bytes(piece) for message in messages for piece in encoder.encode(message)])
            await until(lambda: len(server.heard.messages) == 3, "the messages")
            assert server.heard.messages == messages

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
            stuck.close()
            await good_peer_still_works(server)
            assert len(server.heard.losses) == 1
            stuck.abort()
            await until(lambda: len(server.heard.losses) == 2, "the end of the stuck one")

    asyncio.run(main())
