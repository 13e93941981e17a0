"""Predictor services that do everything wrong, on loopback and on the test's own event loop."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

HOST = "127.0.0.1"
HORIZON = 3
GOOD = (10.0, 11.0, 12.0)

Manner = Callable[["Call"], Awaitable[None]]
"""How a service treats one request."""


@dataclass
class Call:
    """One request as the service sees it."""

    line: str
    headers: dict[str, str]
    body: bytes
    writer: asyncio.StreamWriter

    def send(self, body: bytes, status: str = "200 OK", length: int | None = None) -> None:
        head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body) if length is None else length}\r\n\r\n"
        self.writer.write(head.encode() + body)


@dataclass
class Server:
    """`manner` may be changed while it runs. `open` counts the connections that are still there."""

    manner: Manner
    models: Manner
    url: str = ""
    open: int = 0
    calls: list[Call] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                await self._answer(reader, writer)
        finally:
            self.open -= 1
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        line, *others = head.strip().split("\r\n")
        headers = dict(other.lower().split(": ", 1) for other in others)
        call = Call(line, headers, await reader.readexactly(int(headers.get("content-length", "0"))), writer)
        self.calls.append(call)
        left = asyncio.ensure_future(reader.read())  # the client's end of the connection ends what is done for it
        answer = asyncio.ensure_future(self.models(call) if "GET /v1/" in line else self.manner(call))
        await asyncio.wait([left, answer], return_when=asyncio.FIRST_COMPLETED)
        for task in (left, answer):
            task.cancel()
        await asyncio.gather(left, answer, return_exceptions=True)
        await writer.drain()


@contextlib.asynccontextmanager
async def serving(manner: Manner, models: Manner | None = None, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    """A service for the length of a block; fails when a connection is left."""
    server = Server(manner, models or lists(3))
    listener = await asyncio.start_server(server.serve, HOST, 0, ssl=tls)
    port = listener.sockets[0].getsockname()[1]
    server.url = f"{'https' if tls else 'http'}://{HOST}:{port}"
    try:
        yield server
    finally:
        listener.close()
        for _ in range(400):
            if not server.open:
                break
            await asyncio.sleep(0.005)
        assert not server.open, f"{server.open} connections are still open after 2 s"


def closed_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        port: int = taken.getsockname()[1]
        return port


def says(value: Any, status: str = "200 OK") -> Manner:
    """Answers with a value as JSON, or with bytes as they are."""
    body = value if isinstance(value, bytes) else json.dumps(value).encode()

    async def manner(call: Call) -> None:
        call.send(body, status)

    return manner


def predicts(*values: Any) -> Manner:
    return says({"model": "ann", "predictions": values, "total": 0, "fit_seconds": 0.1, "warnings": []})


def lists(least: int) -> Manner:
    """What GET /v1/models answers."""
    rest = {"about": "", "parameters": {}, "most_samples": 1000}
    return says([{"name": name, "least_samples": least, **rest} for name in ("basic", "ann")])


def lists_artifacts(**windows: int | None) -> Manner:
    """What GET /v1/artifacts answers."""
    return says([{"name": name, "window": window, "model": "gru"} for name, window in windows.items()])


async def hangs(call: Call) -> None:
    await asyncio.Event().wait()


async def drips(call: Call) -> None:
    """One byte at a time, each soon enough that a time-out of one read never comes."""
    for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n" + b" " * 400:
        call.writer.write(bytes([byte]))
        await asyncio.sleep(0.05)


async def leaves_in_the_middle(call: Call) -> None:
    call.send(b'{"predictions": [1', length=50)


async def leaves(call: Call) -> None:
    call.writer.close()


async def resets(call: Call) -> None:
    made: socket.socket = call.writer.get_extra_info("socket")
    made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    call.writer.transport.abort()


async def is_no_http(call: Call) -> None:
    call.writer.write(b"220 mail ready\r\n")


async def floods(call: Call) -> None:
    """Two megabytes, and then it goes on."""
    call.send(b'{"predictions": [' + b"1," * (1 << 20), length=1 << 40)
    while True:
        call.writer.write(b"1," * 4096)
        await call.writer.drain()
