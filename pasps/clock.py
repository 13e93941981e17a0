"""Time as an object: the only module that reads the machine's clocks.

Everything that measures or waits takes a `Clock`; tests pass `pasps.testing.FakeClock`.
"""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """What the runtime needs of time, in seconds."""

    def now(self) -> float:
        """Monotonic seconds; only differences mean anything."""

    def cpu(self) -> float:
        """CPU seconds used by the calling thread."""

    def wall(self) -> float:
        """Seconds since the epoch, for people."""


class SystemClock:
    """The machine's clocks."""

    now = staticmethod(time.monotonic)
    cpu = staticmethod(time.thread_time)
    wall = staticmethod(time.time)


class Deadline:
    """One time budget, passed down instead of a timeout per call; None never expires."""

    __slots__ = ("_clock", "_end", "seconds")

    def __init__(self, clock: Clock, seconds: float | None) -> None:
        self._clock = clock
        self.seconds = seconds
        self._end = None if seconds is None else clock.now() + seconds

    def remaining(self) -> float | None:
        """Seconds left, never below zero; None when there is no limit."""
        return None if self._end is None else max(0.0, self._end - self._clock.now())

    def expired(self) -> bool:
        """Whether the budget is used up."""
        return self._end is not None and self._clock.now() >= self._end
