"""A clock that stands still until a test moves it; implements `pasps.clock.Clock`."""

from __future__ import annotations


class FakeClock:
    """Time as a test wants it. Single-threaded code sees it move only between two calls, unless `creep` is given.

    `creep` seconds pass at every look at `now()`, so that code that works for a while and then yields, yields here too.
    """

    def __init__(self, start: float = 1000.0, *, creep: float = 0.0, epoch: float = 1_700_000_000.0) -> None:
        self._now = self._start = start
        self._creep = creep
        self._epoch = epoch
        self._waited = self._set_by = 0.0

    def __repr__(self) -> str:
        return f"FakeClock({self._now:.6f})"

    def now(self) -> float:
        """Monotonic seconds."""
        self._now += self._creep
        return self._now

    def peek(self) -> float:
        """As `now`, without the creep."""
        return self._now

    def cpu(self) -> float:
        """CPU seconds: all time but that of `wait` is spent computing, so that what a bolt costs is what it advances the clock by."""
        return self._now - self._waited

    def awake(self) -> float | None:
        """As `cpu`: nobody else runs."""
        return self.cpu()

    def wall(self) -> float:
        """Seconds since the epoch."""
        return self._epoch + self._now - self._start + self._set_by

    def set_wall(self, seconds: float) -> None:
        """Somebody sets the machine's clock so many seconds forward, or back when it is negative: only `wall` knows."""
        self._set_by += seconds

    def advance(self, seconds: float) -> None:
        """Let time pass.

        Raises:
            ValueError: `seconds` is negative; time does not go back.
        """
        if seconds < 0:
            raise ValueError(f"expected seconds of at least 0, got {seconds!r}")
        self._now += seconds

    def wait(self, seconds: float) -> None:
        """Let time pass in which nobody computes, as while a call blocks.

        Raises:
            ValueError: as `advance` does.
        """
        self.advance(seconds)
        self._waited += seconds

    def advance_to(self, when: float) -> None:
        """Let time pass until `now()` is at least `when`; nothing happens when it is already."""
        self._now = max(self._now, when)
