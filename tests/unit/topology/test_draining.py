from __future__ import annotations

import asyncio
from typing import cast

import pytest

from pasps.clock import Deadline
from pasps.control.news import News
from pasps.errors import ClosedError, DrainTimeoutError
from pasps.testing import FakeClock
from pasps.topology.controller import TopologyController
from pasps.topology.draining import drained


class Controller:
    """Drains until it is told to be done; knows for how long it was given, and whether somebody still drains."""

    def __init__(self) -> None:
        self.given: list[float] = []
        self.for_good: list[bool] = []
        self.draining = 0
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def drain(self, seconds: float, *, finish: bool = False) -> None:
        self.given.append(seconds)
        self.for_good.append(finish)
        if not seconds:
            raise DrainTimeoutError(seconds, {"count": 3})
        self.draining += 1
        try:
            await asyncio.shield(self.done)
        finally:
            self.draining -= 1


class Bench:
    def __init__(self) -> None:
        self.controller, self.news, self.clock = Controller(), News(), FakeClock()
        self.by = Deadline(self.clock, 600.0)

    def begin(self) -> asyncio.Task[None]:
        return asyncio.create_task(drained(cast("TopologyController", self.controller), lambda: self.by, self.news))

    def change(self, seconds: float) -> None:
        self.by = Deadline(self.clock, seconds)
        self.news.tell()


async def rounds() -> None:
    """Let everything happen that is due."""
    for _ in range(50):
        await asyncio.sleep(0)


def test_what_is_drained_leaves_nothing() -> None:
    async def main() -> None:
        bench = Bench()
        task = bench.begin()
        await rounds()
        bench.controller.done.set_result(None)
        await task
        assert (bench.controller.given, bench.controller.for_good) == ([600.0], [True])

    asyncio.run(main())


def test_a_hurried_ending_shortens_it() -> None:
    async def main() -> None:
        bench = Bench()
        task = bench.begin()
        await rounds()
        bench.change(0.0)
        with pytest.raises(DrainTimeoutError) as late:
            await task
        assert late.value.left == {"count": 3}
        assert bench.controller.given == [600.0, 0.0]

    asyncio.run(main())


def test_only_what_is_left_of_its_time_counts_when_it_is_changed() -> None:
    async def main() -> None:
        bench = Bench()
        task = bench.begin()
        await rounds()
        sooner = Deadline(bench.clock, 20.0)
        bench.clock.advance(5.0)
        bench.by = sooner
        bench.news.tell()
        await rounds()
        bench.news.tell()  # of something else: nothing begins anew
        await rounds()
        assert (bench.controller.given, bench.controller.draining) == ([600.0, 15.0], 1)
        bench.controller.done.set_result(None)
        await task

    asyncio.run(main())


def test_what_goes_wrong_is_raised() -> None:
    async def main() -> None:
        bench = Bench()
        bench.controller.done.set_exception(ClosedError("it is closed"))
        with pytest.raises(ClosedError):
            await bench.begin()

    asyncio.run(main())


def test_when_nobody_waits_for_it_any_more_nobody_drains() -> None:
    async def main() -> None:
        bench = Bench()
        task = bench.begin()
        await rounds()
        task.cancel()
        await rounds()
        assert task.cancelled()
        assert bench.controller.draining == 0

    asyncio.run(main())
