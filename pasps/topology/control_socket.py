"""A topology's control socket, both ends: a line of JSON out, a line of JSON in. A run has it in its directory, a driver at a port.

`{"verb": "scale", "arguments": {"bolts": {"count": 4}}}` is a request; the answer is that of `Verbs.answer`. A connection may
make many requests, one after the other; what is no request at all is answered, and ends its connection.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Self

import msgspec

from pasps.control.news import News
from pasps.errors import AuthenticationError, BusyError, InvalidError, ProtocolError
from pasps.topology.verbs import Verbs, refusal, result_of
from pasps.transport.entrance import Complaints, Entrance, Visitor, listening_socket
from pasps.transport.handshake import Identity, Read, Write, admit, greet

_log = logging.getLogger(__name__)

MOST_REQUEST_BYTES = 64 << 10
MOST_ANSWER_BYTES = 64 << 20
MOST_CONNECTIONS = 64
"""So many are known, and answered or idle; who has been idle longest makes room for the next."""
IDLE_SECONDS = 300.0
"""After so long without a whole request a connection is closed."""
GREETING_SECONDS = 10.0
"""So long a connection may be silent when it is new, and take for a handshake."""
WRITE_SECONDS = 10.0
"""So long an answer waits for its reader."""
DRIVER, MASTER = "driver", "master"
"""Who shakes hands at the control port of a driver."""


class Request(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One line."""

    verb: str
    arguments: Mapping[str, Any] = {}


# ---- the end that answers


