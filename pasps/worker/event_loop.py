"""An event loop whose timers are exact to microseconds. asyncio's own waits in whole milliseconds, rounded up."""

from __future__ import annotations

import asyncio
import select
import selectors
import sys

if sys.platform == "linux":

    class _PreciseSelector(selectors.EpollSelector):
        """epoll counts milliseconds, select counts microseconds: wait for the epoll descriptor itself with select.

        One descriptor is asked for, so the limits of select on their number do not matter.
        """

        def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
            """See `selectors.BaseSelector.select`."""
            if timeout is None or timeout <= 0 or self.fileno() >= 1024:
                return super().select(timeout)
            ready, _, _ = select.select([self.fileno()], [], [], timeout)
            return super().select(0) if ready else []

    def new_event_loop() -> asyncio.AbstractEventLoop:
        """An event loop with exact timers."""
        return asyncio.SelectorEventLoop(_PreciseSelector())

else:

    def new_event_loop() -> asyncio.AbstractEventLoop:
        """The event loop of the platform."""
        return asyncio.new_event_loop()
