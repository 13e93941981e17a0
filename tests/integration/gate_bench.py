"""A gate with its workers' ends, for the tests of enlisting."""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from pasps.worker.enlisting import Enlisted, Gate, enlist

HOST = "127.0.0.1"
SECRET = secrets.token_bytes(32)
PATIENCE = 10.0


class Bench:
    """A gate, and who goes there."""

    def __init__(self) -> None:
        self.gate = Gate(SECRET)
        self.address: tuple[str, int]

    async def enlisted(self, place: str, secret: bytes = SECRET) -> socket.socket:
        """The worker's end."""
        return await asyncio.to_thread(enlist, self.address, secret, place)

    async def taken(self, place: str) -> Enlisted:
        found = await self.gate.take(place, PATIENCE)
        assert found is not None, f"nobody came for {place}"
        return found

    async def still_works(self) -> None:
        with await self.enlisted("good"):
            (await self.taken("good")).control.close()

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(*self.address)


@asynccontextmanager
async def benched() -> AsyncIterator[Bench]:
    bench = Bench()
    bench.address = await bench.gate.open(HOST)
    try:
        yield bench
    finally:
        await bench.gate.close()


def run(body: Callable[[Bench], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with asyncio.timeout(30), benched() as bench:
            await body(bench)

    asyncio.run(whole())
