from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pasps.cluster.master import topologies
from pasps.cluster.store import layout
from pasps.cluster.store.submission import Desired
from tests.unit.cluster.master.bench import Bench, bench, settled

ONE = "/v1/topologies/counting"


async def running(one: Bench) -> None:
    await one.submit(workers=2, pools={"split": 2})
    await one.step()
    await one.run_driver()


def test_a_topology_is_shown_with_its_driver_and_its_intent(tmp_path: Path) -> None:
    async def body() -> None:
        async with bench(tmp_path) as one:
            await running(one)
            shown = (await one.ask("GET", ONE)).json
            assert shown.pop("driver")["host"] == "elsewhere"
            assert shown == {
                "name": "counting",
                "state": "running",
                "detail": "",
                "workers": 2,
                "pools": {"split": 2},
                "submitted": one.clock.wall(),
                "epoch": 1,
                "desired": {"state": "active", "wait": None, "restart": 0},
            }
            assert [view["name"] for view in (await one.ask("GET", "/v1/topologies")).json["topologies"]] == ["counting"]

    asyncio.run(body())


def test_an_intent_is_written_even_when_the_driver_cannot_be_asked(tmp_path: Path) -> None:
    async def body() -> None:
        async with bench(tmp_path) as one:
            await running(one)
            told = await one.ask("POST", f"{ONE}/verbs/deactivate")
            assert (told.status, told.json) == (200, {"result": {"state": "running", "wanted": "inactive"}})
            assert await one.desired() == Desired("inactive")
            told = await one.ask("POST", f"{ONE}/verbs/activate")
            assert told.json == {"result": {"state": "running", "wanted": "active"}}
            assert await one.desired() == Desired("active")
            status, kind, text = (await one.ask("POST", f"{ONE}/verbs/errors")).error
            assert (status, kind) == (503, "BrokenError")
            assert text == "the driver of topology 'counting' cannot be asked now: it has not said yet where it listens; it is running"

    asyncio.run(body())


def test_a_driver_that_cannot_be_asked_is_told_with_its_state(tmp_path: Path) -> None:
    async def body() -> None:
        async with bench(tmp_path) as one:
            await one.submit()
            await one.step()
            assert "it is starting (its driver is started)" in (await one.ask("POST", f"{ONE}/verbs/status")).error[2]

    asyncio.run(body())


@pytest.mark.parametrize("wait", [None, 5, 0.5])
def test_kill_writes_the_intent_and_answers_when_it_is_over(tmp_path: Path, wait: float | None) -> None:
    async def body() -> None:
        async with bench(tmp_path) as one:
            await running(one)

            killing = await one.begin(f"{ONE}/verbs/kill", {"wait": wait}, one.is_killed)
            assert await one.desired() == Desired("killed", wait)
            assert (await one.ask("POST", f"{ONE}/verbs/activate")).error[:2] == (409, "BusyError")
            assert (await one.ask("POST", f"{ONE}/rebalance", {"workers": 3})).error[:2] == (409, "BusyError")
            await one.step()
            assert not killing.done()
            await one.watcher.write(layout.summary("counting"), b'{"acked": 7}')
            await one.end_driver(0)
            await one.step()
            assert (await killing).json == {"result": {"acked": 7}}
            assert (await one.ask("GET", ONE)).status == 404
            assert (await one.submit()).status == 201

    asyncio.run(body())


@pytest.mark.parametrize("arguments", [{"wait": -1}, {"wait": "now"}, {"wait": True}, {"seconds": 1}])
def test_kill_with_other_arguments_changes_nothing(tmp_path: Path, arguments: dict[str, Any]) -> None:
    async def body() -> None:
        async with bench(tmp_path) as one:
            await running(one)
            assert (await one.ask("POST", f"{ONE}/verbs/kill", arguments)).error[:2] == (422, "InvalidError")
            assert await one.desired() == Desired("active")

    asyncio.run(body())


def test_kill_gives_up_waiting_when_its_time_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topologies, "_LOOK_SECONDS", 0.0)

    async def body() -> None:
        async with bench(tmp_path) as one:
            await running(one)

            killing = await one.begin(f"{ONE}/verbs/kill", {"wait": 5}, one.is_killed)
            one.clock.advance(36.0)
            await settled(killing.done)
            status, kind, text = (await killing).error
            assert (status, kind) == (504, "TimeoutExpiredError")
            assert "has not ended after 35 s" in text

    asyncio.run(body())


def test_an_intent_that_somebody_else_changes_meanwhile_is_read_again(tmp_path: Path) -> None:
    async def body() -> None:
        async with bench(tmp_path) as one:
            await running(one)
            paths = [f"{ONE}/rebalance"] * 4 + [f"{ONE}/verbs/deactivate"]
            await asyncio.gather(*(one.ask("POST", path, {}) for path in paths))
            await one.step()
            assert await one.desired() == Desired("inactive", None, 4)

    asyncio.run(body())
