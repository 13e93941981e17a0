"""A drain that somebody may shorten while it is under way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from pasps.cluster.driver.ending import Ending
from pasps.control.news import News
from pasps.errors import DrainTimeoutError
from pasps.topology.controller import TopologyController


async def drained(controller: TopologyController, ending: Callable[[], Ending | None], news: News) -> dict[str, int]:
    """Drain for as long as its ending gives it; another one that comes meanwhile (`news` tells) counts from then on.

    The bolts' `finish` is a part of it, also before a restart: their instances end here. Returns what is left, by component.
    """
    while True:
        now = ending()
        assert now is not None
        draining = asyncio.get_running_loop().create_task(controller.drain(now.drain_seconds, finish=True))
        draining.add_done_callback(lambda _: news.tell())
        await news.wait_until(lambda over=draining.done, was=now: over() or ending() is not was, None)  # type: ignore[misc]
        draining.cancel()
        (outcome,) = await asyncio.gather(draining, return_exceptions=True)
        if isinstance(outcome, asyncio.CancelledError) and ending() is not now:
            continue
        if isinstance(outcome, DrainTimeoutError):
            return dict(outcome.left)
        if isinstance(outcome, BaseException):
            raise outcome
        return {}
