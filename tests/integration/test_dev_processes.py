"""Detached processes of a development cluster: found by their mark, ended for sure; and a master asked to kill its topologies."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import psutil
import pytest

from pasps.clock import SystemClock
from pasps.cluster.dev.ports import free_ports, is_free
from pasps.cluster.dev.processes import MARK, Children, ProcessRef, end, marked
from pasps.cluster.dev.take_down import end_marked, kill_topologies
from tests.integration.running import until

pytestmark = pytest.mark.integration

SLEEPY = "import time; print('there', flush=True); time.sleep(600)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEPY}"
PARENT = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {SLEEPY!r}], start_new_session=True); {SLEEPY}"


def start(children: Children, home: Path, program: str) -> ProcessRef:
    """Back when it says that it is there."""
    log = home / "log"
    before = log.stat().st_size if log.exists() else 0
    process = children.start([sys.executable, "-c", program], {**os.environ, MARK: str(home)}, home, log)
    until(lambda: log.stat().st_size > before, "the process")
    return process


@pytest.fixture
def children(tmp_path: Path) -> Iterator[Children]:
    children = Children()
    yield children
    end_marked(tmp_path, [], SystemClock(), children.reap)


def test_a_process_has_a_session_of_its_own_and_ends_by_its_number_alone(children: Children, tmp_path: Path) -> None:
    process = start(children, tmp_path, SLEEPY)
    assert os.getsid(process.pid) == process.pid
    ProcessRef(process.pid, "an earlier one").send(signal.SIGKILL)
    assert process.alive
    end([process], SystemClock(), 5.0)
    assert process.gone
    assert children.exit_code(process.pid) == -signal.SIGTERM


def test_what_descends_from_a_marked_process_is_found_and_what_is_not_of_this_home_is_not(children: Children, tmp_path: Path) -> None:
    (other := tmp_path / "other").mkdir()
    process = start(children, tmp_path, PARENT)
    stranger = start(children, other, SLEEPY)
    until(lambda: len(marked(tmp_path)) == 2, "the process and its child")
    assert stranger not in marked(tmp_path)
    end([process], SystemClock(), 5.0)
    assert len(marked(tmp_path)) == 1
    assert end_marked(tmp_path, [], SystemClock(), children.reap) == 1
    assert stranger.alive
    assert end_marked(other, [], SystemClock(), children.reap) == 1


def test_one_that_ignores_sigterm_ends_all_the_same(children: Children, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pasps.cluster.dev.take_down.GRACE_SECONDS", 0.2)
    process = start(children, tmp_path, STUBBORN)
    assert end_marked(tmp_path, [process], SystemClock(), children.reap) == 1
    assert not psutil.pid_exists(process.pid)


def test_one_that_ends_between_two_looks_is_reaped(children: Children, tmp_path: Path) -> None:
    process = start(children, tmp_path, SLEEPY)

    def reap() -> None:
        children.reap()
        process.send(signal.SIGKILL)
        until(lambda: process.gone, "its end")

    assert end_marked(tmp_path, [process], SystemClock(), reap) <= 1
    assert not psutil.pid_exists(process.pid), "it waits for its parent to take note of its end"


def test_ports_are_free_and_different() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    assert all(is_free(port) for port in ports)


# ---- a master that has two topologies, and cannot kill one of them


class Master(BaseHTTPRequestHandler):
    asked: ClassVar[list[tuple[str, Any]]] = []

    def do_GET(self) -> None:
        self.answer(200, {"topologies": [{"name": name, "state": "running"} for name in ("word count", "stuck")]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append((self.path, body))
        self.answer(504 if "stuck" in self.path else 200, {"result": {}})

    def answer(self, status: int, body: Any) -> None:
        status = status if self.headers["Authorization"] == "Bearer secret" else 401
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def listening() -> Iterator[int]:
    Master.asked.clear()
    with HTTPServer(("127.0.0.1", 0), Master) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def test_every_topology_is_killed_at_once_and_one_that_cannot_be_does_not_stop_the_others() -> None:
    with listening() as port:
        assert kill_topologies(port, "secret") == ["word count"]
    assert sorted(Master.asked) == [
        ("/v1/topologies/stuck/verbs/kill", {"wait": 0}),
        ("/v1/topologies/word%20count/verbs/kill", {"wait": 0}),
    ]


def test_a_master_that_does_not_answer_or_refuses_is_no_obstacle() -> None:
    assert kill_topologies(free_ports(1)[0], "secret") == []
    with listening() as port:
        assert kill_topologies(port, "wrong") == []


def test_of_those_that_are_marked_who_was_told_something_is_found(
    children: Children, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(children, tmp_path, SLEEPY)
    monkeypatch.setenv("TOLD", "this")
    told = start(children, tmp_path, SLEEPY)
    assert marked(tmp_path, "TOLD=this") == [told]
    assert marked(tmp_path, "TOLD=that") == []
