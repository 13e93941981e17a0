from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pasps.cluster.master import endings, records
from pasps.cluster.master.found import find
from pasps.cluster.store import layout
from pasps.cluster.store.submission import Desired, Submission, encoded, kept, signed_submission
from pasps.cluster.store.tokens import submission_key
from pasps.testing.memory_store import MemoryTree
from tests.unit.cluster.master.bench import TOKEN, Bench, bench, settled


async def all_of(one: Bench) -> list[tuple[str, int]]:
    return [(name, epoch) for name, epoch, _ in one.drivers.started]


def test_a_submitted_topology_gets_one_driver_with_its_package_and_its_intent(tmp_path: Path) -> None:
    async def body() -> None:
        async with bench(tmp_path) as one:
            await one.submit(inactive=True)
            assert await one.desired() == Desired("inactive")
            await one.step()
            await one.step()
            assert one.drivers.started == [("counting", 1, (await one.submission()).package)]
            assert await one.desired() == Desired("inactive")
            view = (await one.ask("GET", "/v1/topologies/counting")).json
            assert (view["state"], view["epoch"], view["driver"]) == ("starting", 1, None)

    asyncio.run(body())


def test_the_loop_is_told_of_a_submission_and_starts_it(tmp_path: Path) -> None:
    async def body() -> None:
        async with bench(tmp_path) as one:
            loop = asyncio.create_task(one.master.reconciler.run())
            await one.submit()
            await settled(lambda: one.drivers.started)
            loop.cancel()
            await asyncio.gather(loop, return_exceptions=True)

    asyncio.run(body())


def test_a_driver_that_ends_is_started_again_with_a_higher_epoch(tmp_path: Path) -> None:
    async def body() -> None:
        async with bench(tmp_path) as one:
            await one.submit()
            await one.step()
            await one.run_driver()
            assert (await one.ask("GET", "/v1/topologies/counting")).json["state"] == "running"
            await one.end_driver(1)
            await one.step()
            view = (await one.ask("GET", "/v1/topologies/counting")).json
            assert (view["state"], view["detail"]) == ("lost", "its driver ended with code 1; the next one starts in 0.5 s")
            one.clock.advance(0.5)
            await one.step()
            assert await all_of(one) == [("counting", 1), ("counting", 2)]

    asyncio.run(body())


def test_the_next_leader_adopts_what_runs_and_takes_a_new_epoch_for_what_does_not(tmp_path: Path) -> None:
    async def body() -> None:
        tree = MemoryTree()
        async with bench(tmp_path, tree) as first, bench(tmp_path, tree, leads=False, url="http://m2:8627") as second:
            for name in ("runs", "dies"):
                await first.submit(name)
                await first.step()
                await first.run_driver(name)
            await first.watcher.remove(layout.alive("dies"))
            first.store.lose()
            first.store.cut()
            await settled(lambda: second.master.leadership.leads)
            await second.step()
            assert second.drivers.started == []
            second.clock.advance(11.0)
            await second.step()
            second.clock.advance(0.5)
            await second.step()
            assert await all_of(second) == [("dies", 2)]
            await first.step()
            assert await all_of(first) == [("runs", 1), ("dies", 1)]

    asyncio.run(body())


def test_only_the_leader_acts(tmp_path: Path) -> None:
    async def body() -> None:
        tree = MemoryTree()
        async with bench(tmp_path, tree) as first, bench(tmp_path, tree, leads=False, url="http://m2:8627") as second:
            await first.submit()
            await second.step()
            assert second.drivers.started == []

    asyncio.run(body())


def test_two_that_believe_to_lead_never_take_the_same_epoch(tmp_path: Path) -> None:
    async def body() -> None:
        tree = MemoryTree()
        async with bench(tmp_path, tree) as first, bench(tmp_path, tree, leads=False, url="http://m2:8627") as second:
            await first.submit()
            second.master.leadership.leads = True
            await asyncio.gather(first.step(), second.step())
            assert await all_of(first) + await all_of(second) == [("counting", 1)]
            second.master.leadership.leads = False

    asyncio.run(body())


def test_one_that_cannot_be_started_stays_visible_until_it_is_killed(tmp_path: Path) -> None:
    async def body() -> None:
        async with bench(tmp_path) as one:
            await one.submit()
            await one.step()
            await one.end_driver(3)
            for _ in range(3):
                await one.step()
                one.clock.advance(60.0)
            assert len(one.drivers.started) == 1
            view = (await one.ask("GET", "/v1/topologies/counting")).json
            assert (view["state"], view["detail"]) == ("failed", "its driver could not start it: the last words of counting 1")
            killing = await one.begin("/v1/topologies/counting/verbs/kill", {}, one.is_killed)
            await one.step()
            assert ((await killing).json, one.drivers.started) == ({"result": None}, [])
            assert [record["name"] for record in (await one.ask("GET", "/v1/ended")).json["ended"]] == ["counting"]

    asyncio.run(body())


