"""Connections between workers over TCP: asyncio's protocol around `handshake`, `frames` and `codec`; called by the runtime's worker.

Nothing that a peer sends raises out of here: it costs that peer its connection, and one warning in the log.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import cast

from pasps.errors import AuthenticationError, BrokenError, ClosedError, InvalidError, PaspsError, ProtocolError
from pasps.transport import handshake
from pasps.transport.codec import DEFAULT_MOST_BYTES, Decoder, Encoder, Refusal
from pasps.transport.connection import OnLost, OnMessage, OnRefused
from pasps.transport.entrance import Complaints, Entrance, Visitor, listening_socket, name_of
from pasps.transport.frames import HEADER_BYTES, FrameReader, seal
from pasps.transport.handshake import MOST_HANDSHAKE_BYTES, NONCE_BYTES, Identity, Incarnations, Steps
from pasps.transport.messages import Message
from pasps.transport.values import RowWrapper

_log = logging.getLogger(__name__)

LEAST_SECRET_BYTES = 16


@dataclass(frozen=True)
class Endpoint:
    """What all connections of a worker share: who it is, what it trusts, and whom it calls.

    `rows` is the wrapper of all rows it sends. All callbacks run on the event loop.
    """

    identity: Identity
    secret: bytes = field(repr=False)
    on_message: OnMessage
    on_lost: OnLost
    rows: RowWrapper = field(default_factory=RowWrapper)
    allow_pickle: bool = False
    most_frame_bytes: int = DEFAULT_MOST_BYTES
    handshake_seconds: float = 5.0
    on_refused: OnRefused | None = None
    seen: Incarnations = field(default_factory=Incarnations)

    def __post_init__(self) -> None:
        if len(self.secret) < LEAST_SECRET_BYTES:
            raise InvalidError(
                f"secret of worker {self.identity}: expected {LEAST_SECRET_BYTES} random bytes or more, got {len(self.secret)}"
            )


class TcpConnection(asyncio.Protocol):
    """One end of a connection; made by `Listener` and `dial` only. Implements `connection.Connection`.

    States: shaking hands -> open -> closing -> lost, and from each of them straight to lost.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        steps: Steps,
        on_shaken: Callable[[TcpConnection, Exception | None], None],
        complain: Callable[[str], None] = _log.warning,
    ) -> None:
        """`complain` is told of a peer that does not shake hands as it should."""
        self.address = "?"
        self._complain = complain
        self._endpoint = endpoint
        self._steps: Steps | None = steps
        self._on_shaken = on_shaken
        self._peer: Identity | None = None
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._reader = FrameReader(MOST_HANDSHAKE_BYTES)
        self._encoder = Encoder(endpoint.rows, endpoint.most_frame_bytes)
        self._decoder = Decoder(endpoint.allow_pickle)
        self._is_closing = False
        self._error: Exception | None = None

    @property
    def peer(self) -> Identity:
        """Who is at the other end; known once the connection is open."""
        if self._peer is None:
            raise BrokenError(f"connection with {self.address}: the handshake is not finished")
        return self._peer

    def send(self, message: Message) -> Sequence[Refusal]:
        """See `Connection.send`; one write to the transport, whatever the message."""
        if self._is_closing:
            raise ClosedError(f"connection with {self._name()}: it is closed")
        if self._transport is None or self._peer is None or self._transport.is_closing():
            raise BrokenError(f"connection with {self._name()}: it is lost or not open yet")
        refused: list[Refusal] = []
        frames = self._encoder.encode(message, refused)
        if frames:
            self._write(frames[0] if len(frames) == 1 else b"".join(frames))
        return refused

    def close(self, reason: str = "") -> None:
        """See `Connection.close`."""
        if not self._is_closing and self._transport is not None:
            _log.debug("connection with %s closes: %s", self._name(), reason or "asked to")
            self._is_closing = True
            self._transport.close()

    def abort(self, reason: str = "") -> None:
        """See `Connection.abort`."""
        self._is_closing = True
        if self._transport is not None:
            _log.debug("connection with %s is cut: %s", self._name(), reason or "asked to")
            self._transport.abort()

    # what asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Starts the handshake and its time limit."""
        self._transport = cast("asyncio.Transport", transport)
        self.address = name_of(transport.get_extra_info("peername"))
        if self._is_closing:  # cut before it had begun
            self._transport.abort()
            return
        sock = transport.get_extra_info("socket")
        if sock is not None and sock.family in (socket.AF_INET, socket.AF_INET6):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._timer = asyncio.get_running_loop().call_later(self._endpoint.handshake_seconds, self._handshake_is_late)
        if self._steps is not None:
            self._answer(next(self._steps))

    def data_received(self, data: bytes) -> None:
        """Takes what came, the end of the handshake and the first messages in one piece too."""
        try:
            for payload in self._reader.feed(data):
                if self._is_closing or self._error is not None:
                    return
                if self._steps is not None:
                    self._shake(self._steps, payload)
                else:
                    self._take(payload)
        except PaspsError as error:
            self._fail(error)
        except Exception as error:  # noqa: BLE001 - whatever it is, it ends this connection and no other
            # a fault of ours in a callback; asyncio would close the connection as well, but not say which one
            self._fail(error, is_ours=True)

    def connection_lost(self, error: Exception | None) -> None:
        """Tells the owner, once, and only of a connection that it was given."""
        if self._timer is not None:
            self._timer.cancel()
        self._transport = None
        if self._error is None and not self._is_closing:
            where = "" if self._reader.is_between_frames() else " in the middle of a frame"
            self._error = BrokenError(f"connection with {self._name()}: lost{where} ({error or 'closed by its peer'})")
            self._error.__cause__ = error
        if self._steps is not None:
            self._steps = None
            self._on_shaken(self, self._error or ClosedError(f"connection with {self.address}: closed during the handshake"))
        elif self._peer is not None:
            self._endpoint.on_lost(self, self._error)

    def _take(self, payload: memoryview) -> None:
        on_refused = self._endpoint.on_refused
        refused: list[Refusal] | None = None if on_refused is None else []
        message = self._decoder.decode(payload, refused)
        if refused and on_refused is not None:
            on_refused(self, refused)
        if message is not None:
            self._endpoint.on_message(self, message)

    def _shake(self, steps: Steps, payload: memoryview) -> None:
        try:
            self._answer(steps.send(payload))
            return
        except StopIteration as end:
            self._peer, last = end.value
        self._steps = None
        if self._timer is not None:
            self._timer.cancel()
        # before `on_shaken`, in which messages may be sent: the dialer takes what comes first for WELCOME
        self._answer(last)
        self._reader.most_bytes = self._endpoint.most_frame_bytes
        self._on_shaken(self, None)

    def _answer(self, payload: bytes | None) -> None:
        if payload is not None:
            self._write(seal(bytearray(HEADER_BYTES) + payload))

    def _write(self, data: bytes | bytearray) -> None:
        if self._transport is not None:
            self._transport.write(data)

    def _handshake_is_late(self) -> None:
        if self._steps is not None:
            seconds = self._endpoint.handshake_seconds
            self._fail(AuthenticationError(f"handshake: expected to finish within {seconds:g} s, got no answer"))

    def _fail(self, error: Exception, is_ours: bool = False) -> None:
        """Closes this connection alone; says so once."""
        if self._error is not None or self._is_closing or self._transport is None:
            return
        self._error = error
        if is_ours:
            _log.error("connection with %s closed: a message could not be handled", self._name(), exc_info=error)
        elif self._steps is None:
            _log.warning("connection with %s closed: %s", self._name(), error)
        else:
            self._complain(f"connection with {self._name()} closed: {error}")
        if self._steps is None:
            self._transport.abort()
            return
        if isinstance(error, ProtocolError | AuthenticationError):
            self._answer(handshake.refusal(error))
        # close, not abort, so that the refusal gets there; the peer was not let in, so there is nothing else to lose
        self._transport.close()

    def _name(self) -> str:
        return self.address if self._peer is None else f"{self._peer} at {self.address}"


