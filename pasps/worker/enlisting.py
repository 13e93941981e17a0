"""How a worker that was started elsewhere comes to its controller: over TCP, and both prove that they know the topology's secret.

After the handshake of `transport` the worker says in a frame of JSON who it is, and then the control connection is as one of this
machine's. `Gate` is the controller's side, `enlist` the worker's.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import msgspec

from pasps.control.news import News
from pasps.cores import usable_cores
from pasps.errors import BrokenError, ProtocolError
from pasps.transport.entrance import Complaints, Entrance, Visitor, listening_socket
from pasps.transport.frames import HEADER_BYTES, seal
from pasps.transport.handshake import Identity, Write, admit, greet

_log = logging.getLogger(__name__)

ENLIST_SECONDS = 10.0
_MOST_REQUEST_BYTES = 4096
_ENLISTING, _GATE = "enlisting", "gate"
"""In the place of a topology's name, so that nothing said here counts at the ports for data; the secret is of one topology anyhow."""


class Offer(msgspec.Struct, frozen=True):
    """What a worker says of itself, beside its place and its process, which it has proved."""

    where: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    cores: int


@dataclass(frozen=True, slots=True)
class Enlisted:
    """A process that came for a place, and its connection."""

    place: str
    where: tuple[str, ...]
    pid: int
    cores: int
    control: socket.socket


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
        # a process id stands for the incarnation here, and the next may well be a lower one
        peer = await admit(Identity(_ENLISTING, _GATE, 0), self._secret, partial(_exactly, control), _writing(control))
        size = int.from_bytes(await _exactly(control, HEADER_BYTES), "big")
        if size > _MOST_REQUEST_BYTES:
            raise ProtocolError(f"request of {size} bytes: expected at most {_MOST_REQUEST_BYTES}")
        said = await _exactly(control, size)
        try:
            offer = msgspec.json.decode(said, type=Offer)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ProtocolError(f"place {peer.worker}: expected a request, got {said[:60]!r}") from error
        return Enlisted(peer.worker, offer.where, peer.incarnation, offer.cores, control)


def enlist(address: tuple[str, int], secret: bytes, place: str) -> socket.socket:
    """Go to the controller, and come back with the control connection. Blocks; for a thread without an event loop.

    Who starts workers gives each of its parts that can be lost alone a working directory of its own, as Spark does for executors.

    Raises:
        BrokenError: nobody is there, or it is not the controller.
    """
    who = f"place {place}: the topology's controller at {address[0]}:{address[1]}"
    try:
        control = socket.create_connection(address, timeout=ENLIST_SECONDS)
    except OSError as error:
        raise BrokenError(f"{who} cannot be reached: {error}") from error
    try:
        control.setblocking(False)
        asyncio.run(_enlist(control, secret, place))
        control.settimeout(None)
    except (OSError, BrokenError) as error:
        control.close()
        if isinstance(error, BrokenError):
            raise type(error)(f"{who}: {error}") from error
        late = f"timed out after {ENLIST_SECONDS:g} s" if isinstance(error, TimeoutError) else error
        raise BrokenError(f"{who} ended the connection: {late}") from error
    return control


async def _enlist(control: socket.socket, secret: bytes, place: str) -> None:
    async with asyncio.timeout(ENLIST_SECONDS):
        write = _writing(control)
        await greet(Identity(_ENLISTING, place, os.getpid()), secret, _GATE, partial(_exactly, control), write)
        said = msgspec.json.encode(Offer((socket.gethostname(), os.getcwd()), usable_cores()))
        await write(bytes(seal(bytearray(HEADER_BYTES) + said)))


def _writing(control: socket.socket) -> Write:
    return partial(asyncio.get_running_loop().sock_sendall, control)


async def _exactly(control: socket.socket, size: int) -> bytes:
    """So many bytes and no more: what comes then is for others."""
    loop, data = asyncio.get_running_loop(), bytearray()
    while len(data) < size:
        part = await loop.sock_recv(control, size - len(data))
        if not part:
            raise ConnectionResetError("it ended the connection in the middle of a handshake")
        data += part
    return bytes(data)
