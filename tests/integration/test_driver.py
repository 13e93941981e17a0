"""A driver on worker processes of this machine in place of Spark's: what it hears from the store while it runs, waits and ends."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pasps.activation import ActivationTable
from pasps.clock import SystemClock
from pasps.cluster.driver import driver as driver_module
from pasps.cluster.driver import places as places_module
from pasps.cluster.driver.driver import Driver
from pasps.cluster.driver.ending import CRASHED, ENDED
from pasps.cluster.driver.options import DriverOptions, secrets_for
from pasps.cluster.launch.launcher import LocalLauncher, WorkerHandle
from pasps.cluster.launch.spark_job import SparkJob
from pasps.cluster.master.driver_client import Door, call
from pasps.cluster.package.make import PackageRequest, build_package
from pasps.cluster.store import layout
from pasps.cluster.store.contract import Entry
from pasps.cluster.store.submission import Desired, DriverRecord, Submission, driver_of, kept, with_desired
from pasps.cluster.store.tokens import driver_token, submission_key
from pasps.control import decision_log
from pasps.errors import ClosedError, InvalidError
from pasps.testing.memory_store import MemoryStore
from pasps.topology.controller import TopologyController
from pasps.topology.local_cluster import WORKER_MODULE
from pasps.topology.run_list import known_runs
from tests.integration.running import no_children

NAME, MODULE, EPOCH = "numbers", "driven_numbers", 1
PATH = layout.driver(NAME)
CODE = """
from pasps import Bolt, Spout, Topology


class Numbers(Spout):
    outputs = ["n"]

    def next_tuple(self):
        self.emit([1], tup_id=1)


class Sink(Bolt):
    auto_ack = False

    def initialize(self, conf, ctx):
        self.keeps = conf.get("test.keeps")

    def process(self, tup):
        if not self.keeps:
            self.ack(tup)


class NumbersTopology(Topology):
    config = {"topology.max.spout.pending": 10}
    numbers = Numbers.spec()
    sink = Sink.spec(inputs=[numbers], par=1, pool=4)
"""


class Store(MemoryStore):
    """One whose client fails in a way that nobody has thought of, when it is asked for what is wanted, or is to keep something."""

    fails = False
    keeps_not = ""

    async def read(self, path: str) -> Entry | None:
        if self.fails and path == layout.topology(NAME):
            raise RuntimeError("nobody has thought of this")
        return await super().read(path)

    async def write(self, path: str, value: bytes, expected: int | None = None) -> int:
        if path == self.keeps_not:
            raise RuntimeError("nobody has thought of this")
        return await super().write(path, value, expected)


class Places(LocalLauncher):
    """Spark's launcher as the driver uses it."""

    def __init__(self, job: SparkJob, *_: Any) -> None:
        super().__init__(WORKER_MODULE)
        self.job = job

    async def start(self, java: object = None) -> None:
        pass

    async def stop(self) -> None:
        pass

    def retire(self) -> None:
        pass

    def places_filled(self) -> int:
        return 0

    async def executors(self) -> int:
        return 0

    async def places_found(self) -> int:
        return 0

    async def failed_tasks(self) -> int:
        return 0


class NoPlaces(Places):
    """A cluster that is full."""

    async def launch(self, worker: str) -> WorkerHandle:
        await asyncio.Event().wait()
        raise AssertionError


class Bench:
    """One driver, and what it says in the store."""

    def __init__(self, folder: Path, options: Mapping[str, Any]) -> None:
        self.folder, self.package, self.options = folder, folder / "numbers.zip", options
        self.store = Store()
        self.driver: asyncio.Task[int]

    async def start(self) -> None:
        file = self.folder / f"{MODULE}.py"
        file.write_text(CODE)
        made = build_package(PackageRequest(file), self.package)
        submission = Submission(NAME, made.file, sha256=made.sha256, options=self.options)
        await self.store.write(layout.topology(NAME), kept(submission, Desired(), submission_key("key", NAME)))
        home = str(self.folder / "home")
        options = DriverOptions(NAME, EPOCH, "127.0.0.1:1", "local[1]", str(self.package), home, "127.0.0.1", "127.0.0.1", None)
        secrets = secrets_for(NAME, EPOCH, "key", None, None)
        self.driver = asyncio.create_task(Driver(options, self.store, secrets, SystemClock()).run())

    async def want(self, **desired: Any) -> None:
        entry = await MemoryStore.read(self.store, layout.topology(NAME))  # what fails is the driver's
        assert entry is not None
        await self.store.write(layout.topology(NAME), with_desired(entry.value, Desired(**desired)))

    async def said(self) -> DriverRecord | None:
        entry = await self.store.read(PATH)
        return None if entry is None else driver_of(entry.value, PATH)

    async def record(self) -> DriverRecord:
        said = await self.said()
        assert said is not None
        return said

    async def until(self, state: str) -> None:
        while (said := await self.said()) is None or said.state != state:
            assert not self.driver.done(), f"waited for {state}, got {said} and exit code {self.driver.result()}"
            await asyncio.sleep(0.01)