class ControlSocket:
    """Made by `open` or `listen`. A client that hangs holds up its own connection and nobody else."""

    def __init__(self, listening: socket.socket, verbs: Verbs, prove: Callable[[Read, Write], Awaitable[Identity]] | None = None) -> None:
        """`prove` is the handshake that each connection begins with."""
        self.path = ""
        self.address: tuple[str, int] | None = None
        self._verbs = verbs
        self._prove = prove
        self._connections: set[asyncio.Task[Any]] = set()
        self._answering = 0
        self._news = News()
        self._entrance = Entrance(listening, self._admit, GREETING_SECONDS, Complaints(_log), MOST_CONNECTIONS)
        self._entrance.open()

    @classmethod
    async def open(cls, path: str, verbs: Verbs) -> ControlSocket:
        """Listen; only this user may connect.

        Raises:
            OSError: the path is too long, is in use, or its file system takes no sockets.
        """
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            # the directory around it is closed to others, so nobody comes in before the mode is set
            listening.bind(path)
            os.chmod(path, 0o600)
        except OSError:
            listening.close()
            raise
        self = cls(listening, verbs)
        self.path = path
        return self

    @classmethod
    async def listen(cls, host: str, verbs: Verbs, topology: str, epoch: int, token: str) -> ControlSocket:
        """Listen on a free TCP port, `address`, as that driver. Only who proves that it has its token is answered.

        Raises:
            OSError: the interface cannot be had.
        """
        listening = listening_socket(host, 0)
        self = cls(listening, verbs, partial(admit, Identity(topology, DRIVER, epoch), token.encode()))
        bound = listening.getsockname()
        self.address = str(bound[0]), int(bound[1])
        return self

    async def close(self, seconds: float = 1.0) -> None:
        """Take no more requests, give the answers that are due for at most `seconds`, end all connections, remove the socket."""
        self._entrance.close()
        await self._news.wait_until(lambda: not self._answering, seconds)
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        if self.path:
            with suppress(OSError):
                os.unlink(self.path)

    def _admit(self, visitor: Visitor) -> None:
        reader = asyncio.StreamReader(MOST_REQUEST_BYTES)
        visitor.give_to(asyncio.StreamReaderProtocol(reader, partial(self._connected, visitor)))

    async def _connected(self, visitor: Visitor, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            if self._prove is not None:
                async with asyncio.timeout(GREETING_SECONDS):
                    await self._prove(reader.readexactly, partial(_write, writer))
            await self._serve(visitor, reader, writer)
        except (OSError, TimeoutError, AuthenticationError, ProtocolError) as error:
            _log.debug("control connection with %s: %s", visitor.address, error)
            writer.close()
        except asyncio.CancelledError:
            # by `close`; asyncio would log it
            writer.transport.abort()
        finally:
            self._connections.discard(task)
            visitor.leave()
            writer.close()

    async def _serve(self, visitor: Visitor, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not visitor.busy():
            await _send(writer, refusal(BusyError(f"{MOST_CONNECTIONS} connections are being answered; try again later")))
            return
        visitor.idle()
        while (request := await self._request(reader, writer, IDLE_SECONDS)) is not None and visitor.busy():
            self._answering += 1
            try:
                await _send(writer, await self._verbs.answer(request.verb, request.arguments))
            finally:
                self._answering -= 1
                self._news.tell()
                visitor.idle()

    async def _request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seconds: float) -> Request | None:
        """The next one; None when there is none, of which the other side is told where it said something else."""
        try:
            async with asyncio.timeout(seconds):
                line = await reader.readline()
        except ValueError:
            await _send(writer, refusal(ProtocolError(f"expected a request of at most {MOST_REQUEST_BYTES} bytes, got a longer one")))
            return None
        if not line.endswith(b"\n"):
            return None
        try:
            return msgspec.json.decode(line, type=Request)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            await _send(writer, refusal(InvalidError(f'expected {{"verb": ..., "arguments": {{...}}}} on a line: {error}')))
            return None


async def _send(writer: asyncio.StreamWriter, answer: dict[str, Any]) -> None:
    # not wait_for: before Python 3.12 it can swallow a cancellation
    async with asyncio.timeout(WRITE_SECONDS):
        await _write(writer, msgspec.json.encode(answer) + b"\n")


# ---- the end that asks


class ControlClient:
    """Made by `to_run` or `to_driver`. Whoever calls says how long it may take, and closes it after any error that was not answered."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, whose: str) -> None:
        self._reader, self._writer, self._whose = reader, writer, whose

    @classmethod
    async def to_run(cls, path: str, whose: str) -> Self:
        """To a run of this machine and this user; `whose` is its name for messages.

        Raises:
            OSError: there is no connection.
        """
        return cls(*await asyncio.open_unix_connection(path, limit=MOST_ANSWER_BYTES), whose)

    @classmethod
    async def to_driver(cls, address: tuple[str, int], topology: str, token: str, whose: str) -> Self:
        """To a driver. Both prove that they have its token: who has taken the port of a driver that is gone learns nothing.

        Raises:
            OSError: there is no connection.
            ProtocolError, AuthenticationError: somebody else listens there.
        """
        client = cls(*await asyncio.open_connection(*address, limit=MOST_ANSWER_BYTES), whose)
        try:
            read, write = client._reader.readexactly, partial(_write, client._writer)
            await greet(Identity(topology, MASTER, 0), token.encode(), DRIVER, read, write)
        except BaseException:
            client.close()
            raise
        return client

    async def call(self, verb: str, arguments: Mapping[str, Any]) -> Any:
        """The result of a verb, as JSON has it.

        Raises:
            OSError: the connection ended before there was an answer.
            ProtocolError: what came is none.
            PaspsError: what was answered.
        """
        await _write(self._writer, msgspec.json.encode(Request(verb, arguments)) + b"\n")
        try:
            line = await self._reader.readline()
        except ValueError as error:
            raise ProtocolError(f"{self._whose} answered with more than {MOST_ANSWER_BYTES} bytes") from error
        if not line.endswith(b"\n"):
            raise ConnectionResetError("it ended the connection before it answered")
        return result_of(line, self._whose)

    def close(self) -> None:
        """End the connection at once. More calls do nothing."""
        self._writer.transport.abort()


async def _write(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(data)
    await writer.drain()
