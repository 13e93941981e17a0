"""An HTTP spout without a network: requests go straight to its ASGI application, on an event loop with the run's clock."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any, Self

from pasps import Bolt, Topology, TopologyContext, Tuple
from pasps.connectors import http_in
from pasps.connectors.http_in import HttpSpout
from pasps.connectors.http_intake import Intake
from pasps.runtime.spout_executor import SpoutExecutor
from pasps.testing import FakeClock, StepRun
from tests.unit.connectors.line_runs import RunClock

JSON = "application/json"


class NoServer:
    """In the place of `ServerThread`, because unit tests open no port: keeps the application that a real one would call."""

    made: list[NoServer] = []

    def __init__(self, host: str, port: int, intake: Intake) -> None:
        self.intake = intake
        self.url = f"http://{host}:{port}/"
        self.up = False
        type(self).made.append(self)

    def start(self) -> None:
        self.up = True

    def alive(self) -> bool:
        return self.up

    def stop(self) -> None:
        self.up = False


class Posts(HttpSpout):
    """Of these tests, so that its clock is."""

    clock = RunClock()


class Note(Bolt):
    """Acks at once; events with `fails` fail as often as `failures` says; while `shut` it keeps everything, until a tick after that."""

    outputs = ["event", "id"]
    auto_ack = auto_fail = False
    shut = False
    failures = 1

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.failed: dict[Any, int] = {}
        self.kept: list[Tuple] = []

    def process_tick(self, tup: Tuple) -> None:
        while self.kept and not type(self).shut:
            self.process(self.kept.pop(0))

    def process(self, tup: Tuple) -> None:
        event, name = tup.values
        if type(self).shut:
            self.kept.append(tup)
            return
        if isinstance(event, dict) and event.get("fails") and self.failed.get(name, 0) < type(self).failures:
            self.failed[name] = self.failed.get(name, 0) + 1
            self.fail(tup)
        else:
            self.emit([event, name])
            self.ack(tup)


class RunLoop(asyncio.SelectorEventLoop):
    """Its time is the run's, so that time-outs of minutes take none."""

    def __init__(self, clock: FakeClock) -> None:
        self._of_run = clock
        super().__init__()

    def time(self) -> float:
        return self._of_run.peek()


@dataclass
class Reply:
    """What a request was answered with; status 0 while it is not."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None


class HttpRun:
    """A topology of an HTTP spout and a bolt, with clients; `config` as for `http.*`."""

    def __init__(self, *, workers: int = 1, shape: type[HttpSpout] = Posts, active: bool = True, **keys: Any) -> None:
        class Web(Topology):
            config = {"topology.message.timeout.secs": 10, "http.port": 0}
            posts = shape.spec(config={f"http.{name.replace('_', '.')}": value for name, value in keys.items()})
            note = Note.spec(inputs=[posts], config={"topology.tick.tuple.freq.secs": 0.1})

        Note.shut, Note.failures = False, 1
        NoServer.made = []
        Posts.clock.of_run = FakeClock()
        self.run = StepRun(Web, workers)
        Posts.clock.of_run = self.run.clock
        self.loop = RunLoop(self.run.clock)
        self._tasks: set[asyncio.Task[None]] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.run.close()
        for task in self._tasks:
            task.cancel()
        self.turn()
        self.loop.close()

    @property
    def spout(self) -> SpoutExecutor:
        return next(spout for worker in self.run.workers.values() for spout in worker.residents.spouts.values())

    def emitted(self) -> list[Any]:
        return [row[0] for row in self.run.emitted.get("posts", {}).get("default", [])]

    def ids(self) -> list[str]:
        return [row[1] for row in self.run.emitted.get("posts", {}).get("default", [])]

    def done(self) -> list[Any]:
        return [row[0] for row in self.run.emitted.get("note", {}).get("default", [])]

    def errors(self) -> list[str]:
        return [report.text for report in self.run.journal.of("error")]

    def advance(self, seconds: float) -> None:
        """Let time pass for the topology and for the server, a tenth of a second at a time; ten times that when it is long."""
        step = 0.1 if seconds <= 10 else 1.0
        for _ in range(round(seconds / step)):
            self.turn()
            self.run.advance(step)
        self.turn()

    def post(self, body: Any, *, kind: str = JSON, key: str | None = None, token: str | None = None, **more: Any) -> Reply:
        """Send a request; the reply is there when time has passed."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"content-type": kind, "content-length": str(len(data))}
        if key is not None:
            headers["idempotency-key"] = key
        if token is not None:
            headers["authorization"] = f"Bearer {token}"
        return self.ask("POST", [data], headers | more.pop("headers", {}), **more)

    def ask(
        self, method: str, parts: list[bytes], headers: dict[str, str], path: str = "/", *, ends: bool = True, leaves: bool = False
    ) -> Reply:
        """The same, in parts; without `ends` the last one never comes; who `leaves` closes the connection instead of sending it."""
        reply = Reply()
        named = [(name.encode(), value.encode("latin-1")) for name, value in headers.items() if value]
        scope = {"type": "http", "method": method, "path": path, "headers": named}
        waiting = list(parts)

        async def receive() -> dict[str, Any]:
            if not waiting and leaves:
                return {"type": "http.disconnect"}
            if not waiting and not ends:
                await asyncio.Event().wait()
            part = waiting.pop(0) if waiting else b""
            return {"type": "http.request", "body": part, "more_body": bool(waiting) or not ends or leaves}

        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                reply.headers = {name.decode(): value.decode() for name, value in message["headers"]}
                reply.status = message["status"]
            elif message["body"]:
                reply.body = json.loads(message["body"])

        task = self.loop.create_task(NoServer.made[-1].intake(scope, receive, send))
        self._tasks.add(task)
        self.turn()
        return reply

    def turn(self) -> None:
        """Let the server do what it can do now."""
        for _ in range(20):
            self.loop.run_until_complete(asyncio.sleep(0))


def without_a_server(patch: Any) -> None:
    """For a fixture: no spout of this test opens a port."""
    patch.setattr(http_in, "ServerThread", NoServer)
