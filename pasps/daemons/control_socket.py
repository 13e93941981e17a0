"""Serves verbs on a Unix socket: a line of JSON in, a line of JSON out, on the event loop of what is controlled.

`{"verb": "scale", "arguments": {"bolts": {"count": 4}}}` is a request; the answer is that of `Verbs.answer`. A connection may
make many requests, one after the other; what is no request at all is answered, and ends its connection.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from contextlib import suppress
from typing import Any

import msgspec

from pasps.cluster.tokens import is_token
from pasps.control.news import News
from pasps.daemons.verbs import Verbs, refusal
from pasps.errors import AuthenticationError, BusyError, InvalidError, ProtocolError

_log = logging.getLogger(__name__)

MOST_REQUEST_BYTES = 64 << 10
MOST_CONNECTIONS = 64
IDLE_SECONDS = 300.0
"""After so long without a whole request a connection is closed."""
GREETING_SECONDS = 10.0
"""So long a connection that must begin with `hello` may take for that."""
MOST_STRANGERS = 64
"""So many may be about to greet; then the oldest is closed. Who has the token greets at once, and strangers use up no connections."""
WRITE_SECONDS = 10.0
"""So long an answer waits for its reader."""
_NO_GREETING = "expected the verb 'hello' with the right token first"


class Request(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One line."""

    verb: str
    arguments: dict[str, Any] = {}


class ControlSocket:
    """Made by `open` or `listen`. A client that hangs holds up its own connection and nobody else."""

    def __init__(self, path: str, verbs: Verbs, token: str | None = None) -> None:
        self.path = path
        self.address: tuple[str, int] | None = None
        self._verbs = verbs
        self._token = token
        self._server: asyncio.Server
        self._connections: set[asyncio.Task[Any]] = set()
        self._strangers: dict[asyncio.Task[Any], None] = {}  # of those, who has not greeted, in order of arrival
        self._answering = 0
        self._news = News()

    @classmethod
    async def open(cls, path: str, verbs: Verbs) -> ControlSocket:
        """Listen; only this user may connect.

        Raises:
            OSError: the path is too long, is in use, or its file system takes no sockets.
        """
        self = cls(path, verbs)
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            # the directory around it is closed to others, so nobody comes in before the mode is set
            listening.bind(path)
            os.chmod(path, 0o600)
            self._server = await asyncio.start_unix_server(self._connected, sock=listening, limit=MOST_REQUEST_BYTES)
        except OSError:
            listening.close()
            raise
        return self

    @classmethod
    async def listen(cls, host: str, verbs: Verbs, token: str) -> ControlSocket:
        """Listen on a free TCP port, `address`. A connection begins with the verb `hello`, which has the token as argument.

        Raises:
            OSError: the interface cannot be had.
        """
        self = cls("", verbs, token)
        self._server = await asyncio.start_server(self._connected, host, 0, limit=MOST_REQUEST_BYTES)
        bound = self._server.sockets[0].getsockname()
        self.address = str(bound[0]), int(bound[1])
        return self

    async def close(self, seconds: float = 1.0) -> None:
        """Take no more requests, give the answers that are due for at most `seconds`, end all connections, remove the socket."""
        self._server.close()
        await self._news.wait_until(lambda: not self._answering, seconds)
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        if self.path:
            with suppress(OSError):
                os.unlink(self.path)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            if self._token is None or await self._greeted(task, reader, writer):
                await self._serve(reader, writer)
        except (OSError, TimeoutError) as error:
            _log.debug("control connection: %s", error)
            writer.transport.abort()
        except asyncio.CancelledError:
            # by `close`, or as the oldest stranger; asyncio would log it
            writer.transport.abort()
        finally:
            self._connections.discard(task)
            writer.close()

    async def _greeted(self, task: asyncio.Task[Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Whether a connection begins with the token."""
        if len(self._strangers) >= MOST_STRANGERS:
            oldest = next(iter(self._strangers))
            del self._strangers[oldest]
            oldest.cancel()
        self._strangers[task] = None
        try:
            request = await self._request(reader, writer, GREETING_SECONDS)
            if request is None:
                return False
            known = self._is_greeting(request)
            await _send(writer, {"ok": True, "result": {}} if known else refusal(AuthenticationError(_NO_GREETING)))
            return known
        finally:
            self._strangers.pop(task, None)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._connections) - len(self._strangers) > MOST_CONNECTIONS:
            await _send(writer, refusal(BusyError(f"{MOST_CONNECTIONS} connections are open already; close some of them")))
            return
        while (request := await self._request(reader, writer, IDLE_SECONDS)) is not None:
            self._answering += 1
            try:
                await _send(writer, await self._verbs.answer(request.verb, request.arguments))
            finally:
                self._answering -= 1
                self._news.tell()

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

    def _is_greeting(self, request: Request) -> bool:
        given = request.arguments.get("token")
        return request.verb == "hello" and isinstance(given, str) and is_token(given, str(self._token))


async def _send(writer: asyncio.StreamWriter, answer: dict[str, Any]) -> None:
    writer.write(msgspec.json.encode(answer) + b"\n")
    # not wait_for: before Python 3.12 it can swallow a cancellation
    async with asyncio.timeout(WRITE_SECONDS):
        await writer.drain()