class Listener:
    """A port that takes connections of workers of the same topology, until `close`."""

    def __init__(self, listening: socket.socket, endpoint: Endpoint, accept: Callable[[TcpConnection], None]) -> None:
        self.host, self.port = listening.getsockname()[:2]
        self._endpoint = endpoint
        self._accept = accept
        self._complaints = Complaints(_log)
        self._entrance = Entrance(listening, self._admit, endpoint.handshake_seconds, self._complaints)
        self._entrance.open()

    def close(self) -> None:
        """Frees the port and cuts off who has not finished its handshake; accepted connections go on. More calls do nothing."""
        self._entrance.close()

    def _admit(self, visitor: Visitor) -> None:
        def on_shaken(connection: TcpConnection, error: Exception | None) -> None:
            visitor.leave()
            if error is None:
                self._accept(connection)

        endpoint = self._endpoint
        steps = handshake.listener(endpoint.identity, endpoint.secret, secrets.token_bytes(NONCE_BYTES), endpoint.seen)
        visitor.give_to(TcpConnection(endpoint, steps, on_shaken, self._complaints.tell))


async def listen(host: str, port: int, endpoint: Endpoint, accept: Callable[[TcpConnection], None]) -> Listener:
    """Listens; port 0 takes a free one. `accept` is called with each connection that proved itself, before its first message.

    Raises:
        BrokenError: the address cannot be had.
    """
    try:
        listening = listening_socket(host, port)
    except OSError as error:
        raise BrokenError(f"worker {endpoint.identity}: cannot listen on {host}:{port} ({error})") from error
    return Listener(listening, endpoint, accept)


def _ignore(_: TcpConnection) -> None:
    pass


async def dial(
    host: str, port: int, endpoint: Endpoint, expect: str | None = None, accept: Callable[[TcpConnection], None] = _ignore
) -> TcpConnection:
    """Connects to the worker named `expect` at that address.

    Messages may come before this returns: `accept` is called with the connection when it has proved itself, before the first.

    Raises:
        BrokenError: nobody answers there within `endpoint.handshake_seconds`, or not to the end.
        ProtocolError, AuthenticationError: as `handshake.dialer` raises them.
    """
    loop = asyncio.get_running_loop()
    opened: asyncio.Future[None] = loop.create_future()
    steps = handshake.dialer(endpoint.identity, endpoint.secret, secrets.token_bytes(NONCE_BYTES), endpoint.seen, expect)

    def on_shaken(connection: TcpConnection, error: Exception | None) -> None:
        if opened.done():
            return
        if error is not None:
            opened.set_exception(error)
            return
        opened.set_result(None)
        accept(connection)

    connection = TcpConnection(endpoint, steps, on_shaken)
    try:
        async with asyncio.timeout(endpoint.handshake_seconds):
            await loop.create_connection(lambda: connection, host, port)
        await opened
    except (OSError, TimeoutError) as error:
        raise BrokenError(f"worker {expect or 'any'} at {host}:{port}: no connection ({error!r})") from error
    except asyncio.CancelledError:
        connection.abort("the caller gave up")
        raise
    return connection