def run(folder: Path, body: Callable[[Bench], Awaitable[None]], options: Mapping[str, Any] | None = None) -> None:
    async def whole() -> None:
        bench = Bench(folder, options or {})
        async with asyncio.timeout(60):
            await bench.start()
            await body(bench)
            assert bench.driver.done()

    asyncio.run(whole())
    no_children()


@pytest.fixture(autouse=True)
def _places(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", sys.path[:])
    monkeypatch.setattr(driver_module, "SparkLauncher", Places)
    yield
    sys.modules.pop(MODULE, None)


@pytest.mark.parametrize("places", [Places, NoPlaces])
def test_a_driver_that_cannot_hear_any_more_what_is_wanted_ends_and_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, places: type[Places]
) -> None:
    async def body(bench: Bench) -> None:
        await bench.until("running" if places is Places else "starting")
        bench.store.fails = True
        await bench.want(state="inactive")
        assert await bench.driver == CRASHED
        said = await bench.record()
        assert (said.state, "nobody has thought of this" in said.detail) == ("ended", True)

    monkeypatch.setattr(driver_module, "SparkLauncher", places)
    run(tmp_path, body)


def test_a_driver_that_cannot_tell_any_more_when_all_is_done_ends_and_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(controller: TopologyController, seconds: float | None, *, heed: bool = True) -> bool:
        raise RuntimeError("nobody has thought of this")

    async def body(bench: Bench) -> None:
        assert await bench.driver == CRASHED
        said = await bench.record()
        assert (said.state, "nobody has thought of this" in said.detail) == ("ended", True)

    monkeypatch.setattr(TopologyController, "wait_finished", fails)
    run(tmp_path, body)


def test_a_driver_that_is_closed_without_a_reason_ends_and_is_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def closed(controller: TopologyController, seconds: float | None, *, heed: bool = True) -> bool:
        raise ClosedError("topology 'numbers' is closed")

    async def body(bench: Bench) -> None:
        assert await bench.driver == CRASHED
        said = await bench.record()
        assert (said.state, "topology 'numbers' is closed" in said.detail) == ("ended", True)

    monkeypatch.setattr(TopologyController, "wait_finished", closed)
    run(tmp_path, body)


def test_a_driver_that_fails_at_its_start_in_a_way_that_nobody_has_thought_of_says_so_and_is_started_again(tmp_path: Path) -> None:
    async def body(bench: Bench) -> None:
        bench.store.keeps_not = layout.table(NAME)
        assert await bench.driver == CRASHED
        said = await bench.record()
        assert (said.state, "nobody has thought of this" in said.detail) == ("failed", True)

    run(tmp_path, body)


def test_a_driver_that_cannot_say_any_more_how_it_is_ends_and_is_started_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def body(bench: Bench) -> None:
        await bench.until("running")
        bench.store.keeps_not = PATH
        await bench.want(state="inactive")
        assert await bench.driver == CRASHED
        (summary,) = (tmp_path / "home").rglob("summary.json")
        assert "nobody has thought of this" in summary.read_text()

    run(tmp_path, body)
    assert "a task of its driver failed" in caplog.text


@pytest.mark.parametrize("fails", [False, True])
def test_a_summary_that_cannot_be_kept_is_not_waited_for_without_end(tmp_path: Path, fails: bool) -> None:
    async def body(bench: Bench) -> None:
        await bench.until("running")
        bench.store.keeps_not = layout.summary(NAME) if fails else ""
        await bench.want(state="killed", wait=0.0)
        assert await bench.driver == (CRASHED if fails else ENDED)

    run(tmp_path, body)


async def asked(bench: Bench, verb: str) -> Any:
    """As a master asks."""
    said = await bench.record()
    assert said.address is not None
    return await call(Door(NAME, EPOCH, said.address, driver_token("key", NAME, EPOCH)), verb, {}, 30.0)


def test_what_is_wanted_of_a_topology_that_waits_for_places_is_promised_and_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class LatePlaces(Places):
        free = asyncio.Event()

        async def launch(self, worker: str) -> WorkerHandle:
            await self.free.wait()
            return await super().launch(worker)

    async def body(bench: Bench) -> None:
        await bench.until("waiting")
        await bench.want(state="inactive")
        assert await asked(bench, "deactivate") == {"state": "starting", "wanted": "inactive"}
        LatePlaces.free.set()
        await bench.until("inactive")
        await bench.want(state="active")
        await bench.until("running")
        await bench.want(state="killed", wait=0.0)
        assert await bench.driver == ENDED

    monkeypatch.setattr(driver_module, "SparkLauncher", LatePlaces)
    monkeypatch.setattr(places_module, "_SAY_WAITING_SECONDS", 0.05)
    run(tmp_path, body)


