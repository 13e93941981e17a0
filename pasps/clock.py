"""Time as an object: the only module that reads the machine's clocks.

Everything that measures or waits takes a `Clock`; tests pass `pasps.testing.FakeClock`.
"""

from __future__ import annotations

import os
import time
from typing import Protocol


class Clock(Protocol):
    """What the runtime needs of time, in seconds."""

    def now(self) -> float:
        """Monotonic seconds; only differences mean anything."""

    def cpu(self) -> float:
        """CPU seconds used by the calling thread."""

    def awake(self) -> float | None:
        """Seconds in which a thread of this process ran or waited for a core, those of all threads added up; None: not known.

        Costs some ten microseconds. Only differences mean anything; they are too large rather than too small.
        """

    def wall(self) -> float:
        """Seconds since the epoch, for people."""


class SystemClock:
    """The machine's clocks."""

    now = staticmethod(time.monotonic)
    cpu = staticmethod(time.thread_time)
    wall = staticmethod(time.time)

    def __init__(self) -> None:
        self._waited: dict[str, int] = {}
        self._waited_in_all = 0

    def awake(self) -> float | None:
        """See `Clock`; known on Linux."""
        waited = _waits_for_a_core()
        if not waited:
            return None
        # threads come and go: what one that has ended had waited stays counted
        self._waited_in_all += sum(max(0, nanoseconds - self._waited.get(thread, 0)) for thread, nanoseconds in waited.items())
        self._waited = waited
        return time.process_time() + self._waited_in_all * 1e-9


def process_seconds() -> float:
    """CPU seconds that this process has used, with all its threads. Only differences mean anything."""
    return time.process_time()


def wall_of(clock: Clock, moment: float) -> float:
    """What the wall clock would have shown when `clock.now()` was `moment`, had it been set as it is now.

    So the time from then until `clock.wall()` is as long as it was, whoever set the wall clock in between.
    """
    return clock.wall() - (clock.now() - moment)


def _waits_for_a_core() -> dict[str, int]:
    """Nanoseconds that each thread of this process was ready to run and did not; empty where the system does not tell."""
    # nor does psutil: it knows how long a thread ran, not how long it waited
    found = {}
    try:
        for thread in os.listdir("/proc/self/task"):
            try:
                with open(f"/proc/self/task/{thread}/schedstat", "rb") as file:
                    found[thread] = int(file.read().split()[1])
            except (FileNotFoundError, ProcessLookupError):  # it has just ended
                continue
    except (OSError, ValueError, IndexError):
        return {}
    return found


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
