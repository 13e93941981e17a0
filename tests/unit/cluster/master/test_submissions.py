from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from pasps.cluster.master.failures import RefusedPackageError
from pasps.cluster.master.package_check import Checked
from pasps.cluster.store import layout
from pasps.cluster.store.contract import StoreUnavailableError
from pasps.cluster.store.submission import Desired, Submission
from pasps.testing.memory_store import MemoryTree
from tests.unit.cluster.master.bench import Bench, bench, package


def kept(one: Bench) -> list[str]:
    return sorted(path.name for path in one.packages.iterdir())


def content(path: str) -> bytes:
    return Path(path).read_bytes()


def test_a_package_is_kept_and_its_topology_written_down(tmp_path: Path) -> None:
    async def body() -> None:
        async with bench(tmp_path) as one:
            answer = await one.submit(workers=2, inactive=True)
            assert (answer.status, answer.json) == (201, {"name": "counting", "workers": 2})
            submission = await one.submission()
            assert content(submission.package) == package(workers=2, inactive=True)
            assert Path(submission.package).parent == one.packages
            assert (len(submission.sha256), submission.submitted, submission.inactive) == (64, one.clock.wall(), True)
            assert list(one.master.parts.incoming.iterdir()) == []

    asyncio.run(body())


def test_without_a_name_it_is_called_as_its_file_says(tmp_path: Path) -> None:
    async def body() -> None:
        async with bench(tmp_path) as one:
            assert (await one.submit("")).json["name"] == "by-itself"

    asyncio.run(body())


def test_a_name_in_use_is_refused_and_its_package_is_not_kept(tmp_path: Path) -> None:
    async def body() -> None:
        async with bench(tmp_path) as one:
            await one.submit()
            before = kept(one), await one.submission()
            status, kind, text = (await one.submit()).error
            assert (status, kind) == (409, "BusyError")
            assert "there is a topology 'counting' already" in text
            assert (kept(one), await one.submission()) == before

    asyncio.run(body())


def test_of_two_at_once_one_is_taken(tmp_path: Path) -> None:
    async def body() -> None:
        async with bench(tmp_path) as one:
            answers = await asyncio.gather(*(one.submit() for _ in range(5)))
            assert sorted(answer.status for answer in answers) == [201, 409, 409, 409, 409]
            assert kept(one) == [Path((await one.submission()).package).name]

    asyncio.run(body())


@pytest.mark.parametrize("name", ["a/b", ".", "..", "-x", "x" * 101, "ä", "a b", ".hidden"])
def test_what_cannot_be_a_name_is_refused(tmp_path: Path, name: str) -> None:
    async def body() -> None:
        async with bench(tmp_path) as one:
            status, kind, text = (await one.submit(name)).error
            assert (status, kind) == (422, "InvalidError")
            assert "expected 1 to 100 letters" in text
            assert (kept(one), await one.watcher.children(layout.TOPOLOGIES)) == ([], [])

    asyncio.run(body())


@pytest.mark.parametrize("content", [b"", b"no zip", b"PK\x03\x04"])
def test_what_is_no_package_is_refused(tmp_path: Path, content: bytes) -> None:
    async def body() -> None:
        async with bench(tmp_path) as one:
            assert (await one.ask("POST", "/v1/topologies", content)).error[0] == 422
            assert (kept(one), await one.watcher.children(layout.TOPOLOGIES)) == ([], [])

    asyncio.run(body())


def test_what_its_check_refuses_is_refused_in_its_words(tmp_path: Path) -> None:
    async def refuses(package: Path, scratch: Path, submission: Submission | None = None) -> Checked:
        raise RefusedPackageError("dependency", "module 'numpie' is missing")

    async def body() -> None:
        async with bench(tmp_path, check=refuses) as one:
            assert (await one.submit()).error == (422, "dependency", "module 'numpie' is missing")
            assert (kept(one), await one.watcher.children(layout.TOPOLOGIES)) == ([], [])

    asyncio.run(body())


def test_a_package_cannot_ask_for_a_restart(tmp_path: Path) -> None:
    async def body() -> None:
        async with bench(tmp_path) as one:
            assert (await one.submit(said={"restart": 5, "wait": 1.0, "desired": {"restart": 5}})).status == 201
            assert await one.desired() == Desired("active")

    asyncio.run(body())


