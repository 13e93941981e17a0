from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from pasps.cluster.driver.wanted import WantedState
from pasps.cluster.store import layout
from pasps.cluster.store.contract import StoreUnavailableError
from pasps.cluster.store.submission import Desired, DriverRecord, encoded, with_desired
from pasps.errors import InvalidError
from pasps.testing.memory_store import MemoryTree
from tests.unit.cluster.driver.rounds import rounds, until

NAME = "words"
DESIRED, DRIVER = layout.topology(NAME), layout.driver(NAME)


class Bench:
    """Driver 2 of a topology, and its masters; `told` counts what it is told."""

    def __init__(self) -> None:
        tree = MemoryTree()
        self.store, self.master = tree.session(), tree.session()
        self.wanted = WantedState(self.store, NAME, 2)
        self.told = 0
        self.following: asyncio.Task[None] | None = None

    def changed(self) -> None:
        self.told += 1

    async def follow(self) -> None:
        await self.wanted.begin()
        self.following = asyncio.create_task(self.wanted.follow(self.changed))
        await rounds()

    async def want(self, desired: Desired) -> None:
        await self.master.write(DESIRED, with_desired(b"", desired))

    async def driver(self, epoch: int) -> None:
        await self.master.write(DRIVER, encoded(DriverRecord(epoch, "here", 7)))


def run(body: Callable[[Bench], Coroutine[Any, Any, None]]) -> None:
    async def whole() -> None:
        bench = Bench()
        async with asyncio.timeout(5):
            await body(bench)
        if bench.following is not None:
            assert not bench.following.done()
            bench.following.cancel()
            await asyncio.gather(bench.following, return_exceptions=True)

    asyncio.run(whole())


def test_of_a_topology_of_which_nothing_is_said_activity_is_wanted() -> None:
    async def body(bench: Bench) -> None:
        await bench.wanted.begin()
        assert (bench.wanted.desired, bench.wanted.later) == (Desired(), None)

    run(body)


def test_what_is_in_the_store_is_wanted() -> None:
    async def body(bench: Bench) -> None:
        await bench.want(Desired("inactive", 3.0, 2))
        await bench.driver(1)
        await bench.wanted.begin()
        assert (bench.wanted.desired, bench.wanted.later) == (Desired("inactive", 3.0, 2), None)

    run(body)


@pytest.mark.parametrize(("epoch", "later"), [(1, None), (2, None), (3, 3)])
def test_a_driver_is_later_when_its_epoch_is_higher(epoch: int, later: int | None) -> None:
    async def body(bench: Bench) -> None:
        await bench.driver(epoch)
        await bench.wanted.begin()
        assert bench.wanted.later == later

    run(body)


def test_it_cannot_begin_without_the_store_nor_with_nonsense_in_it() -> None:
    async def body(bench: Bench) -> None:
        for nonsense in (b"yes", b"[" * 100_000, b"{}"):
            await bench.master.write(DESIRED, nonsense)
            with pytest.raises(InvalidError, match=r"/topologies/words: expected a KeptTopology"):
                await bench.wanted.begin()
        bench.store.cut()
        with pytest.raises(StoreUnavailableError):
            await bench.wanted.begin()

    run(body)


def test_every_change_is_told_and_the_newest_is_there_by_then() -> None:
    async def body(bench: Bench) -> None:
        await bench.follow()
        for desired in (Desired("inactive"), Desired("active", restart=1), Desired("killed", 0.0, 1)):
            told = bench.told
            await bench.want(desired)
            await until(lambda told=told: bench.told > told, "news")  # type: ignore[misc]
            assert bench.wanted.desired == desired
        await bench.driver(3)
        await until(lambda: bench.wanted.later == 3, "the later driver")

    run(body)


def test_what_was_wanted_while_the_store_was_away_is_heard_of_when_it_is_back() -> None:
    async def body(bench: Bench) -> None:
        await bench.follow()
        bench.store.cut()
        await bench.want(Desired("killed"))
        await bench.driver(3)
        await rounds()
        assert bench.wanted.desired == Desired()
        bench.store.mend()
        await until(lambda: bench.wanted.desired.state == "killed" and bench.wanted.later == 3, "the kill")

    run(body)


def test_a_store_that_goes_away_while_it_is_read_is_read_again(caplog: pytest.LogCaptureFixture) -> None:
    async def body(bench: Bench) -> None:
        await bench.follow()
        told = bench.told
        await bench.want(Desired("inactive"))
        bench.store.cut()  # it was told of the change, and has not read it yet
        await rounds()
        assert bench.told == told
        bench.store.mend()
        await until(lambda: bench.told > told, "news")
        assert bench.wanted.desired == Desired("inactive")

    run(body)
    assert "what is wanted of words cannot be read now" in caplog.text


def test_a_lost_session_is_no_matter() -> None:
    async def body(bench: Bench) -> None:
        await bench.follow()
        bench.store.lose()
        await bench.want(Desired("inactive"))
        await until(lambda: bench.wanted.desired.state == "inactive", "the change")

    run(body)


def test_nonsense_is_skipped_and_what_follows_it_is_obeyed() -> None:
    async def body(bench: Bench) -> None:
        await bench.follow()
        await bench.master.write(DESIRED, b"yes")
        await rounds()
        assert bench.wanted.desired == Desired()
        await bench.want(Desired("inactive"))
        await until(lambda: bench.wanted.desired.state == "inactive", "the change")

    run(body)


def test_what_was_removed_is_still_wanted() -> None:
    async def body(bench: Bench) -> None:
        await bench.want(Desired("killed"))
        await bench.follow()
        await bench.master.remove(layout.topology(NAME))
        await rounds()
        assert bench.wanted.desired == Desired("killed")

    run(body)


@pytest.mark.parametrize("emptied", [True, False])
def test_a_topology_that_was_taken_out_of_the_store_is_to_end(emptied: bool) -> None:
    """Its driver was cut off for so long that a leader took it for gone."""

    async def body(bench: Bench) -> None:
        await bench.want(Desired("inactive", 3.0, 2))
        await bench.follow()
        bench.store.cut()
        await (bench.master.write(DESIRED, b"") if emptied else bench.master.remove(DESIRED))
        bench.store.mend()
        await until(lambda: bench.wanted.desired == Desired("killed", 0.0, 2), "the end")

    run(body)


def test_nonsense_about_the_driver_hides_nothing_that_is_wanted() -> None:
    async def body(bench: Bench) -> None:
        await bench.follow()
        await bench.master.write(DRIVER, b"yes")
        await rounds()
        told = bench.told
        await bench.want(Desired("killed"))
        await until(lambda: bench.told > told, "news")

    run(body)


def test_it_follows_no_more_when_that_is_cancelled() -> None:
    async def body(bench: Bench) -> None:
        await bench.follow()
        assert bench.following is not None
        bench.following.cancel()
        await asyncio.gather(bench.following, return_exceptions=True)
        bench.following = None
        told = bench.told
        await bench.want(Desired("killed"))
        await rounds()
        assert (bench.told, bench.wanted.desired) == (told, Desired())

    run(body)


def test_a_later_start_counts_even_when_its_record_was_written_over() -> None:
    """A driver that came slowly may have written its own record over that of its successor."""

    async def body(bench: Bench) -> None:
        await bench.driver(2)
        await bench.master.write(layout.launch(NAME), b'{"epoch": 3, "package": "p"}')
        await bench.wanted.begin()
        assert bench.wanted.later == 3

    run(body)
