"""A driver that does not get as far as Spark: its exit status, and what it says in the store."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from pasps.cluster.driver.driver import Driver
from pasps.cluster.driver.ending import CRASHED, NOT_STARTED
from pasps.cluster.driver.options import DriverOptions, secrets_for
from pasps.cluster.package.make import PackageRequest, build_package
from pasps.cluster.store import layout
from pasps.cluster.store.submission import Desired, DriverRecord, Submission, driver_of, encoded, kept
from pasps.cluster.store.tokens import submission_key
from pasps.testing.clock import FakeClock
from pasps.testing.memory_store import MemoryTree

NAME, EPOCH = "words", 4
PATH = layout.driver(NAME)


@pytest.fixture(autouse=True)
def _path_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", sys.path[:])


class Bench:
    """Epoch 4 of a topology, and a master that looks."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.package = folder, folder / "words.zip"
        tree = MemoryTree()
        self.store, self.master = tree.session(), tree.session()

    async def run(self) -> int:
        options = DriverOptions(NAME, EPOCH, "h", "local[1]", str(self.package), str(self.folder), "127.0.0.1", "127.0.0.1", None)
        return await Driver(options, self.store, secrets_for(NAME, 1, "token", None, None), FakeClock()).run()

    async def said(self) -> DriverRecord:
        entry = await self.master.read(PATH)
        assert entry is not None
        return driver_of(entry.value, PATH)

    async def submit(self, code: str, sha256: str | None = None) -> None:
        file = self.folder / "words.py"
        file.write_text(code)
        made = build_package(PackageRequest(file), self.package)
        await self.keep(Submission(NAME, made.file, sha256=sha256 or made.sha256))

    async def keep(self, submission: Submission, token: str = "token") -> None:
        await self.master.write(layout.topology(NAME), kept(submission, Desired(), submission_key(token, NAME)))


def run(folder: Path, body: Callable[[Bench], Coroutine[Any, Any, None]]) -> None:
    async def whole() -> None:
        async with asyncio.timeout(10):
            await body(Bench(folder))

    asyncio.run(whole())


def test_a_driver_without_a_submission_is_not_started_again(tmp_path: Path) -> None:
    async def body(bench: Bench) -> None:
        assert await bench.run() == NOT_STARTED

    run(tmp_path, body)


def test_a_driver_without_a_submission_says_so(tmp_path: Path) -> None:
    async def body(bench: Bench) -> None:
        await bench.run()
        assert "there is no submission of 'words'" in (await bench.said()).detail

    run(tmp_path, body)


def test_a_package_that_is_not_there_yet_may_be_there_the_next_time(tmp_path: Path) -> None:
    async def body(bench: Bench) -> None:
        await bench.keep(Submission(NAME, "words.py"))
        assert await bench.run() == CRASHED
        said = await bench.said()
        assert said.state == "failed"
        assert str(bench.package) in said.detail

    run(tmp_path, body)


def test_a_submission_that_no_master_of_this_cluster_wrote_is_refused(tmp_path: Path) -> None:
    async def body(bench: Bench) -> None:
        await bench.submit("open('ran', 'w')")
        await bench.keep(Submission(NAME, "words.py"), "another token")
        assert await bench.run() == NOT_STARTED
        assert "it was not signed with the key of this cluster" in (await bench.said()).detail

    run(tmp_path, body)


def test_another_package_than_was_submitted_is_refused(tmp_path: Path) -> None:
    async def body(bench: Bench) -> None:
        await bench.submit("x = 1", sha256="0" * 64)
        assert await bench.run() == NOT_STARTED
        assert "expected the package whose SHA-256 is 000" in (await bench.said()).detail

    run(tmp_path, body)


def test_code_that_does_not_load_fails_in_its_own_words(tmp_path: Path) -> None:
    async def body(bench: Bench) -> None:
        await bench.submit("raise RuntimeError('no luck today')")
        assert await bench.run() == NOT_STARTED
        assert "no luck today" in (await bench.said()).detail

    run(tmp_path, body)


def test_what_it_unpacked_goes_with_it_and_what_drivers_before_it_left(tmp_path: Path) -> None:
    async def body(bench: Bench) -> None:
        for epoch in (EPOCH - 1, EPOCH + 1):
            (tmp_path / f"package-{epoch}").mkdir()
        await bench.submit("raise RuntimeError('no luck today')")
        await bench.run()

    run(tmp_path, body)
    assert [path.name for path in tmp_path.glob("package-*")] == [f"package-{EPOCH + 1}"]


def test_a_driver_that_finds_no_store_is_to_be_started_again(tmp_path: Path) -> None:
    async def body(bench: Bench) -> None:
        bench.store.cut()
        assert await bench.run() == CRASHED

    run(tmp_path, body)


def test_a_driver_that_comes_late_ends(tmp_path: Path) -> None:
    async def body(bench: Bench) -> None:
        await bench.master.write(PATH, encoded(DriverRecord(EPOCH + 1, "there", 7, ("there", 7000), "running")))
        assert await bench.run() == CRASHED

    run(tmp_path, body)


def test_a_driver_that_comes_late_leaves_alone_what_its_successor_says(tmp_path: Path) -> None:
    async def body(bench: Bench) -> None:
        successor = DriverRecord(EPOCH + 1, "there", 7, ("there", 7000), "running")
        await bench.master.write(PATH, encoded(successor))
        await bench.run()
        assert await bench.said() == successor

    run(tmp_path, body)