def test_several_masters_without_a_shared_location_take_nothing(tmp_path: Path) -> None:
    async def body() -> None:
        async with bench(tmp_path, tree := MemoryTree(), packages="") as one:
            assert (await one.submit()).status == 201
            other = replace(one.master.leadership.me, url="http://m2:8627", packages="/shared")
            joined = await tree.session().register("/masters/members/other", msgspec.json.encode(other))
            status, kind, text = (await one.submit("more")).error
            assert (status, kind) == (422, "InvalidError")
            assert "several masters need --packages LOCATION" in text
            await joined.withdraw()
            assert (await one.submit("more")).status == 201

    asyncio.run(body())


def test_nothing_is_started_when_it_stops_leading_meanwhile(tmp_path: Path) -> None:
    masters: list[Bench] = []

    async def deposes(package: Path, scratch: Path, submission: Submission | None = None) -> Checked:
        masters[0].master.leadership.leads = False
        return Checked("counting", 1, {})

    async def body() -> None:
        async with bench(tmp_path, check=deposes) as one:
            masters.append(one)
            assert (await one.submit()).error[0] == 503
            assert (kept(one), await one.watcher.children(layout.TOPOLOGIES)) == ([], [])

    asyncio.run(body())


def test_when_nobody_knows_whether_it_was_written_its_package_stays(tmp_path: Path) -> None:
    async def body() -> None:
        async with bench(tmp_path) as one:

            async def lost(path: str, value: bytes) -> None:
                raise StoreUnavailableError("cut off")

            one.store.create = lost  # type: ignore[method-assign]
            status, _, text = (await one.submit()).error
            assert (status, len(kept(one))) == (503, 1)
            assert "not known" in text

    asyncio.run(body())


def test_a_repeated_write_finds_its_own_work(tmp_path: Path) -> None:
    async def body() -> None:
        async with bench(tmp_path) as one:
            create = one.store.create

            async def twice(path: str, value: bytes) -> None:
                await create(path, value)
                await create(path, value)

            one.store.create = twice  # type: ignore[method-assign]
            assert (await one.submit()).status == 201
            assert len(kept(one)) == 1

    asyncio.run(body())


# ---- a driver gets ready meanwhile


def test_a_driver_gets_ready_while_the_package_is_checked_and_becomes_that_of_its_topology(tmp_path: Path) -> None:
    async def body() -> None:
        ready: list[int] = []

        async def check(package: Path, scratch: Path, submission: Submission | None = None) -> Checked:
            ready.append(len(one.drivers.prepared))
            return Checked("counting", 2, {})

        async with bench(tmp_path, check=check) as one:
            await one.submit()
            assert ready == [1]
            assert [prepared.became for prepared in one.drivers.prepared] == ["counting"]

    asyncio.run(body())


def test_a_driver_that_got_ready_for_a_package_that_is_refused_is_dropped(tmp_path: Path) -> None:
    async def check(package: Path, scratch: Path, submission: Submission | None = None) -> Checked:
        raise RefusedPackageError("file", "the user's words")

    async def body() -> None:
        async with bench(tmp_path, check=check) as one:
            assert (await one.submit()).error == (422, "file", "the user's words")
            assert [prepared.became for prepared in one.drivers.prepared] == ["dropped"]

    asyncio.run(body())


def test_a_driver_that_got_ready_is_dropped_when_nobody_waits_for_the_check_any_more(tmp_path: Path) -> None:
    async def body() -> None:
        checking = asyncio.Event()

        async def check(package: Path, scratch: Path, submission: Submission | None = None) -> Checked:
            checking.set()
            await asyncio.Event().wait()
            raise AssertionError

        async with bench(tmp_path, check=check) as one:
            request = asyncio.create_task(one.submit())
            await checking.wait()
            request.cancel()
            await asyncio.gather(request, return_exceptions=True)
            assert [prepared.became for prepared in one.drivers.prepared] == ["dropped"]

    asyncio.run(body())


def test_a_driver_that_got_ready_is_dropped_when_the_submission_cannot_be_written_down(tmp_path: Path) -> None:
    async def body() -> None:
        async def check(package: Path, scratch: Path, submission: Submission | None = None) -> Checked:
            await one.watcher.create(layout.topology("counting"), b"another's")
            return Checked("counting", 2, {})

        async with bench(tmp_path, check=check) as one:
            assert (await one.submit()).status == 409
            assert [prepared.became for prepared in one.drivers.prepared] == ["dropped"]

    asyncio.run(body())


def test_for_a_name_that_is_in_use_no_driver_gets_ready(tmp_path: Path) -> None:
    async def body() -> None:
        async with bench(tmp_path) as one:
            await one.submit()
            assert (await one.submit()).status == 409
            assert len(one.drivers.prepared) == 1

    asyncio.run(body())
