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

from pasps.control.news import News
from pasps.daemons.verbs import Verbs, refusal
from pasps.errors import BusyError, InvalidError, ProtocolError

_log = logging.getLogger(__name__)

MOST_REQUEST_BYTES = 64 << 10
MOST_CONNECTIONS = 64
IDLE_SECONDS = 300.0
"""After so long without a whole request a connection is closed."""
WRITE_SECONDS = 10.0
"""So long an answer waits for its reader."""


class Request(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One line."""

    verb: str
    arguments: dict[str, Any] = {}


class ControlSocket:
    """Made by `open`. A client that hangs holds up its own connection and nobody else."""

    def __init__(self, path: str, verbs: Verbs) -> None:
        self.path = path
        self._verbs = verbs
        self._server: asyncio.Server
        self._connections: set[asyncio.Task[Any]] = set()
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

    async def close(self, seconds: float = 1.0) -> None:
        """Take no more requests, give the answers that are due for at most `seconds`, end all connections, remove the socket."""
        self._server.close()
        await self._news.wait_until(lambda: not self._answering, seconds)
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        with suppress(OSError):
            os.unlink(self.path)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            if len(self._connections) > MOST_CONNECTIONS:
                await _send(writer, refusal(BusyError(f"{MOST_CONNECTIONS} connections are open already; close some of them")))
            else:
                await self._serve(reader, writer)
        except (OSError, TimeoutError) as error:
            _log.debug("control connection: %s", error)
            writer.transport.abort()
        except asyncio.CancelledError:
            # by `close`; asyncio would log it
            writer.transport.abort()
        finally:
            self._connections.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            try:
                async with asyncio.timeout(IDLE_SECONDS):
                    line = await reader.readline()
            except ValueError:
                await _send(writer, refusal(ProtocolError(f"expected a request of at most {MOST_REQUEST_BYTES} bytes, got a longer one")))
                return
            if not line.endswith(b"\n"):
                return
            self._answering += 1
            try:
                try:
                    request = msgspec.json.decode(line, type=Request)
                except (msgspec.DecodeError, UnicodeDecodeError) as error:
                    await _send(writer, refusal(InvalidError(f'expected {{"verb": ..., "arguments": {{...}}}} on a line: {error}')))
                    return
                await _send(writer, await self._verbs.answer(request.verb, request.arguments))
            finally:
                self._answering -= 1
                self._news.tell()


async def _send(writer: asyncio.StreamWriter, answer: dict[str, Any]) -> None:
    writer.write(msgspec.json.encode(answer) + b"\n")
    # not wait_for: before Python 3.12 it can swallow a cancellation
    async with asyncio.timeout(WRITE_SECONDS):
        await writer.drain()