@pytest.mark.parametrize("why", ["restarted", "killed"])
def test_what_is_wanted_of_a_topology_that_drains_is_promised_where_it_comes_back(tmp_path: Path, why: str) -> None:
    async def body(bench: Bench) -> None:
        await bench.until("running")
        seconds = 1000.0
        await bench.want(**{"state": "killed", "wait": seconds} if why == "killed" else {"restart": 1, "wait": seconds})
        await bench.until("draining")
        if why == "killed":
            with pytest.raises(InvalidError, match="is draining, so its spouts stay as they are"):
                await asked(bench, "deactivate")
        else:
            assert await asked(bench, "deactivate") == {"state": "draining", "wanted": "inactive"}
            assert "it is restarted" in (await bench.record()).detail
        await bench.want(state="killed", wait=0.0)
        assert await bench.driver == ENDED

    run(tmp_path, body, {"test.keeps": True})


@pytest.mark.parametrize(("options", "policy"), [({}, "pasps"), ({"pasps.policy": "static"}, "static"), ({"pasps.policy": "dabs"}, "dabs")])
def test_who_decides_is_said_in_the_store_and_in_the_run_directory(tmp_path: Path, options: dict[str, Any], policy: str) -> None:
    async def body(bench: Bench) -> None:
        await bench.until("running")
        assert (await bench.record()).policy == policy
        (run,) = known_runs(tmp_path / "home")
        assert run.record.policy == policy
        await bench.want(state="killed", wait=0.0)
        assert await bench.driver == ENDED

    run(tmp_path, body, options)


RESTARTING = {
    "pasps.policy": "static", "pasps.policy.options.replicas": 3, "pasps.reconfigure": "restart", "pasps.interval.secs": 1,
    "pasps.restart.wait.secs": 0, "topology.workers": 2,
}  # fmt: skip


async def said(bench: Bench, text: str) -> DriverRecord:
    while text not in (record := await bench.record()).detail:
        assert not bench.driver.done()
        await asyncio.sleep(0.005)
    return record


def test_a_restart_of_all_workers_is_in_the_store_while_it_goes_on_and_its_table_after_it(tmp_path: Path) -> None:
    async def body(bench: Bench) -> None:
        await bench.until("running")
        record = await said(bench, "all workers are being started anew (sink 1 -> 3)")
        assert record.state == "running"
        while (await bench.record()).detail:
            assert not bench.driver.done()
            await asyncio.sleep(0.01)
        entry = await bench.store.read(layout.table(NAME))
        assert entry is not None
        table = msgspec.json.decode(entry.value, type=ActivationTable)
        assert (len(table.components["sink"].active), table.workers) == (3, {"w0": 2, "w1": 2})
        for worker in ("w0", "w1"):
            number = await bench.store.read(layout.incarnation(NAME, worker))
            assert number is not None
            assert number.value == b"2"
        await bench.want(state="killed", wait=10.0)
        assert await bench.driver == ENDED
        entry = await bench.store.read(layout.summary(NAME))
        assert entry is not None
        summary = msgspec.json.decode(entry.value)
        assert (summary["restarts"]["count"], summary["left"], summary["troubles"]) == (1, {}, [])

    run(tmp_path, body, RESTARTING)


def test_what_is_wanted_in_the_middle_of_one_is_done(tmp_path: Path) -> None:
    async def body(bench: Bench) -> None:
        await bench.until("running")
        await said(bench, "all workers are being started anew")
        await bench.want(state="inactive")
        await bench.until("inactive")
        assert "all workers are being started anew" in (await bench.record()).detail, "it is both"
        await bench.want(state="killed", wait=0.0)
        assert await bench.driver == ENDED

    run(tmp_path, body, {**RESTARTING, "pasps.restart.silence.secs": 3600})


def test_another_restart_that_is_wanted_by_somebody_calls_it_off(tmp_path: Path) -> None:
    async def body(bench: Bench) -> None:
        await bench.until("running")
        await said(bench, "all workers are to be started anew")
        await bench.want(restart=1, wait=30.0)
        assert await bench.driver == ENDED
        (decisions,) = (tmp_path / "home").rglob("decisions.jsonl")
        (act,) = (decision_log.read(line).acts["sink"] for line in decisions.read_text().splitlines())
        assert (act.outcome, act.error) == ("FAILED", "the topology is drained")

    run(tmp_path, body, {**RESTARTING, "pasps.restart.wait.secs": 3600})
