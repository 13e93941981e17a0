"""A drain whose time somebody may change while it is under way, as `pasps kill` does from another terminal."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from pasps.clock import Deadline
from pasps.control.news import News
from pasps.topology.controller import TopologyController


async def drained(controller: TopologyController, by: Callable[[], Deadline], news: News) -> None:
    """Drain for good until that moment; when `by` says another one meanwhile (`news` tells), that one counts from then on.

    The bolts' `finish` is a part of it, also before a restart: their instances end here.

    Raises:
        DrainTimeoutError: says what is left, by component.
        ClosedError: the topology ended meanwhile.
    """
    while True:
        now = by()
        # another drain rather than a longer one: one drain has one end, and what has left by then does not come back by beginning anew
        draining = asyncio.get_running_loop().create_task(controller.drain(now.remaining() or 0.0, finish=True))
        draining.add_done_callback(lambda _: news.tell())
        try:
            # which deadline it is counts, not how much of it is left: who says the same seconds once more means from now on
            await news.wait_until(lambda over=draining.done, was=now: over() or by() is not was, None)  # type: ignore[misc]
        finally:
            draining.cancel()
        (outcome,) = await asyncio.gather(draining, return_exceptions=True)
        if isinstance(outcome, asyncio.CancelledError) and by() is not now:
            continue
        if isinstance(outcome, BaseException):
            raise outcome
        return
