from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pasps.cluster.master.failures import RefusedPackageError
from pasps.cluster.master.package_check import Checked
from pasps.cluster.store.submission import Desired, Submission
from pasps.errors import BrokenError
from pasps.testing.memory_store import MemoryTree
from tests.unit.cluster.master.bench import Bench, accepts, bench, settled

REBALANCE = "/v1/topologies/counting/rebalance"


async def running(one: Bench) -> None:
    await one.submit(workers=2, pools={"split": 2})
    await one.step()
    await one.run_driver()


def test_it_is_written_down_as_a_whole(tmp_path: Path) -> None:
    async def body() -> None:
        async with bench(tmp_path) as one:
            await running(one)
            answer = await one.ask("POST", REBALANCE, {"workers": 3, "pools": {"count": 8}, "wait": 2})
            assert (answer.status, answer.json) == (202, {"name": "counting"})
            submission = await one.submission()
            assert (submission.workers, submission.pools) == (3, {"split": 2, "count": 8})
            assert await one.desired() == Desired("active", 2.0, 1)
            assert (await one.ask("GET", "/v1/topologies/counting")).json["desired"] == {"state": "active", "wait": 2.0, "restart": 1}
            await one.step()
            assert await one.desired() == Desired("active", 2.0, 1)
            await one.ask("POST", REBALANCE, {})
            await one.step()
            assert (await one.submission()).workers == 3
            assert await one.desired() == Desired("active", None, 2)

    asyncio.run(body())


def test_the_driver_is_restarted_when_it_has_ended(tmp_path: Path) -> None:
    async def body() -> None:
        async with bench(tmp_path) as one:
            await running(one)
            await one.ask("POST", REBALANCE, {"workers": 3})
            await one.step()
            assert len(one.drivers.started) == 1
            await one.end_driver(0)
            await one.step()
            assert [epoch for _, epoch, _ in one.drivers.started] == [1, 2]

    asyncio.run(body())


@pytest.mark.parametrize("pools", [{"cuont": 2}, {"lines": 2}])
def test_what_is_no_bolt_changes_nothing(tmp_path: Path, pools: dict[str, int]) -> None:
    async def body() -> None:
        async with bench(tmp_path) as one:
            await running(one)
            before = await one.submission()
            status, _, text = (await one.ask("POST", REBALANCE, {"workers": 3, "pools": pools})).error
            assert (status, text) == (422, f"there is no bolt {next(iter(pools))!r} in topology 'counting'; it has count")
            assert (await one.submission(), await one.desired()) == (before, Desired("active"))

    asyncio.run(body())


@pytest.mark.parametrize(("error", "status"), [(RefusedPackageError("topology", "got 5000"), 422), (BrokenError("disk full"), 502)])
def test_what_its_check_refuses_changes_nothing(tmp_path: Path, error: Exception, status: int) -> None:
    seen: list[Submission] = []

    async def check(package: Path, scratch: Path, submission: Submission | None = None) -> Checked:
        if submission is None:
            return await accepts(package, scratch)
        assert package.parent == tmp_path / "packages"
        seen.append(submission)
        raise error

    async def body() -> None:
        async with bench(tmp_path, check=check) as one:
            await running(one)
            before = await one.submission()
            told = (await one.ask("POST", REBALANCE, {"workers": 3, "pools": {"count": 5000}})).error
            assert (told[0], told[2]) == (status, str(error))
            assert [(given.name, given.workers, given.pools) for given in seen] == [("counting", 3, {"split": 2, "count": 5000})]
            await one.step()
            assert (await one.submission(), await one.desired()) == (before, Desired("active"))

    asyncio.run(body())


def test_a_master_that_dies_right_after_the_write_leaves_the_whole_of_it_to_the_next(tmp_path: Path) -> None:
    async def body() -> None:
        tree = MemoryTree()
        async with bench(tmp_path, tree) as first, bench(tmp_path, tree, leads=False, url="http://m2:8627") as second:
            await running(first)
            assert (await first.ask("POST", REBALANCE, {"workers": 3, "wait": 2})).status == 202
            first.store.lose()
            first.store.cut()
            await settled(lambda: second.master.leadership.leads)
            assert await second.desired() == Desired("active", 2.0, 1)
            await second.step()
            assert await second.desired() == Desired("active", 2.0, 1)
            assert (await second.submission()).workers == 3

    asyncio.run(body())


@pytest.mark.parametrize("verb", ["deactivate", "kill"])
def test_what_is_wanted_next_does_not_take_it_back(tmp_path: Path, verb: str) -> None:
    async def body() -> None:
        async with bench(tmp_path) as one:
            await running(one)
            await one.ask("POST", REBALANCE, {"workers": 3, "wait": 2})
            asking = asyncio.create_task(one.ask("POST", f"/v1/topologies/counting/verbs/{verb}", {}))
            for _ in range(50):
                await asyncio.sleep(0)
            expected = Desired("inactive", 2.0, 1) if verb == "deactivate" else Desired("killed", None, 1)
            assert await one.desired() == expected
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)

    asyncio.run(body())


def test_one_that_is_killed_while_it_is_checked_is_not_restarted(tmp_path: Path) -> None:
    benches: list[Bench] = []

    async def check(package: Path, scratch: Path, submission: Submission | None = None) -> Checked:
        if submission is not None:
            await benches[0].want(Desired("killed"))
        return await accepts(package, scratch)

    async def body() -> None:
        async with bench(tmp_path, check=check) as one:
            benches.append(one)
            await running(one)
            assert (await one.ask("POST", REBALANCE, {"workers": 3})).error[:2] == (409, "BusyError")
            assert await one.desired() == Desired("killed")

    asyncio.run(body())


def test_what_another_master_writes_meanwhile_is_checked_again(tmp_path: Path) -> None:
    async def body() -> None:
        tree, checked = MemoryTree(), list[Any]()

        async def check(package: Path, scratch: Path, submission: Submission | None = None) -> Checked:
            if submission is not None:
                checked.append(submission)
                if len(checked) == 1:
                    await second.ask("POST", REBALANCE, {"workers": 7})
            return await accepts(package, scratch)

        async with bench(tmp_path, tree, check=check) as first, bench(tmp_path, tree, leads=False, url="http://m2:8627") as second:
            await running(first)
            second.master.leadership.leads = True
            assert (await first.ask("POST", REBALANCE, {"pools": {"count": 8}})).status == 202
            submission = await first.submission()
            assert (submission.workers, submission.pools["count"]) == (7, 8)
            assert await first.desired() == Desired("active", None, 2)
            assert [(given.workers, given.pools.get("count")) for given in checked] == [(2, 8), (7, 8)]
            second.master.leadership.leads = False

    asyncio.run(body())
