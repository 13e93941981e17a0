from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from pasps.cluster.driver import latest as module
from pasps.cluster.driver.latest import Latest
from pasps.errors import BrokenError
from pasps.testing.memory_store import MemoryStore, MemoryTree
from tests.unit.cluster.driver.rounds import DoubtfulStore, HangingStore, StrangeStore, rounds, until, until_value, value_at

PATH = "/topologies/words/driver"
LONG = 1000.0


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_RETRY_SECONDS", 0.0)


class Bench:
    """A store, and somebody else's session of it."""

    def __init__(self) -> None:
        tree = MemoryTree()
        self.store, self.other = tree.session(), tree.session()
        self.failures: list[BaseException] = []

    def latest(self, pause_seconds: float = 0.0) -> Latest:
        return Latest(self.store, PATH, self.failures.append, pause_seconds)


def run(body: Callable[[Bench], Coroutine[Any, Any, None]]) -> None:
    async def whole() -> None:
        async with asyncio.timeout(5):
            bench = Bench()
            await body(bench)
            assert not bench.failures

    asyncio.run(whole())


def test_the_newest_value_is_written_and_what_was_given_before_it_is_not() -> None:
    async def body(bench: Bench) -> None:
        latest = bench.latest()
        for value in (b"1", b"2", b"3"):
            latest.put(value)
        await until_value(bench.other, PATH, b"3")
        entry = await bench.other.read(PATH)
        assert entry is not None
        assert entry.version == 0
        await latest.close()

    run(body)


def test_the_same_value_again_is_not_written_again() -> None:
    async def body(bench: Bench) -> None:
        latest = bench.latest()
        latest.put(b"1")
        assert await latest.flush(LONG)
        latest.put(b"1")
        await rounds()
        entry = await bench.other.read(PATH)
        assert entry is not None
        assert entry.version == 0
        await latest.close()

    run(body)


def test_between_two_writes_there_is_a_pause() -> None:
    async def body(bench: Bench) -> None:
        latest = bench.latest(LONG)
        latest.put(b"1")
        await until_value(bench.other, PATH, b"1")
        latest.put(b"2")
        await rounds()
        assert await value_at(bench.other, PATH) == b"1"
        await latest.close()

    run(body)


def test_to_flush_does_not_wait_for_the_end_of_a_pause() -> None:
    async def body(bench: Bench) -> None:
        latest = bench.latest(LONG)
        latest.put(b"1")
        await until_value(bench.other, PATH, b"1")
        await rounds()
        latest.put(b"2")
        assert await latest.flush(LONG)
        assert await value_at(bench.other, PATH) == b"2"
        await latest.close()

    run(body)


def test_nothing_to_write_is_flushed_at_once() -> None:
    async def body(bench: Bench) -> None:
        latest = bench.latest()
        assert await latest.flush(0.0)
        await latest.close()
        assert await value_at(bench.other, PATH) is None

    run(body)


def test_what_cannot_be_written_now_is_written_when_the_store_is_back_but_only_the_newest() -> None:
    async def body(bench: Bench) -> None:
        latest = bench.latest()
        bench.store.cut()
        latest.put(b"1")
        await rounds()
        assert not await latest.flush(0.0)
        latest.put(b"2")
        await rounds()
        bench.store.mend()
        assert await latest.flush(LONG)
        entry = await bench.other.read(PATH)
        assert entry is not None
        assert (entry.value, entry.version) == (b"2", 0)
        await latest.close()

    run(body)


def test_a_lost_session_is_no_matter() -> None:
    async def body(bench: Bench) -> None:
        latest = bench.latest()
        latest.put(b"1")
        assert await latest.flush(LONG)
        bench.store.lose()
        latest.put(b"2")
        await until_value(bench.other, PATH, b"2")
        await latest.close()

    run(body)


def test_after_a_write_that_may_have_been_done_the_value_before_it_is_written_again() -> None:
    async def body(_: Bench) -> None:
        store = DoubtfulStore(b"2", lambda: latest.put(b"1"))
        latest = Latest(store, PATH, pytest.fail)
        latest.put(b"1")
        assert await latest.flush(LONG)
        latest.put(b"2")
        await until_value(store, PATH, b"2")
        assert await latest.flush(LONG)
        assert await value_at(store, PATH) == b"1"
        await latest.close()

    run(body)


def test_to_flush_takes_no_longer_than_it_may() -> None:
    async def body(_: Bench) -> None:
        store: MemoryStore = HangingStore()
        latest = Latest(store, PATH, pytest.fail)
        latest.put(b"1")
        assert not await latest.flush(0.0)
        await rounds()
        assert not await latest.flush(0.0)
        await latest.close()

    run(body)


def test_after_the_end_nothing_is_written() -> None:
    async def body(bench: Bench) -> None:
        latest = bench.latest()
        await rounds()
        await latest.close()
        latest.put(b"1")
        await rounds()
        assert await value_at(bench.other, PATH) is None
        await latest.close()

    run(body)


def test_who_made_it_is_told_that_it_writes_no_more_and_who_waits_for_a_value_too() -> None:
    async def body(bench: Bench) -> None:
        latest = Latest(StrangeStore(PATH), PATH, bench.failures.append)
        latest.put(b"1")
        waiting = asyncio.create_task(latest.flush(LONG))
        await until(lambda: bool(bench.failures), "that it writes no more")
        with pytest.raises(BrokenError, match=f"{PATH} has not the newest value.*nobody has thought of this"):
            await waiting
        with pytest.raises(BrokenError, match="nobody has thought of this"):
            await latest.flush(LONG)
        await latest.close()
        assert [str(bench.failures.pop())] == ["nobody has thought of this"]

    run(body)


def test_who_closes_it_is_told_of_no_failure() -> None:
    async def body(bench: Bench) -> None:
        latest = bench.latest()
        latest.put(b"1")
        await latest.close()
        await rounds()

    run(body)
