"""The HTTP spout with real clients: who is answered with 200 has everything done, whatever dies meanwhile."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pasps import Bolt, LocalCluster, Topology, TopologyContext, Tuple
from pasps.clock import SystemClock
from pasps.connectors.http_desk import Room
from pasps.connectors.http_in import HttpSpout
from pasps.connectors.http_intake import Intake, ServerThread, settings_of
from pasps.errors import WorkerStartError
from pasps.transport import entrance, http_server
from tests.integration.running import config, kill, rows, spout_worker, until, until_replaced
from tests.integration.topologies import Pass, WriteDown

pytestmark = pytest.mark.integration

REQUESTS, IN_ONE, CLIENTS = 400, 5, 8


class Numbered(HttpSpout):
    """Events that have a number; the key is the request's."""

    outputs = ("n", "key")

    def values(self, event: dict[str, Any], event_id: str) -> Sequence[Any]:
        return int(event["n"]), int(event_id.partition(":")[0])


class Web(Topology):
    config = {"http.port": 0}
    numbers = Numbered.spec()
    work = Pass.spec(inputs=[numbers], par=2)
    sink = WriteDown.spec(inputs=[work], par=2)


class Hold(Bolt):
    """Keeps everything until a file says that it may go."""

    outputs = ("n", "key")
    auto_ack = False

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        self.kept: list[Tuple] = []
        self.go = Path(conf["test.dir"]) / "go"

    def process(self, tup: Tuple) -> None:
        self.kept.append(tup)

    def process_tick(self, tup: Tuple) -> None:
        while self.kept and self.go.exists():
            self.ack(self.kept.pop())


class Held(Topology):
    config = {"http.port": 0, "http.pending": 20, "http.token": "let-me-in"}
    numbers = Numbered.spec()
    hold = Hold.spec(inputs=[numbers], config={"topology.tick.tuple.freq.secs": 0.02})


def settings(directory: Path, **more: Any) -> dict[str, Any]:
    return config(directory, **{"http.address.file": str(directory / "address"), **more})


def address(directory: Path, name: str = "address") -> str:
    return until(lambda: (directory / name).exists() and (directory / name).read_text().strip(), "the address file")


def accepting(directory: Path, name: str = "address") -> str:
    """The address, when events are taken there."""
    url = address(directory, name)

    def answers() -> bool:
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return bool(json.load(answer)["accepting"])
        except OSError:
            return False

    until(answers, "a server that accepts")
    return url