def test_one_that_ran_and_cannot_be_started_after_a_rebalance_is_failed_until_the_next_one(tmp_path: Path) -> None:
    async def body() -> None:
        async with bench(tmp_path) as one:
            await one.submit()
            await one.step()
            await one.run_driver()
            await one.ask("POST", "/v1/topologies/counting/rebalance", {"pools": {"count": 9}})
            await one.end_driver(0)
            await one.step()
            await one.end_driver(3)
            for _ in range(3):
                await one.step()
                one.clock.advance(60.0)
            assert [epoch for _, epoch in await all_of(one)] == [1, 2]
            view = (await one.ask("GET", "/v1/topologies/counting")).json
            assert (view["state"], view["detail"]) == ("failed", "its driver could not start it: the last words of counting 2")
            await one.ask("POST", "/v1/topologies/counting/rebalance", {"pools": {"count": 4}})
            await one.step()
            assert [epoch for _, epoch in await all_of(one)] == [1, 2, 3]

    asyncio.run(body())


def test_one_that_is_finished_leaves_its_summary_and_nothing_else(tmp_path: Path) -> None:
    async def body() -> None:
        async with bench(tmp_path) as one:
            await one.submit()
            await one.step()
            await one.run_driver()
            await one.watcher.write(layout.summary("counting"), b'{"acked": 7}')
            await one.end_driver(0)
            await one.step()
            assert await one.watcher.children(layout.TOPOLOGIES) == []
            assert list(one.packages.iterdir()) == []
            assert (one.drivers.started, one.drivers.kept) == ([], {"counting"})
            ended = (await one.ask("GET", "/v1/ended")).json["ended"]
            assert [(record["name"], record["summary"]) for record in ended] == [("counting", {"acked": 7})]
            # a driver of that name never meets its epoch again
            await one.submit()
            await one.step()
            assert await all_of(one) == [("counting", 2)]

    asyncio.run(body())


def test_a_crash_while_one_is_removed_never_starts_it_again(tmp_path: Path) -> None:
    async def body() -> None:
        async with bench(tmp_path) as one:
            await one.submit()
            await one.step()
            # what a master leaves that dies after step 3 of `finish`, and half of step 4
            await one.watcher.write(layout.topology("counting"), b"")
            await one.watcher.remove(records.components("counting"))
            one.drivers.forget("counting")
            assert (await one.ask("GET", "/v1/topologies/counting")).status == 404
            assert (await one.ask("GET", "/v1/topologies")).json == {"topologies": []}
            assert (await one.submit()).status == 409
            await one.step()
            assert one.drivers.started == []
            assert (await one.submit()).status == 201

    asyncio.run(body())


def test_the_oldest_that_ended_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endings, "KEPT", 2)

    async def body() -> None:
        async with bench(tmp_path) as one:
            for name in ("a", "b-1", "b-2", "c"):
                await one.submit(name)
                await one.want(Desired("killed"), name)
                one.clock.advance(1.0)
                await one.step()
            assert [record["name"] for record in (await one.ask("GET", "/v1/ended")).json["ended"]] == ["c", "b-2"]
            assert await one.watcher.children(layout.LAUNCHES) == ["b-2", "c"]

    asyncio.run(body())


@pytest.mark.parametrize("garbage", [b"garbage", b"[" * 100_000, b'{"submission": {}, "signature": ""}', b'{"desired": ' + b"[" * 100_000])
def test_what_cannot_be_read_is_shown_and_killed_and_does_not_stop_the_others(tmp_path: Path, garbage: bytes) -> None:
    async def body() -> None:
        async with bench(tmp_path) as one:
            await one.watcher.create(layout.topology("broken"), garbage)
            await one.submit()
            await one.step()
            assert await all_of(one) == [("counting", 1)]
            view = (await one.ask("GET", "/v1/topologies/broken")).json
            assert view["state"] == "failed"
            assert garbage[:10].decode() in view["detail"] or "it was not signed" in view["detail"]
            await one.watcher.write(layout.driver("counting"), b"[" * 100_000)
            assert len((await one.ask("GET", "/v1/topologies")).json["topologies"]) == 2
            killing = await one.begin("/v1/topologies/broken/verbs/kill", {"wait": 0}, lambda: is_killed(one, "broken"))
            await one.step()
            assert (await killing).status == 200
            assert await one.watcher.children(layout.TOPOLOGIES) == ["counting"]

    asyncio.run(body())


async def is_killed(one: Bench, name: str) -> bool:
    entry = await one.watcher.read(layout.topology(name))
    return entry is not None and b'"killed"' in entry.value


def test_a_leader_that_comes_late_neither_ends_nor_removes_what_was_submitted_since(tmp_path: Path) -> None:
    async def body() -> None:
        async with bench(tmp_path) as one:
            await one.submit()
            await one.step()
            late = await find(one.store, "counting", TOKEN)
            assert late is not None
            await one.watcher.remove(layout.topology("counting"))
            one.clock.advance(1.0)
            await one.submit()
            there = await one.watcher.read(layout.topology("counting"))
            await one.master.parts.endings.finish(late)
            assert await one.watcher.read(layout.topology("counting")) == there

    asyncio.run(body())


