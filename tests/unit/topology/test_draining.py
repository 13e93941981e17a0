from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from pasps.api.bolt import Bolt
from pasps.api.spout import Spout
from pasps.api.topology import Topology
from pasps.api.tuples import Tuple
from pasps.clock import Deadline
from pasps.control.news import News
from pasps.errors import ClosedError, DrainTimeoutError
from pasps.topology.draining import drained
from pasps.worker.messages import Cut
from tests.unit.in_process import InProcessTopology


class Once(Spout):
    outputs = ("n",)
    emitted = False

    def next_tuple(self) -> None:
        if not self.emitted:
            self.emit([1], tup_id=1)
            self.emitted = True


class Held(Bolt):
    """Is done with what it has when `go` is set."""

    go: asyncio.Event

    async def process(self, tup: Tuple) -> None:
        await Held.go.wait()


class Holding(Topology):
    numbers = Once.spec()
    held = Held.spec(inputs=[numbers])


class Bench(InProcessTopology):
    """One event is under way, and somebody drains."""

    def __init__(self) -> None:
        super().__init__(Holding.blueprint())
        self.launcher.close_seconds = 0.5
        Held.go = asyncio.Event()
        self.started(awake=True)
        self.run(asyncio.sleep(1.0))
        self.began = self.clock.now()
        self.news, self.by = News(), Deadline(self.clock, 60.0)

    def begin(self) -> asyncio.Task[None]:
        return asyncio.create_task(drained(self.controller, lambda: self.by, self.news))

    def change(self, seconds: float) -> None:
        self.by = Deadline(self.clock, seconds)
        self.news.tell()

    def took(self) -> float:
        return self.clock.now() - self.began

    def looks(self) -> int:
        """How often the workers were asked what is left."""
        return sum(isinstance(heard, Cut) for heard in self.launcher.workers["w0"].heard)


@pytest.fixture(autouse=True)
def _all_end() -> Iterator[None]:
    yield
    Bench.close_all()


def run(body: Callable[[Bench], Coroutine[Any, Any, None]]) -> None:
    bench = Bench()
    bench.run(body(bench))


def test_what_is_drained_leaves_nothing() -> None:
    async def body(bench: Bench) -> None:
        task = bench.begin()
        await asyncio.sleep(10.0)
        assert not task.done()
        Held.go.set()
        await task
        assert bench.took() == pytest.approx(10.0, abs=0.2)
        assert (await bench.controller.stats()).pending == 0

    run(body)


def test_it_is_for_good_so_that_no_restart_begins_any_more() -> None:
    async def body(bench: Bench) -> None:
        task = bench.begin()
        await asyncio.sleep(1.0)
        acts, _, took = await bench.controller.restart({"held": 1, "numbers": 2})
        assert (took, acts["numbers"].error) == (None, "the topology is drained")
        Held.go.set()
        await task

    run(body)


def test_it_takes_no_longer_than_it_was_given() -> None:
    async def body(bench: Bench) -> None:
        with pytest.raises(DrainTimeoutError) as late:
            await bench.begin()
        assert late.value.left == {"held": 1}
        assert bench.took() == pytest.approx(60.0, abs=0.1)

    run(body)


def test_a_hurried_ending_shortens_it() -> None:
    async def body(bench: Bench) -> None:
        task = bench.begin()
        await asyncio.sleep(10.0)
        bench.change(0.0)
        with pytest.raises(DrainTimeoutError) as late:
            await task
        assert late.value.left == {"held": 1, "tracked tuples in flight": 1}
        assert bench.took() == pytest.approx(10.0, abs=0.1)

    run(body)


def test_only_what_is_left_of_its_time_counts_when_it_is_changed() -> None:
    async def body(bench: Bench) -> None:
        task = bench.begin()
        await asyncio.sleep(0.0)
        sooner = Deadline(bench.clock, 20.0)
        await asyncio.sleep(5.0)
        bench.by = sooner
        bench.news.tell()
        await asyncio.sleep(1.0)
        bench.news.tell()  # of something else: nothing begins anew
        with pytest.raises(DrainTimeoutError) as late:
            await task
        assert bench.took() == pytest.approx(20.0, abs=0.1)
        assert late.value.seconds == pytest.approx(15.0, abs=0.01)

    run(body)


def test_what_goes_wrong_is_raised() -> None:
    async def body(bench: Bench) -> None:
        task = bench.begin()
        await asyncio.sleep(1.0)
        await bench.controller.close()
        with pytest.raises(ClosedError):
            await task

    run(body)


def test_when_nobody_waits_for_it_any_more_nobody_drains() -> None:
    async def body(bench: Bench) -> None:
        task = bench.begin()
        await asyncio.sleep(1.0)
        task.cancel()
        await asyncio.sleep(1.0)
        assert task.cancelled()
        looks = bench.looks()
        await asyncio.sleep(10.0)
        assert bench.looks() == looks

    run(body)
