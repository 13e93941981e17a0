from __future__ import annotations

import asyncio
from typing import cast

import pytest

from pasps.cluster.driver.draining import drained
from pasps.cluster.driver.ending import Ending
from pasps.control.news import News
from pasps.errors import ClosedError, DrainTimeoutError
from pasps.topology.controller import TopologyController
from tests.unit.cluster.driver.rounds import rounds


class Master:
    """Drains until it is told to be done; knows for how long it was given."""

    def __init__(self) -> None:
        self.given: list[float] = []
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def drain(self, seconds: float, *, finish: bool = False) -> None:
        self.given.append(seconds)
        if not seconds:
            raise DrainTimeoutError(seconds, {"count": 3})
        await asyncio.shield(self.done)


class Bench:
    def __init__(self) -> None:
        self.master, self.news = Master(), News()
        self.ending = Ending("restarted", 600.0)

    def begin(self) -> asyncio.Task[dict[str, int]]:
        return asyncio.create_task(drained(cast("TopologyController", self.master), lambda: self.ending, self.news))


def test_what_is_drained_leaves_nothing() -> None:
    async def main() -> None:
        bench = Bench()
        task = bench.begin()
        await rounds()
        bench.master.done.set_result(None)
        assert await task == {}
        assert bench.master.given == [600.0]

    asyncio.run(main())


def test_a_hurried_ending_shortens_it() -> None:
    async def main() -> None:
        bench = Bench()
        task = bench.begin()
        await rounds()
        bench.ending = Ending("stopped", 0.0, for_good=True)
        bench.news.tell()
        assert await task == {"count": 3}
        assert bench.master.given == [600.0, 0.0]

    asyncio.run(main())


def test_what_goes_wrong_is_raised() -> None:
    async def main() -> None:
        bench = Bench()
        bench.master.done.set_exception(ClosedError("it is closed"))
        with pytest.raises(ClosedError):
            await bench.begin()

    asyncio.run(main())
