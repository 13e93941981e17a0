"""Elasticity beside a topology: corrections that a worker asks for at once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pasps.activation import first_table
from pasps.assignment import Need, place
from pasps.control.settings import ElasticSettings
from pasps.errors import BrokenError
from pasps.metrics import Stats
from pasps.testing import FakeClock
from pasps.topology.controller import TopologyController
from pasps.topology.elastic import Elastic, ElasticConfig
from tests.unit.cli.builders import blueprint, stats


class Controller:
    """As much of a `TopologyController` as is asked for a snapshot; the first one comes at once, the others when `gate` is open."""

    def __init__(self) -> None:
        self.blueprint = blueprint()
        self.actuator = SimpleNamespace(held={})
        self.publisher = SimpleNamespace(table=first_table(place({"numbers": Need(1, 1), "doubled": Need(4, 2)}, ["w0"]), {"w0": 1}))
        self.workforce = SimpleNamespace(cores=lambda: {"elsewhere": 2})
        self.gate = asyncio.Event()
        self.asked = self.at_once = 0
        self.error: Exception | None = None

    async def stats(self) -> Stats:
        self.asked += 1
        if self.asked == 1:
            return stats(0.0)
        self.at_once += 1
        try:
            await self.gate.wait()
        finally:
            self.at_once -= 1
        if self.error is not None:
            raise self.error
        return stats(float(self.asked))

    async def cut(self) -> Stats:
        raise BrokenError("the workers are gone")


def with_elastic(test: Callable[[Controller, Elastic, FakeClock], Coroutine[Any, Any, None]]) -> None:
    """A topology whose next tick is long from now, as the real clock has it."""

    async def main() -> None:
        controller, clock = Controller(), FakeClock()
        settings = ElasticSettings.from_config({"pasps.predictor": "none", "pasps.correction.secs": 1.0})
        elastic = Elastic(cast(TopologyController, controller), ElasticConfig(settings, "pasps"), clock)
        elastic.awake()
        await until(lambda: controller.asked == 1)
        await test(controller, elastic, clock)
        await elastic.close()
        assert controller.at_once == 0, "what was asked is given up"

    asyncio.run(main())


async def until(condition: Callable[[], bool]) -> None:
    for _ in range(1000):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never came")


def test_who_is_pressed_asks_at_once_but_not_again_before_there_is_an_answer() -> None:
    async def test(controller: Controller, elastic: Elastic, clock: FakeClock) -> None:
        for _ in range(3):
            clock.advance(1.5)
            elastic.pressed("doubled")
            await asyncio.sleep(0)
        assert (controller.asked, controller.at_once) == (2, 1)
        controller.gate.set()
        await until(lambda: controller.at_once == 0)
        await asyncio.sleep(0)
        clock.advance(1.5)
        elastic.pressed("doubled")
        await until(lambda: controller.asked == 3)
        controller.gate.clear()

    with_elastic(test)


def test_what_goes_wrong_meanwhile_is_told_and_a_topology_that_ends_is_not(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)

    async def test(controller: Controller, elastic: Elastic, clock: FakeClock) -> None:
        controller.gate.set()
        for error in (BrokenError("it ends"), KeyError("doubled")):
            controller.error, asked = error, controller.asked
            clock.advance(1.5)
            elastic.pressed("doubled")
            await until(lambda asked=asked: controller.asked == asked + 1 and not controller.at_once)  # type: ignore[misc]
            await asyncio.sleep(0)

    with_elastic(test)
    assert [record.message for record in caplog.records] == ["a hurried control cycle failed"]


def test_one_that_is_closed_while_it_is_pressed_asks_nobody_any_more() -> None:
    async def test(controller: Controller, elastic: Elastic, clock: FakeClock) -> None:
        clock.advance(1.5)
        elastic.pressed("doubled")
        await until(lambda: controller.at_once == 1)

    with_elastic(test)
