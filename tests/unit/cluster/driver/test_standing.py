from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from pasps.cluster.driver import latest as latest_module
from pasps.cluster.driver.latest import Latest
from pasps.cluster.driver.options import DriverOptions
from pasps.cluster.driver.standing import StoreStanding
from pasps.cluster.store import layout
from pasps.cluster.store.submission import DriverRecord, driver_of
from pasps.testing.clock import FakeClock
from pasps.testing.memory_store import MemoryTree
from pasps.topology.run_directory import About, RunDirectory
from pasps.topology.run_record import RunState
from tests.unit.cluster.driver.rounds import StrangeStore, rounds

PATH = layout.driver("words")
LONG = 1000.0
OPTIONS = DriverOptions("words", 3, "h1:2181", "spark://h1:7077", "/p.zip", "/home", "127.0.0.1", "127.0.0.1", None)


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(latest_module, "_RETRY_SECONDS", 0.0)


class Bench:
    def __init__(self) -> None:
        tree = MemoryTree()
        self.clock = FakeClock(epoch=100.0)
        self.store, self.master = tree.session(), tree.session()
        self.standing = StoreStanding(Latest(self.store, PATH, pytest.fail), OPTIONS, self.clock)

    async def seen(self) -> DriverRecord:
        """What masters see, once everything is written."""
        await rounds()
        entry = await self.master.read(PATH)
        assert entry is not None
        return driver_of(entry.value, PATH)

    async def states(self) -> tuple[str, str]:
        seen = await self.seen()
        return seen.state, seen.detail


def run(body: Callable[[Bench], Coroutine[Any, Any, None]]) -> None:
    async def whole() -> None:
        bench = Bench()
        async with asyncio.timeout(5):
            await body(bench)
            await bench.standing.close()

    asyncio.run(whole())


def test_masters_see_who_it_is_and_how() -> None:
    async def body(bench: Bench) -> None:
        bench.standing.restart = 2
        bench.standing.say("starting")
        assert await bench.seen() == DriverRecord(3, socket.gethostname(), os.getpid(), None, "starting", "", 100.0, 2)
        bench.clock.advance(5.0)
        bench.standing.address = ("h2", 7000)
        bench.standing.say("waiting", "for places")
        assert await bench.seen() == DriverRecord(3, socket.gethostname(), os.getpid(), ("h2", 7000), "waiting", "for places", 105.0, 2)

    run(body)


def test_before_it_has_a_run_directory_it_starts() -> None:
    async def body(bench: Bench) -> None:
        assert bench.standing.state is RunState.STARTING
        bench.standing.enter(RunState.RUNNING)
        assert await bench.states() == ("starting", "")

    run(body)


def test_the_run_directory_and_the_store_say_the_same(tmp_path: Path) -> None:
    async def body(bench: Bench) -> None:
        with RunDirectory.create(About("words", "words.py", 2), bench.clock, base=tmp_path) as directory:
            bench.standing.directory = directory
            bench.standing.say("waiting", "for places")
            for state in (RunState.RUNNING, RunState.INACTIVE, RunState.RUNNING, RunState.DRAINING):
                bench.standing.enter(state)
                assert bench.standing.state is directory.state is state
                assert await bench.states() == (str(state), "")
            bench.standing.enter(RunState.RUNNING)  # what drains does not go back
            assert await bench.states() == ("draining", "")

    run(body)


def test_the_last_word_is_there_when_it_was_waited_for() -> None:
    async def body(bench: Bench) -> None:
        bench.standing.say("running")
        await bench.standing.last("failed", "no such file", LONG)
        await bench.standing.close()
        assert await bench.states() == ("failed", "no such file")

    run(body)


def test_the_last_word_does_not_wait_for_ever() -> None:
    async def body(bench: Bench) -> None:
        bench.store.cut()
        await bench.standing.last("ended", "stopped", 0.0)

    run(body)


def test_what_was_said_while_the_store_was_away_is_seen_later() -> None:
    async def body(bench: Bench) -> None:
        bench.store.cut()
        bench.standing.say("running")
        await rounds()
        bench.standing.say("inactive")
        bench.store.mend()
        assert await bench.states() == ("inactive", "")

    run(body)


def test_an_entry_that_nobody_writes_any_more_does_not_keep_it_from_its_end() -> None:
    async def body(bench: Bench) -> None:
        failures: list[BaseException] = []
        standing = StoreStanding(Latest(StrangeStore(PATH), PATH, failures.append), OPTIONS, bench.clock)
        await standing.last("ended", "stopped", LONG)
        await standing.close()
        assert len(failures) == 1

    run(body)


def test_what_else_is_to_be_known_stays_through_states_until_it_is_over() -> None:
    async def body(bench: Bench) -> None:
        with RunDirectory.create(About("words", "words.py", 2), bench.clock) as directory:
            bench.standing.directory = directory
            bench.standing.enter(RunState.RUNNING)
            bench.standing.note("all workers are being started anew")
            assert await bench.states() == ("running", "all workers are being started anew")
            bench.standing.enter(RunState.INACTIVE)
            assert await bench.states() == ("inactive", "all workers are being started anew")
            assert directory.record.detail == "all workers are being started anew"
            bench.standing.note("")
            assert await bench.states() == ("inactive", "")

    run(body)