FORGERS: dict[str, Callable[[Submission], bytes]] = {
    "without a signature": encoded,
    "signed with another token": lambda one: kept(one, Desired(), submission_key("another token", one.name)),
    "signed for another name": lambda one: kept(one, Desired(), submission_key(TOKEN, "counting")),
    "signed with nothing": lambda one: kept(one, Desired(), ""),
}


@pytest.mark.parametrize("forger", FORGERS)
def test_what_no_master_has_signed_is_shown_and_never_started(tmp_path: Path, forger: str) -> None:
    async def body() -> None:
        async with bench(tmp_path) as one:
            await one.submit()
            copy = replace(await one.submission(), name="forged")
            await one.watcher.create(layout.topology("forged"), FORGERS[forger](copy))
            await one.step()
            assert await all_of(one) == [("counting", 1)]
            view = (await one.ask("GET", "/v1/topologies/forged")).json
            assert view["state"] == "failed"
            assert "signed with the key of this cluster" in view["detail"] or "expected a SignedSubmission" in view["detail"]
            told = await one.ask("POST", "/v1/topologies/forged/rebalance", {"workers": 3})
            assert told.status == 422

    asyncio.run(body())


def test_with_a_key_of_its_own_what_was_submitted_does_not_depend_on_the_token(tmp_path: Path) -> None:
    async def body() -> None:
        async with bench(tmp_path, signing="a key") as one:
            await one.submit()
            entry = await one.watcher.read(layout.topology("counting"))
            assert entry is not None
            submission = signed_submission(entry.value, "there", submission_key("a key", "counting"))
            assert submission is not None
            assert submission.name == "counting"
            await one.step()
            assert await all_of(one) == [("counting", 1)]
            assert (await one.ask("POST", "/v1/topologies/counting/rebalance", {"workers": 3})).status == 202
            assert (await one.ask("GET", "/v1/topologies/counting")).json["workers"] == 3

    asyncio.run(body())


def test_the_end_of_a_forged_topology_takes_no_file_along(tmp_path: Path) -> None:
    mine = tmp_path / "thesis.zip"
    mine.write_text("mine")

    async def body() -> None:
        async with bench(tmp_path) as one:
            for name, package in (("one", str(mine)), ("two", f"{one.packages}/../thesis.zip")):
                record = Submission(name, "counting.py", package=package)
                await one.watcher.create(layout.topology(name), kept(record, Desired("killed"), submission_key(TOKEN, name)))
            await one.step()
            one.clock.advance(60.0)
            await one.step()
            assert (await one.ask("GET", "/v1/topologies")).json == {"topologies": []}

    asyncio.run(body())
    assert mine.read_text() == "mine"


def test_while_the_store_is_away_nothing_is_done_and_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def body() -> None:
        async with bench(tmp_path) as one:
            await one.submit()
            one.store.cut()
            await one.step()
            await one.step()
            assert one.drivers.started == []
            one.store.mend()
            await one.step()
            assert len(one.drivers.started) == 1

    asyncio.run(body())
    assert caplog.text.count("until the store is back") == 1


def test_a_package_that_cannot_be_fetched_is_tried_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def body() -> None:
        async with bench(tmp_path) as one:
            await one.submit()
            local = one.means.packages.local
            failures = iter([OSError("away")])

            async def flaky(package: str) -> str:
                for failure in failures:
                    raise failure
                return await local(package)

            one.means.packages.local = flaky  # type: ignore[method-assign]
            await one.step()
            assert one.drivers.started == []
            await one.step()
            assert await all_of(one) == [("counting", 1)]

    asyncio.run(body())
    assert "nothing is done about it in this round" in caplog.text


def test_a_driver_of_a_topology_that_was_removed_is_told_to_end(tmp_path: Path) -> None:
    async def body() -> None:
        async with bench(tmp_path) as one:
            await one.submit()
            await one.step()
            record = await one.run_driver()
            await one.watcher.remove(layout.topology("counting"))
            one.drivers.forget("counting")
            await one.watcher.write(layout.driver("counting"), encoded(replace(record, epoch=1)))
            alive = await one.watcher.register(layout.alive("counting"), b'{"epoch": 1}')
            await one.step()
            assert await one.desired() == Desired("killed", 0.0)
            await alive.withdraw()
            one.clock.advance(20.0)
            await one.step()
            one.clock.advance(20.0)
            await one.step()
            assert await one.watcher.children(layout.TOPOLOGIES) == []

    asyncio.run(body())


def test_only_who_leads_has_a_driver_ready(tmp_path: Path) -> None:
    async def body() -> None:
        tree = MemoryTree()
        async with bench(tmp_path, tree) as leads, bench(tmp_path, tree, leads=False, url="http://m2:8627") as follows:
            for one in (leads, follows):
                await one.step()
            assert (leads.drivers.asked_to_be_ready, follows.drivers.asked_to_be_ready) == (1, 0)
            assert (leads.drivers.closed, follows.drivers.closed) == (0, 1), "it may have led before"

    asyncio.run(body())
