"""The log of a worker, asked for over its control connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from pasps.clock import SystemClock
from pasps.errors import BrokenError, InvalidError, TimeoutExpiredError
from pasps.topology import worker_link
from pasps.topology.keeper import NoKeeper
from pasps.topology.workforce import Workforce
from pasps.worker.messages import LogText, ReadLog
from tests.unit.cli.builders import blueprint
from tests.unit.topology.test_worker_link import Handle, WorkerEnd


class Bench:
    """A launcher of two workers, and the ends of these."""

    sys_path: list[str] = []
    bind = "127.0.0.1"

    def __init__(self) -> None:
        self.ends = {"w0": WorkerEnd(), "w1": WorkerEnd()}
        self.gone: list[str] = []
        self.workforce = Workforce(
            blueprint(), 2, self, SystemClock(), lambda link, said: None, lambda link: self.gone.append(link.worker), NoKeeper()
        )

    async def launch(self, worker: str) -> Handle:
        return await self.ends[worker].launch(worker)

    def asking(self, worker: str, offset: int | None = None, lines: int = 10) -> asyncio.Task[LogText]:
        return asyncio.create_task(self.workforce.read_log(worker, offset, lines))


def run(body: Callable[[Bench], Coroutine[Any, Any, None]]) -> None:
    async def whole() -> None:
        bench = Bench()
        await bench.workforce.gather()
        async with asyncio.timeout(5):
            await body(bench)
        await bench.workforce.end(gently=False)
        for end in bench.ends.values():
            end.end()

    asyncio.run(whole())


def test_the_worker_is_asked_and_its_answer_comes_back() -> None:
    async def body(bench: Bench) -> None:
        asking = bench.asking("w1", 3, 20)
        assert await bench.ends["w1"].heard() == [ReadLog(1, 3, 20)]
        await bench.ends["w1"].say(LogText(1, "said", 7))
        assert await asking == LogText(1, "said", 7)

    run(body)


def test_each_who_asks_gets_the_answer_to_its_own_question() -> None:
    async def body(bench: Bench) -> None:
        first, second = bench.asking("w0", 1), bench.asking("w0", 2)
        heard = [asked for asked in await bench.ends["w0"].heard() if isinstance(asked, ReadLog)]
        assert [asked.offset for asked in heard] == [1, 2]
        for asked in reversed(heard):
            await bench.ends["w0"].say(LogText(asked.number, f"from {asked.offset}", 9))
        assert ((await first).text, (await second).text) == ("from 1", "from 2")

    run(body)


def test_a_worker_that_does_not_answer_is_given_up_and_its_late_answer_is_nobodys(monkeypatch: pytest.MonkeyPatch) -> None:
    async def body(bench: Bench) -> None:
        with pytest.raises(TimeoutExpiredError, match="worker w0: its log did not come"):
            await bench.asking("w0")
        await bench.ends["w0"].heard()
        monkeypatch.setattr(worker_link, "_LOG_SECONDS", 5.0)
        asking = bench.asking("w0")
        await bench.ends["w0"].say(LogText(1, "late", 4))
        await bench.ends["w0"].heard()
        await bench.ends["w0"].say(LogText(2, "in time", 7))
        assert (await asking).text == "in time"

    monkeypatch.setattr(worker_link, "_LOG_SECONDS", 0.001)
    run(body)


def test_a_worker_that_ends_answers_all_who_wait() -> None:
    async def body(bench: Bench) -> None:
        asking = [bench.asking("w0"), bench.asking("w0")]
        await bench.ends["w0"].heard()
        bench.ends["w0"].end()
        for task in asking:
            with pytest.raises(BrokenError, match="worker w0: its process 1 ended"):
                await task
        assert bench.gone == ["w0"]
        with pytest.raises(BrokenError, match="worker w0 is not there now"):
            await bench.asking("w0")

    run(body)


def test_a_worker_that_nobody_knows_is_an_error_of_who_asks() -> None:
    async def body(bench: Bench) -> None:
        with pytest.raises(InvalidError, match=r"no worker 'w2'; there are w0, w1"):
            await bench.asking("w2")

    run(body)


def test_who_is_there_has_a_host() -> None:
    async def body(bench: Bench) -> None:
        assert bench.workforce.hosts() == {"w0": "here", "w1": "here"}
        bench.workforce.dismiss("w0")
        assert bench.workforce.hosts() == {"w1": "here"}

    run(body)
