"""Real masters on real sockets in this process, over a store in memory; drivers are small servers of the real control protocol."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Collection, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, TypeVar

import msgspec
import uvicorn

from pasps.clock import SystemClock
from pasps.cluster.master.app import create_app
from pasps.cluster.master.assemble import Means, assemble
from pasps.cluster.master.decide import OwnDriver
from pasps.cluster.master.packages import DirectoryPackages
from pasps.cluster.master.records import Member
from pasps.cluster.store import layout
from pasps.cluster.store.submission import Desired, DriverRecord, desired_of, encoded
from pasps.cluster.store.tokens import driver_token
from pasps.testing.memory_store import MemoryStore, MemoryTree
from pasps.topology.control_socket import ControlSocket
from pasps.topology.process_identity import started
from pasps.topology.run_record import host
from pasps.topology.verbs import Activate, GetLogs, GetStatus, Verbs, json_ready
from tests.unit.cli.builders import status
from tests.unit.cluster.master.bench import StandInPrepared

TOKEN = "t0ken"
T = TypeVar("T")


class Driver:
    """One epoch of one topology: comes up, answers, and ends when its user wants that."""

    def __init__(self, store: MemoryStore, name: str, epoch: int, state: str, detail: str) -> None:
        self.exit_code: int | None = None
        self._store, self._name = store, name
        self._record = DriverRecord(epoch, host(), 1, None, state, detail, 1.0)
        self.task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        news = asyncio.Event()
        watch = self._store.watch(layout.topology(self._name), news.set)
        desired = await self._desired()
        await self._store.register(layout.alive(self._name), b'{"epoch": %d}' % self._record.epoch)
        token = driver_token(TOKEN, self._name, self._record.epoch)
        door = await ControlSocket.listen("127.0.0.1", self._verbs(), self._name, self._record.epoch, token)
        await self._say(address=door.address, restart=desired.restart)
        while desired.state != "killed" and desired.restart <= self._record.restart:
            await news.wait()
            news.clear()
            desired = await self._desired()
        summary = {"topology": self._name, "seconds": 1.5, "left": {}, "emitted": 3, "acked": 3, "run_dir": "/run"}
        if desired.state == "killed":
            await self._store.write(layout.summary(self._name), msgspec.json.encode(summary))
        await self._say(state="ended", address=None)
        watch.cancel()
        await door.close()
        await self._store.close()
        self.exit_code = 0

    def _verbs(self) -> Verbs:
        verbs, name = Verbs(), self._name

        async def told(_: GetStatus) -> Any:
            return {**json_ready(status()), "name": name}

        async def logs(asked: GetLogs) -> Any:
            return {"worker": asked.worker, "host": "node-1", "text": f"{asked.worker} wrote\n", "offset": 9}

        async def activate(_: Activate) -> Any:
            await self._say(state="running")
            return {"state": "running"}

        verbs.add(GetStatus, told)
        verbs.add(GetLogs, logs)
        verbs.add(Activate, activate)
        return verbs

    async def _say(self, **changes: Any) -> None:
        self._record = replace(self._record, **changes)
        await self._store.write(layout.driver(self._name), encoded(self._record))

    async def _desired(self) -> Desired:
        entry = await self._store.read(layout.topology(self._name))
        return Desired() if entry is None else desired_of(entry.value, self._name)


class Drivers:
    """Those that a master started; each comes up in the state that was last said."""

    def __init__(self, tree: MemoryTree) -> None:
        self.comes_up = ("running", "")
        self._tree = tree
        self._drivers: dict[str, tuple[int, Driver]] = {}

    def prepare(self) -> StandInPrepared:
        return StandInPrepared()

    def have_ready(self) -> None:
        pass

    def close(self) -> None:
        pass

    def start(self, name: str, epoch: int, package: str) -> None:
        self._drivers[name] = epoch, Driver(self._tree.session(), name, epoch, *self.comes_up)

    def own(self, name: str) -> OwnDriver | None:
        if name not in self._drivers:
            return None
        epoch, driver = self._drivers[name]
        return OwnDriver(epoch, driver.exit_code)

    def forget(self, name: str) -> None:
        self._drivers.pop(name, None)

    def reap(self) -> None:
        pass

    async def keep_only(self, names: Collection[str]) -> None:
        pass

    def last_words(self, name: str, epoch: int) -> str:
        return ""


class Masters:
    """Several on one event loop, a thread of its own."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._loop = asyncio.new_event_loop()
        self._tree = MemoryTree()
        self.drivers = Drivers(self._tree)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(100)

    @contextmanager
    def master(self) -> Iterator[str]:
        """One more; its address."""
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            store = self._tree.session()
            end = self.run(self._begin(store, url, listener))
            try:
                yield url
            finally:
                self.run(end)
                self.run(store.close())

    async def _begin(self, store: MemoryStore, url: str, listener: socket.socket) -> Coroutine[Any, Any, None]:
        packages, incoming = self._home / "packages", self._home / "incoming"
        for directory in (packages, incoming):
            directory.mkdir(exist_ok=True)
        means = Means(DirectoryPackages(packages), self.drivers, TOKEN, SystemClock(), incoming)
        me = Member(url, host(), os.getpid(), started(os.getpid()) or "", str(packages), shares_token=True)
        master = assemble(store, me, means)
        await master.leadership.join(master.reconciler.wake)
        reconciling = asyncio.create_task(master.reconciler.run())
        server = uvicorn.Server(uvicorn.Config(create_app(master.parts, TOKEN), log_config=None, lifespan="off", ws="none"))
        serving = asyncio.create_task(server._serve([listener]))  # noqa: SLF001 - without its signal handlers, which want the main thread

        async def end() -> None:
            server.should_exit = True
            await serving
            reconciling.cancel()
            await asyncio.gather(reconciling, return_exceptions=True)
            await master.leadership.close()

        return end()

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.run(self._end_tasks())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end_tasks(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
