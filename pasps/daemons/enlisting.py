"""How a worker that was started elsewhere comes to its master: over TCP, and both prove that they know the topology's secret.

Three lines of JSON, then the control connection is as one of this machine's. `Gate` is the master's side, `enlist` the worker's.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import os
import secrets
import socket
from dataclasses import dataclass
from functools import partial
from typing import Annotated, TypeVar

import msgspec

from pasps.cluster.launcher import usable_cores
from pasps.control.news import News
from pasps.errors import AuthenticationError, BrokenError, ProtocolError
from pasps.transport.entrance import Complaints, Entrance, Visitor, listening_socket

_log = logging.getLogger(__name__)

ENLIST_SECONDS = 10.0
_MOST_LINE_BYTES = 4096

_T = TypeVar("_T")


class Request(msgspec.Struct, frozen=True):
    """The first line: who comes, and the worker's challenge."""

    place: str
    where: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    pid: int
    cores: int
    nonce: str


class Challenge(msgspec.Struct, frozen=True):
    """The second: the master's challenge, and its answer to that of the worker."""

    nonce: str
    proof: str


class Proof(msgspec.Struct, frozen=True):
    """The third: the worker's answer."""

    proof: str


@dataclass(frozen=True, slots=True)
class Enlisted:
    """A process that came for a place, and its connection."""

    place: str
    where: tuple[str, ...]
    pid: int
    cores: int
    control: socket.socket


def _proof(secret: bytes, who: str, nonce: str, request: Request) -> str:
    said = "\n".join((who, nonce, request.place, *request.where, str(request.pid), str(request.cores)))
    return hmac.new(secret, said.encode(), hashlib.sha256).hexdigest()


class Gate:
    """Listens for workers, and keeps the newest that came for each place until somebody takes it."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._waiting: dict[str, Enlisted] = {}
        self._news = News()
        self._tasks: set[asyncio.Task[None]] = set()
        self._complaints = Complaints(_log)
        self._entrance: Entrance

    async def open(self, host: str) -> tuple[str, int]:
        """Listen on a free port of that interface; its address.

        Raises:
            BrokenError: the interface cannot be had.
        """
        try:
            listening = listening_socket(host, 0)
        except OSError as error:
            raise BrokenError(f"workers cannot be waited for on {host}: {error}; give another address with --bind") from error
        self._entrance = Entrance(listening, self._admit, ENLIST_SECONDS, self._complaints)
        self._entrance.open()
        address = listening.getsockname()
        return str(address[0]), int(address[1])

    async def take(self, place: str, seconds: float | None = None) -> Enlisted | None:
        """The process that came for a place; waits for it. None: the time is over."""
        if not await self._news.wait_until(lambda: place in self._waiting, seconds):
            return None
        return self._waiting.pop(place)

    def waiting(self) -> int:
        """How many came and were not taken."""
        return len(self._waiting)

    async def close(self) -> None:
        """Listen no more, and send away who waits."""
        self._entrance.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for enlisted in self._waiting.values():
            enlisted.control.close()
        self._waiting.clear()

    def _admit(self, visitor: Visitor) -> None:
        task = asyncio.get_running_loop().create_task(self._prove(visitor.control))

        def cut() -> None:
            task.cancel()

        visitor.cut = cut
        self._tasks.add(task)
        task.add_done_callback(partial(self._proved, visitor))

    def _proved(self, visitor: Visitor, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        visitor.leave()
        if task.cancelled():  # perhaps before it began
            visitor.control.close()

    async def _prove(self, control: socket.socket) -> None:
        try:
            async with asyncio.timeout(ENLIST_SECONDS):
                enlisted = await self._shaken(control)
        except (OSError, TimeoutError, BrokenError) as error:
            self._complaints.tell(f"somebody who is no worker of this topology was turned away: {error}")
            control.close()
            return
        former = self._waiting.get(enlisted.place)
        if former is not None:
            former.control.close()
        self._waiting[enlisted.place] = enlisted
        self._news.tell()

    async def _shaken(self, control: socket.socket) -> Enlisted:
        request = _read(await _line(control), Request)
        nonce = secrets.token_hex(32)
        answer = Challenge(nonce, _proof(self._secret, "master", request.nonce, request))
        await asyncio.get_running_loop().sock_sendall(control, msgspec.json.encode(answer) + b"\n")
        given = _read(await _line(control), Proof).proof
        if not hmac.compare_digest(given.encode(), _proof(self._secret, "worker", nonce, request).encode()):
            raise AuthenticationError(f"process {request.pid} on {request.where[0]} does not know the secret of this topology")
        return Enlisted(request.place, request.where, request.pid, request.cores, control)


async def _line(control: socket.socket) -> bytes:
    loop, data = asyncio.get_running_loop(), bytearray()
    while not data.endswith(b"\n"):
        part = await loop.sock_recv(control, _MOST_LINE_BYTES)
        if not part or len(data) + len(part) > _MOST_LINE_BYTES:
            raise ProtocolError("it did not say a line of JSON")
        data += part
    return bytes(data)


def _read(line: bytes, kind: type[_T]) -> _T:
    try:
        return msgspec.json.decode(line, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ProtocolError(f"expected a {kind.__name__.lower()}, got {line[:60]!r}") from error


def enlist(address: tuple[str, int], secret: bytes, place: str) -> socket.socket:
    """Go to the master, and come back with the control connection. Blocks.

    Who starts workers gives each of its parts that can be lost alone a working directory of its own, as Spark does for executors.

    Raises:
        BrokenError: nobody is there, or it is not the master.
    """
    request = Request(place, (socket.gethostname(), os.getcwd()), os.getpid(), usable_cores(), secrets.token_hex(32))
    try:
        control = socket.create_connection(address, timeout=ENLIST_SECONDS)
    except OSError as error:
        raise BrokenError(f"place {place}: the topology's master at {address[0]}:{address[1]} cannot be reached: {error}") from error
    try:
        control.sendall(msgspec.json.encode(request) + b"\n")
        challenge = _read(_blocking_line(control), Challenge)
        if not hmac.compare_digest(challenge.proof.encode(), _proof(secret, "master", request.nonce, request).encode()):
            raise AuthenticationError(f"place {place}: who answers at {address[0]}:{address[1]} does not know the secret of this topology")
        control.sendall(msgspec.json.encode(Proof(_proof(secret, "worker", challenge.nonce, request))) + b"\n")
        control.settimeout(None)
    except (OSError, BrokenError) as error:
        control.close()
        if isinstance(error, BrokenError):
            raise
        raise BrokenError(f"place {place}: the topology's master at {address[0]}:{address[1]} ended the connection: {error}") from error
    return control


def _blocking_line(control: socket.socket) -> bytes:
    data = bytearray()
    while not data.endswith(b"\n"):
        part = control.recv(_MOST_LINE_BYTES)
        if not part or len(data) + len(part) > _MOST_LINE_BYTES:
            raise ProtocolError("the master did not say a line of JSON")
        data += part
    return bytes(data)
