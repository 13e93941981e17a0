"""Elasticity beside a topology: corrections that a worker asks for at once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from pasps.control.settings import ElasticSettings
from pasps.errors import BrokenError
from pasps.metrics import Stats
from pasps.testing import FakeClock
from pasps.topology.actuator import TableActuator
from pasps.topology.elastic import Elastic, ElasticConfig
from tests.unit.cli.builders import blueprint, stats
from tests.unit.in_process import InProcessTopology


class Snapshots:
    """What comes of cuts: the first one at once, the others when `gate` is open."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.asked = self.at_once = 0
        self.error: Exception | None = None
        self.over = False

    async def cut(self) -> Stats:
        if self.over:
            raise BrokenError("the workers are gone")
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


def with_elastic(test: Callable[[Snapshots, Elastic, FakeClock], Coroutine[Any, Any, None]]) -> None:
    """A topology of another machine whose next tick is long from now."""
    topology = InProcessTopology(blueprint())
    topology.launcher.hosts["w0"] = "elsewhere"
    topology.started()

    async def main() -> None:
        snapshots, clock, controller = Snapshots(), FakeClock(), topology.controller
        config = ElasticConfig(ElasticSettings.from_config({"pasps.predictor": "none", "pasps.correction.secs": 1.0}), "pasps")
        actuator = TableActuator(controller.publisher, controller.restart)
        elastic = Elastic(controller.blueprint, config, actuator, controller.workforce, snapshots.cut, clock)
        elastic.awake()
        await until(lambda: snapshots.asked == 1)
        await test(snapshots, elastic, clock)
        snapshots.over = True
        await elastic.close()
        assert snapshots.at_once == 0, "what was asked is given up"

    try:
        topology.run(main())
    finally:
        topology.close_all()


async def until(condition: Callable[[], bool]) -> None:
    for _ in range(1000):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never came")


def test_who_is_pressed_asks_at_once_but_not_again_before_there_is_an_answer() -> None:
    async def test(snapshots: Snapshots, elastic: Elastic, clock: FakeClock) -> None:
        for _ in range(3):
            clock.advance(1.5)
            elastic.pressed()
            await asyncio.sleep(0)
        assert (snapshots.asked, snapshots.at_once) == (2, 1)
        snapshots.gate.set()
        await until(lambda: snapshots.at_once == 0)
        await asyncio.sleep(0)
        clock.advance(1.5)
        elastic.pressed()
        await until(lambda: snapshots.asked == 3)
        snapshots.gate.clear()

    with_elastic(test)


def test_what_goes_wrong_meanwhile_is_told_and_a_topology_that_ends_is_not(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)

    async def test(snapshots: Snapshots, elastic: Elastic, clock: FakeClock) -> None:
        snapshots.gate.set()
        for error in (BrokenError("it ends"), KeyError("doubled")):
            snapshots.error, asked = error, snapshots.asked
            clock.advance(1.5)
            elastic.pressed()
            await until(lambda asked=asked: snapshots.asked == asked + 1 and not snapshots.at_once)  # type: ignore[misc]
            await asyncio.sleep(0)

    with_elastic(test)
    assert [record.message for record in caplog.records] == ["a hurried control cycle failed"]


def test_one_that_is_closed_while_it_is_pressed_asks_nobody_any_more() -> None:
    async def test(snapshots: Snapshots, elastic: Elastic, clock: FakeClock) -> None:
        clock.advance(1.5)
        elastic.pressed()
        await until(lambda: snapshots.at_once == 1)

    with_elastic(test)
