"""A master by its contract: a real HTTP server in this process, with topologies and drivers that are values."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pasps.errors import InvalidError, PaspsError
from pasps.topology.run_record import write_json
from pasps.topology.verbs import json_ready
from tests.unit.cli.builders import known_run, status

TOKEN = "t0ken"
Verb = Callable[[dict[str, Any]], Any]


class RefusalError(Exception):
    """Answered with this status and error."""

    def __init__(self, status: int, kind: str, text: str) -> None:
        self.status, self.kind, self.text = status, kind, text


@dataclass
class Master:
    """What it has, and what it was asked: method and path, token and body."""

    url: str = ""
    topologies: dict[str, dict[str, Any]] = field(default_factory=dict)
    ended: list[dict[str, Any]] = field(default_factory=list)
    verbs: dict[str, Verb] = field(default_factory=dict)
    leader: str | None = None
    refusal: RefusalError | None = None
    raw: bytes | None = None
    silent: threading.Event | None = None
    drops: bytes | None = None
    """Its answer ends in these without an end, one after the other, while somebody waits for more."""
    asked: list[tuple[str, str, str | None, bytes]] = field(default_factory=list)

    def add(self, name: str, state: str = "running", detail: str = "", **more: Any) -> None:
        driver = {"epoch": 1, "host": "node-1", "pid": 41, "address": ["127.0.0.1", 1], "state": state, "detail": detail, "at": 5.0}
        desired = {"state": "active", "wait": None, "restart": 0}
        view = {"name": name, "state": state, "detail": detail, "workers": 2, "submitted": 1000.0, "epoch": 1}
        self.topologies[name] = {**view, "driver": driver, "desired": desired, "pools": {}, **more}

    def paths(self) -> list[str]:
        return [f"{method} {path}" for method, path, _, _ in self.asked]

    def bodies(self) -> list[Any]:
        return [json.loads(body) for _, _, _, body in self.asked if body[:1] == b"{"]

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        if self.refusal is not None:
            raise self.refusal
        match method, path.split("/")[1:]:
            case "GET", ["v1", "topologies"]:
                return 200, {"topologies": list(self.topologies.values())}
            case "POST", ["v1", "topologies"]:
                return 201, {"name": "counting", "workers": 2}
            case "GET", ["v1", "ended"]:
                return 200, {"ended": self.ended}
            case _, ["v1", "topologies", name, *rest]:
                return self._about(name, rest, body)
        raise RefusalError(404, "InvalidError", f"there is no {path!r}")

    def _about(self, name: str, rest: list[str], body: bytes) -> tuple[int, Any]:
        if name not in self.topologies:
            raise RefusalError(404, "InvalidError", f"there is no topology {name!r}; `pasps list` shows all of them")
        match rest:
            case []:
                return 200, self.topologies[name]
            case ["rebalance"]:
                return 202, {"name": name}
            case ["verbs", verb]:
                try:
                    return 200, {"result": self.verbs[verb](json.loads(body))}
                except PaspsError as error:
                    raise RefusalError(422 if isinstance(error, InvalidError) else 502, type(error).__name__, str(error)) from error
        raise RefusalError(404, "InvalidError", "no such path")


class Server(ThreadingHTTPServer):
    """Has the master that its handlers answer for."""

    def __init__(self, master: Master) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.master = master

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # a client that did not wait


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: Server

    def do_GET(self) -> None:
        self._do("GET")

    def do_POST(self) -> None:
        self._do("POST")

    def _do(self, method: str) -> None:
        master = self.server.master
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        given = self.headers.get("Authorization")
        master.asked.append((method, self.path, given, body))
        if master.silent is not None:
            master.silent.wait(10)
        if master.raw is not None:
            self.wfile.write(master.raw)
            while master.drops is not None:
                self.wfile.write(master.drops)
                threading.Event().wait(0.01)
        elif self.path == "/healthz":
            self._answer(200, {"ok": True, "leads": master.leader is None, "leader": master.leader})
        elif given != f"Bearer {TOKEN}":
            self._answer(401, {"error": {"kind": "AuthenticationError", "text": "expected the token"}})
        elif master.leader is not None:
            self._answer(307, {}, {"Location": master.leader + self.path})
        else:
            try:
                self._answer(*master.answer(method, self.path, body))
            except RefusalError as no:
                self._answer(no.status, {"error": {"kind": no.kind, "text": no.text}})

    def _answer(self, status: int, told: Any, headers: Mapping[str, str] | None = None) -> None:
        content = msgspec.json.encode(told)
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def serving(master: Master) -> Iterator[Master]:
    """Answers on a free port, until it is left."""
    server = Server(master)
    master.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield master
    finally:
        if master.silent is not None:
            master.silent.set()
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def known_master(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Master]:
    """One with a topology `doubling`, which PASPS_MASTER names; what else is known is below `home`."""
    monkeypatch.setenv("PASPS_HOME", str(home))
    monkeypatch.setenv("PASPS_TOKEN", TOKEN)
    monkeypatch.chdir(home)
    with serving(Master()) as master:
        master.add("doubling")
        master.verbs["status"] = lambda _: json_ready(status())
        monkeypatch.setenv("PASPS_MASTER", master.url)
        yield master


def runs_here(home: Path, name: str = "doubling") -> Path:
    """The directory of a run that lives, as far as one can see."""
    run = known_run(name)
    directory = home / "runs" / run.directory.name
    directory.mkdir(parents=True)
    write_json(directory / "run.json", run.record)
    return directory


def nobody() -> str:
    """An address where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"
