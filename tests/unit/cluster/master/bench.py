"""A master over a memory store, with drivers that are values, asked without a network."""

from __future__ import annotations

import asyncio
import io
import json
import zipfile
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pasps.cluster.master.app import create_app
from pasps.cluster.master.assemble import Master, Means, assemble
from pasps.cluster.master.decide import OwnDriver
from pasps.cluster.master.package_check import Check, Checked
from pasps.cluster.master.packages import DirectoryPackages
from pasps.cluster.master.records import Member
from pasps.cluster.store import layout
from pasps.cluster.store.submission import (
    Desired,
    DriverRecord,
    Submission,
    desired_of,
    encoded,
    signed_submission,
    submission_of,
    with_desired,
)
from pasps.cluster.store.tokens import submission_key
from pasps.testing import FakeClock
from pasps.testing.memory_store import MemoryStore, MemoryTree

TOKEN = "t0ken"
COMPONENTS = {"lines": {"shape": "spout", "par": 1, "pool": 1}, "count": {"shape": "stateless", "par": 1, "pool": 4}}


def package(name: str = "counting", said: Mapping[str, Any] | None = None, **more: Any) -> bytes:
    """A zip with nothing but its submission: what is checked is not looked at here. `said` is what else stands there."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        record = json.loads(encoded(Submission(name, "counting.py", **more))) | dict(said or {})
        # not its name alone, which would be written with the time of day: equal ones have equal bytes
        archive.writestr(zipfile.ZipInfo("submission.json"), json.dumps(record))
    return out.getvalue()


class StandInPrepared:
    """What became of one, as one that submits says."""

    became: str | None = None

    def keep_for(self, name: str) -> None:
        self.became = name

    def drop(self) -> None:
        self.became = "dropped"


class StandInDrivers:
    """Drivers that only say that they run; `started` has name, epoch and package of each."""

    def __init__(self) -> None:
        self.started: list[tuple[str, int, str]] = []
        self.prepared: list[StandInPrepared] = []
        self.codes: dict[tuple[str, int], int] = {}
        self.kept: set[str] = set()
        self.asked_to_be_ready = self.closed = 0
        self.cleared: list[str] = []

    def prepare(self) -> StandInPrepared:
        self.prepared.append(StandInPrepared())
        return self.prepared[-1]

    def have_ready(self) -> None:
        self.asked_to_be_ready += 1

    def start(self, name: str, epoch: int, package: str) -> None:
        self.started.append((name, epoch, package))

    def own(self, name: str) -> OwnDriver | None:
        epochs = [epoch for started, epoch, _ in self.started if started == name]
        return OwnDriver(epochs[-1], self.codes.get((name, epochs[-1]))) if epochs else None

    def forget(self, name: str) -> None:
        self.started = [one for one in self.started if one[0] != name]

    def reap(self) -> None:
        pass

    def close(self) -> None:
        self.closed += 1

    async def clear(self, name: str) -> None:
        self.cleared.append(name)

    async def keep_only(self, names: Collection[str]) -> None:
        self.kept = {*names}

    def last_words(self, name: str, epoch: int) -> str:
        return f"the last words of {name} {epoch}"


async def accepts(package: Path, scratch: Path, submission: Submission | None = None) -> Checked:
    with zipfile.ZipFile(package) as archive:
        submission = submission_of(archive.read("submission.json"), "package")
    return Checked(submission.name or "by-itself", 2, COMPONENTS)


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> tuple[int, str, str]:
        return self.status, self.json["error"]["kind"], self.json["error"]["text"]


@dataclass
class Bench:
    """One master, of perhaps several over a tree."""

    store: MemoryStore
    master: Master
    app: Any
    drivers: StandInDrivers
    clock: FakeClock
    packages: Path
    watcher: MemoryStore
    means: Means

    async def ask(self, method: str, path: str, body: bytes | Mapping[str, Any] = b"", token: str | None = TOKEN) -> Answer:
        """Over ASGI."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = [(b"content-length", str(len(content)).encode())]
        if token is not None:
            headers.append((b"authorization", f"Bearer {token}".encode()))
        path, _, query = path.partition("?")
        scope: dict[str, Any] = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http"}
        scope |= {"path": path, "raw_path": path.encode(), "query_string": query.encode(), "headers": headers, "server": ("m", 1)}
        incoming = iter([{"type": "http.request", "body": content, "more_body": False}])
        sent: list[Any] = []

        async def receive() -> Any:
            return next(incoming, {"type": "http.disconnect"})

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app({**scope, "root_path": ""}, receive, send)
        told = {key.decode(): value.decode() for key, value in sent[0]["headers"]}
        return Answer(sent[0]["status"], told, b"".join(message.get("body", b"") for message in sent[1:]))

    async def begin(self, path: str, body: Mapping[str, Any], until: Callable[[], Awaitable[bool]]) -> asyncio.Task[Answer]:
        """A request that is under way, and has come so far."""
        task = asyncio.create_task(self.ask("POST", path, body))
        for _ in range(200):
            if await until():
                return task
        raise AssertionError("nothing came of it")

    async def is_killed(self) -> bool:
        desired = await self.desired()
        return desired is not None and desired.state == "killed"

    async def submit(self, name: str = "counting", **more: Any) -> Answer:
        return await self.ask("POST", "/v1/topologies", package(name, **more))

    async def step(self) -> None:
        await self.master.reconciler.step()

    async def run_driver(self, name: str = "counting", state: str = "running") -> DriverRecord:
        """Let the driver that was started last say that it runs, and stay registered."""
        epoch = self.drivers.started[-1][1]
        record = DriverRecord(epoch, "elsewhere", 7, None, state)
        await self.watcher.write(layout.driver(name), encoded(record))
        await self.watcher.register(layout.alive(name), b'{"epoch": %d}' % epoch)
        await self.step()
        return record

    async def end_driver(self, code: int, name: str = "counting") -> None:
        """Let its process end, with what it wrote before."""
        epoch = self.drivers.started[-1][1]
        self.drivers.codes[name, epoch] = code
        entry = await self.watcher.read(layout.driver(name))
        if entry is not None and code == 0:
            await self.watcher.write(layout.driver(name), encoded(DriverRecord(epoch, "elsewhere", 7, None, "ended")))

    async def desired(self, name: str = "counting") -> Desired | None:
        entry = await self.watcher.read(layout.topology(name))
        return None if entry is None else desired_of(entry.value, "desired")

    async def want(self, desired: Desired, name: str = "counting") -> None:
        entry = await self.watcher.read(layout.topology(name))
        assert entry is not None
        await self.watcher.write(layout.topology(name), with_desired(entry.value, desired))

    async def submission(self, name: str = "counting") -> Submission:
        entry = await self.watcher.read(layout.topology(name))
        assert entry is not None
        found = signed_submission(entry.value, "submission", submission_key(TOKEN, name))
        assert found is not None
        return found


@asynccontextmanager
async def bench(
    tmp_path: Path, tree: MemoryTree | None = None, leads: bool = True, check: Check = accepts, signing: str = "", **about: Any
) -> AsyncIterator[Bench]:
    """A master that has joined, and leads unless another one does."""
    tree = tree or MemoryTree()
    store, clock, drivers = tree.session(), FakeClock(), StandInDrivers()
    me = replace(Member("http://m1:8627", "h", 1, packages="/shared", shares_token=True), **about)
    kept = tmp_path / "packages"
    incoming = tmp_path / f"incoming-{me.url.rpartition('/')[2]}"
    incoming.mkdir()
    means = Means(DirectoryPackages(kept), drivers, TOKEN, clock, incoming, check, signing)
    master = assemble(store, me, means)
    try:
        await master.leadership.join(master.reconciler.wake, seconds=0.0)
        await settled(lambda: master.leadership.leads == leads)
        yield Bench(store, master, create_app(master.parts, TOKEN), drivers, clock, kept, tree.session(), means)
    finally:
        await master.leadership.close()
        await store.close()


async def settled(condition: Any, turns: int = 200) -> None:
    """Let others run until it is so."""
    for _ in range(turns):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it is not so, and nothing happens any more")
