"""Time that jumps: a clock, and an event loop whose waits cost nothing. Everything that runs on it is as it would be in real time."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

from pasps.errors import BrokenError

_T = TypeVar("_T")

EPOCH = 1_700_000_000.0
"""What the wall clock says at the beginning, so that the same simulation writes the same records each time."""


class VirtualClock:
    """See `pasps.clock.Clock`: stands still but for `advance`. `epoch` is the wall clock at 0."""

    def __init__(self, epoch: float = EPOCH) -> None:
        self._now = 0.0
        self._epoch = epoch

    def now(self) -> float:
        """Seconds since the beginning."""
        return self._now

    def cpu(self) -> float:
        """Nobody computes in virtual time."""
        return 0.0

    def awake(self) -> float | None:
        """Not known."""
        return None

    def wall(self) -> float:
        """Seconds since the epoch."""
        return self._epoch + self._now

    def advance(self, seconds: float) -> None:
        """Time passes."""
        self._now += seconds


class _Jump(selectors.BaseSelector):
    """Waits by advancing a clock. What is registered (the loop's own pipe) never becomes ready."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self._keys: dict[Any, selectors.SelectorKey] = {}

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        key = self._keys[fileobj] = selectors.SelectorKey(fileobj, fileobj if isinstance(fileobj, int) else fileobj.fileno(), events, data)
        return key

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._keys.pop(fileobj)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise BrokenError("everything in virtual time waits for something that never comes: there is nothing left to happen")
        self._clock.advance(max(0.0, timeout))
        return []

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._keys


class _VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self, clock: VirtualClock) -> None:
        super().__init__(_Jump(clock))
        self._virtual = clock

    def time(self) -> float:
        return self._virtual.now()


def run_virtually(clock: VirtualClock, main: Coroutine[Any, Any, _T]) -> _T:
    """Run `main` and what it starts to its end, on an event loop of that clock. Not within another loop; no I/O, no threads.

    Raises:
        BrokenError: everything waits for what never comes.
    """
    loop = _VirtualLoop(clock)
    try:
        return loop.run_until_complete(main)
    finally:
        pending = asyncio.all_tasks(loop)
        for task in pending:
            task.cancel()
        if pending:
            loop.run_until_complete(asyncio.gather(*pending, return_exceptions=True))
        loop.close()
