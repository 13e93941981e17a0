"""How long a connection is kept on which no request is served."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from typing import Any, cast

import pytest
import uvicorn
from uvicorn.server import ServerState

from pasps.testing import FakeClock
from pasps.transport.entrance import Complaints, Visitor
from pasps.transport.http_server import HttpConnection
from tests.unit.connectors.http_runs import RunLoop

HEAD = b"POST / HTTP/1.1\r\nHost: x\r\n"
REQUEST = HEAD + b"Content-Length: 2\r\n\r\n{}"


class Wire(asyncio.Transport):
    """The server's end of a connection without a network."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = b""
        self.closed = False

    def write(self, data: Any) -> None:
        self.sent += data

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        """All is here already."""

    resume_reading = pause_reading


class Guest:
    """What it says of itself to the entrance, in the place of its `Visitor`."""

    address = "somewhere"

    def __init__(self) -> None:
        self.said: list[str] = []
        self.room = True

    def busy(self) -> bool:
        self.said.append("busy")
        return self.room

    def idle(self) -> None:
        self.said.append("idle")

    def leave(self) -> None:
        self.said.append("gone")


class Client:
    """A connection whose requests are answered after `takes` seconds, on a clock that stands still."""

    def __init__(self, takes: float = 0.0) -> None:
        self.clock = FakeClock()
        self.loop = RunLoop(self.clock)
        self.takes = takes
        config = uvicorn.Config(self, http=HttpConnection, ws="none", lifespan="off", log_config=None)
        config.load()
        self.wire = Wire()
        self.guest, self.complaints = Guest(), Complaints(logging.getLogger(__name__))
        self.connection = HttpConnection(config, ServerState(), {}, self.loop, cast(Visitor, self.guest), self.complaints)
        self.connection.connection_made(self.wire)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(self.takes)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    def wait(self, seconds: float) -> None:
        for _ in range(round(seconds)):
            self.clock.advance(1.0)
            self.turn()

    def send(self, data: bytes) -> None:
        # on the loop, as asyncio does
        self.loop.call_soon(self.connection.data_received, data)
        self.turn()

    def turn(self) -> None:
        for _ in range(10):
            self.loop.run_until_complete(asyncio.sleep(0))

    def answers(self) -> int:
        return self.wire.sent.count(b"HTTP/1.1 200")


@pytest.fixture
def client() -> Iterator[Client]:
    client = Client()
    yield client
    client.connection.connection_lost(None)
    client.wait(client.takes + 1)  # what is still served must not be found by another test
    client.loop.close()


def test_one_that_sends_nothing_is_closed(client: Client) -> None:
    client.wait(9)
    assert not client.wire.closed
    client.wait(2)
    assert client.wire.closed


def test_one_that_sends_its_header_by_the_byte_is_closed(client: Client) -> None:
    for byte in HEAD[:11]:
        client.send(bytes([byte]))
        client.wait(1)
    assert (client.wire.closed, client.answers()) == (True, 0)


def test_a_request_may_take_longer(client: Client) -> None:
    client.wait(5)
    client.takes = 25.0
    client.send(REQUEST)
    client.wait(24)
    assert (client.wire.closed, client.answers()) == (False, 0)
    client.wait(2)
    assert (client.wire.closed, client.answers()) == (False, 1)


def test_one_that_is_used_again_and_again_stays(client: Client) -> None:
    for _ in range(10):
        client.send(REQUEST)
        client.wait(3)
    assert (client.wire.closed, client.answers()) == (False, 10)
    client.send(HEAD)
    client.wait(11)
    assert client.wire.closed, "not with half a header"


def test_one_that_was_answered_and_goes_on_with_its_body_is_closed(client: Client) -> None:
    client.send(HEAD + b"Content-Length: 1000000\r\n\r\n")
    assert client.answers() == 1
    for _ in range(11):
        client.send(b"x")
        client.wait(1)
    assert client.wire.closed


def test_while_it_is_served_it_is_busy_and_then_idle(client: Client) -> None:
    client.takes = 3.0
    client.send(REQUEST)
    assert client.guest.said == ["busy"]
    client.wait(4)
    client.send(REQUEST)
    assert client.guest.said == ["busy", "idle", "busy"]
    client.connection.connection_lost(None)
    assert client.guest.said[-1] == "gone"


def test_where_too_many_are_served_it_is_refused_and_closed(client: Client) -> None:
    client.guest.room = False
    client.send(REQUEST)
    assert (client.answers(), client.wire.sent[:12], client.wire.closed) == (0, b"HTTP/1.1 503", True)


def test_garbage_is_answered_and_told_of_once(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    client.send(b"\0\0\r\n\r\n")
    assert (client.wire.sent[:12], client.wire.closed) == (b"HTTP/1.1 400", True)
    assert [record.name for record in caplog.records] == [__name__]
