from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from pasps.cluster.master import records
from pasps.cluster.master.leadership import misfit
from pasps.cluster.master.records import Member
from pasps.cluster.store.layout import LEADER
from pasps.errors import InvalidError
from pasps.testing.memory_store import MemoryTree
from pasps.topology.run_record import host
from tests.unit.cluster.master.bench import bench, settled

ME = Member("http://m1:8627", "h", 1, packages="/shared", shares_token=True)
OTHER = replace(ME, url="http://m2:8627")


@pytest.mark.parametrize(
    ("me", "others", "problem"),
    [
        (ME, [], ""),
        (replace(ME, packages="", shares_token=False), [], ""),
        (ME, [OTHER], ""),
        (replace(ME, packages=""), [OTHER], "this master keeps packages where only it can read them, and there is another at http://m2"),
        (ME, [replace(OTHER, packages="")], "the master at http://m2:8627 keeps packages where only it can read them"),
        (replace(ME, shares_token=False), [OTHER], "this master made its own token"),
        (ME, [replace(OTHER, shares_token=False)], "the master at http://m2:8627 made its own token"),
    ],
)
def test_masters_fit_together_when_all_can_read_what_each_needs(me: Member, others: list[Member], problem: str) -> None:
    found = misfit(me, others)
    assert found.startswith(problem)
    assert bool(found) == bool(problem)


def test_a_second_master_that_does_not_fit_does_not_join(tmp_path: Path) -> None:
    async def body() -> None:
        tree = MemoryTree()
        async with bench(tmp_path, tree, packages="") as first:
            with pytest.raises(InvalidError, match="the master at http://m1:8627 keeps packages where only it"):
                async with bench(tmp_path, tree, leads=False, url="http://m2:8627"):
                    pass
            assert [member.url for member in (await first.master.leadership.members()).values()] == ["http://m1:8627"]

    asyncio.run(body())


def test_what_a_master_left_that_died_on_this_host_is_no_master(tmp_path: Path) -> None:
    async def body() -> None:
        tree = MemoryTree()
        left = replace(OTHER, host=host(), pid=os.getpid(), process="started at another time", packages="")
        await tree.session().register(records.member("left"), records.encoded(left))
        async with bench(tmp_path, tree, packages=""):
            pass

    asyncio.run(body())


def test_the_leader_is_written_down_as_long_as_it_leads(tmp_path: Path) -> None:
    async def body() -> None:
        tree = MemoryTree()
        watcher = tree.session()
        async with bench(tmp_path, tree) as one:
            await watcher.read(LEADER)
            entry = await watcher.read(LEADER)
            assert entry is not None
            assert msgspec.json.decode(entry.value)["url"] == "http://m1:8627"
            one.store.lose()
            await settled(lambda: not one.master.leadership.leads)
            await settled(lambda: one.master.leadership.leads)
        assert await watcher.read(LEADER) is None
        assert await watcher.children(records.MEMBERS) == []

    asyncio.run(body())
