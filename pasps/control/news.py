"""Waiting for something to become true on an event loop, without asking again and again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class News:
    """`tell` after anything changed; `wait_until` looks again whenever somebody told."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def tell(self) -> None:
        """Something changed: whoever waits looks again."""
        self._event.set()
        self._event = asyncio.Event()

    async def wait_until(self, condition: Callable[[], bool], seconds: float | None) -> bool:
        """Wait until the condition holds; False when the time is over first. None waits without end."""
        loop = asyncio.get_running_loop()
        deadline = None if seconds is None else loop.time() + seconds
        while not condition():
            left = None if deadline is None else deadline - loop.time()
            if left is not None and left <= 0:
                return False
            try:
                # not wait_for: before Python 3.12 that can swallow a cancellation, and whoever cancelled waits for ever
                async with asyncio.timeout(left):
                    await self._event.wait()
            except TimeoutError:
                return condition()
        return True