def post(url: str, body: Any, key: str = "0", token: str = "let-me-in") -> tuple[int, dict[str, str], Any]:
    """Status, headers and body of an answer."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", "Idempotency-Key": key, "Authorization": f"Bearer {token}"}
    request = urllib.request.Request(url, data, headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, dict(answer.headers), json.load(answer)
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, dict(refused.headers), json.load(refused)


def send_until_done(directory: Path, number: int, retries: list[int]) -> None:
    """What a client does: it sends a request again until it is answered with 200."""
    events = [{"n": number * IN_ONE + place} for place in range(IN_ONE)]
    pause = threading.Event()
    for _ in range(2_000):
        try:
            status, _, _ = post(address(directory), events, str(number))
        except (OSError, http.client.HTTPException):
            status = 0
        if status == 200:
            return
        retries.append(status)
        pause.wait(0.02)
    raise AssertionError(f"request {number} was never done")


def test_every_event_is_done_though_the_worker_that_listens_is_killed(tmp_path: Path) -> None:
    retries: list[int] = []
    with LocalCluster(workers=2) as cluster, ThreadPoolExecutor(CLIENTS) as clients:
        running = cluster.submit(Web, config=settings(tmp_path))
        sent = [clients.submit(send_until_done, tmp_path, number, retries) for number in range(REQUESTS)]
        until(lambda: len(rows(tmp_path)) > REQUESTS * IN_ONE // 4, "some events")
        victim = spout_worker(running)
        kill(victim)
        until_replaced(running, victim)
        for one in sent:
            one.result(60)
        stats = running.stats()
        assert stats.components["numbers"].backlog == 0
        assert [error.text for error in running.errors] == []
    found = rows(tmp_path)
    assert {number for number, _ in found} == set(range(REQUESTS * IN_ONE))
    assert {(number, number // IN_ONE) for number, _ in found} == {(number, key) for number, key in found}, "sent again, with its key"
    assert 0 in retries, "connections were broken"


def test_who_may_send_what_and_when_there_is_no_room(tmp_path: Path) -> None:
    with LocalCluster(workers=1) as cluster, ThreadPoolExecutor(20) as clients:
        running = cluster.submit(Held, config=settings(tmp_path))
        url = accepting(tmp_path)
        assert url.startswith("http://127.0.0.1:")
        assert post(url, {"n": 1}, token="wrong")[0] == 401
        assert post(url, b"{", key="1")[0] == 400
        status, _, body = post(url, b'{"n": "' + b"x" * 2_000_000 + b'"}')
        assert status == 413
        assert body["detail"].startswith("body: expected at most 1048576 bytes")
        assert post(url, {"n": "one"})[2] == {"detail": "event 0: invalid literal for int() with base 10: 'one'"}
        held = [clients.submit(post, url, {"n": number}, str(number)) for number in range(20)]
        until(lambda: running.stats().pending == 20, "twenty events in flight")
        status, headers, body = post(url, {"n": 20}, "20")
        assert (status, headers["retry-after"]) == (503, "1")
        assert "'http.pending'" in body["detail"]
        running.deactivate()
        until(lambda: post(url, {"n": 20}, "20")[2]["detail"].startswith("the topology is not active"), "a 503")
        assert not any(one.done() for one in held)
        (tmp_path / "go").touch()
        assert {one.result(30)[0] for one in held} == {200}
        running.activate()
        until(lambda: post(url, {"n": 20}, "20")[0] == 200, "a 200")


def test_killed_in_good_order_it_answers_what_is_open_and_frees_its_port(tmp_path: Path) -> None:
    with LocalCluster(workers=1) as cluster, ThreadPoolExecutor(1) as client:
        running = cluster.submit(Held, config=settings(tmp_path))
        url = accepting(tmp_path)
        upload = http.client.HTTPConnection(url.removeprefix("http://").rstrip("/"), timeout=30)
        upload.putrequest("POST", "/")
        for name, value in {"Content-Type": "application/json", "Content-Length": "9", "Authorization": "Bearer let-me-in"}.items():
            upload.putheader(name, value)
        upload.endheaders(b'{"n":')
        open_one = client.submit(post, url, {"n": 1})
        until(lambda: running.stats().pending == 1, "an event in flight")
        running.kill(wait=0.1)
        assert open_one.result(10)[0] == 503
        assert upload.getresponse().status == 503, "who has not sent all is not waited for"
        upload.close()
        with pytest.raises(OSError, match=r"refused"):
            post(url, {"n": 2})
    assert not (tmp_path / "address").exists()


def test_tasks_listen_on_ports_of_their_own_and_a_port_that_is_taken_is_an_error(tmp_path: Path) -> None:
    class Two(Topology):
        numbers = Numbered.spec(par=2)
        sink = WriteDown.spec(inputs=[numbers])

    with LocalCluster(workers=2) as cluster:
        cluster.submit(Two, config=settings(tmp_path, **{"http.port": 0}))
        urls = [accepting(tmp_path, f"address.{task}") for task in range(2)]
        assert [post(url, {"n": number})[0] for number, url in enumerate(urls)] == [200, 200]
        until(lambda: sorted(number for number, _ in rows(tmp_path)) == [0, 1], "both events")
    with socket.create_server(("127.0.0.1", 0)) as taken, LocalCluster(workers=1) as cluster:
        port = taken.getsockname()[1]
        with pytest.raises(WorkerStartError, match=rf"cannot listen on 127.0.0.1 port {port}: Address already in use; set 'http.host'"):
            cluster.submit(Web, config=settings(tmp_path, **{"http.port": port}))


def test_connections_that_send_nothing_are_bounded_and_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entrance, "MOST_INSIDE", 4)  # as few as there may be, see `share_of_files`

    def served() -> tuple[ServerThread, Callable[[], socket.socket]]:
        server = ServerThread("127.0.0.1", 0, Intake(settings_of({}, "here"), Room(10), lambda exchange: None, SystemClock()))
        server.start()
        port = int(server.url.rstrip("/").rpartition(":")[2])
        return server, lambda: socket.create_connection(("127.0.0.1", port), timeout=10)

    def status(server: ServerThread) -> int:
        try:
            with urllib.request.urlopen(server.url, timeout=10) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code

    server, silent = served()
    try:
        with contextlib.ExitStack() as open_ones:
            first, *_ = [open_ones.enter_context(silent()) for _ in range(4)]
            assert status(server) == 503, "answered beside them"
            assert received(first) == b"", "the oldest made room"
    finally:
        server.stop()
    monkeypatch.setattr(http_server, "IDLE_SECONDS", 0.1)
    server, silent = served()
    try:
        with silent() as one:
            assert received(one) == b"", "closed after a while"
    finally:
        server.stop()


def received(connection: socket.socket) -> bytes:
    """What comes until it is closed."""
    try:
        return connection.recv(1000)
    except ConnectionResetError:
        return b""
