"""Requests that are refused: with which status, in which words, and that they hold no room afterwards."""

from __future__ import annotations

from typing import Any

import pytest

from pasps.connectors import http_desk
from tests.unit.connectors.http_runs import JSON, HttpRun, NoServer, Note, without_a_server

LINES = "application/x-ndjson"


@pytest.fixture(autouse=True)
def _no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    without_a_server(monkeypatch)
    monkeypatch.delenv("PASPS_HTTP_TOKEN", raising=False)


@pytest.mark.parametrize(
    ("body", "kind", "status", "detail"),
    [
        (b"", JSON, 400, "body: expected JSON in UTF-8: Input data was truncated"),
        (b'{"a":', JSON, 400, "body: expected JSON in UTF-8: Input data was truncated"),
        (b"NaN", JSON, 400, "body: expected JSON in UTF-8: JSON is malformed: invalid character (byte 0)"),
        (
            b'{"a":"\xff"}',
            JSON,
            400,
            "body: expected JSON in UTF-8: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte",
        ),
        (b'{"a":' * 5000, JSON, 400, "body: nested too deeply"),
        (b"[]", JSON, 400, "body: expected at least one event, got none"),
        (b"17", JSON, 400, "body: expected a JSON object, got a number"),
        (b'[{}, "a"]', JSON, 400, "event 1: expected a JSON object, got a string"),
        (b'{}\n\n{"a"\n', LINES, 400, "line 3: expected JSON in UTF-8: Input data was truncated"),
        (b"{}\n[{}]", LINES, 400, "line 2: expected a JSON object, got a list"),
        (b"\n\r\n", LINES, 400, "body: expected at least one event, got none"),
        (b"{}", "text/plain", 415, "got 'text/plain'"),
        (b"{}", "", 415, "got ''"),
        (b"[" + b"{}," * 20 + b"{}]", JSON, 413, "body: expected at most 20 events ('http.pending'), got 21"),
        (b'{"a": "' + b"x" * 1000 + b'"}', JSON, 413, "body: expected at most 1000 bytes ('http.max.bytes'), got more; send fewer events"),
    ],
)
def test_a_bad_body_is_refused_in_words(body: bytes, kind: str, status: int, detail: str) -> None:
    with HttpRun(pending=20, max_bytes=1000 if b"x" in body else 100_000) as run:
        reply = run.post(body, kind=kind)
        assert reply.status == status
        assert reply.body["detail"].endswith(detail)
        run.advance(0.1)
        assert run.emitted() == []


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/json; charset=utf-8", b'[{"n": 1}, {"n": 2}]'),
        ("Application/X-NDJSON", b'{"n": 1}\r\n\n{"n": 2}'),
        ("application/jsonl", b'{"n": 1}\n{"n": 2}\n'),
    ],
)
def test_a_batch_is_a_list_or_lines(kind: str, body: bytes) -> None:
    with HttpRun() as run:
        reply = run.post(body, kind=kind)
        run.advance(0.5)
        assert (reply.status, reply.body) == (200, {"events": 2})
        assert run.emitted() == [{"n": 1}, {"n": 2}]


@pytest.mark.parametrize(
    ("method", "path", "headers", "status", "detail"),
    [
        ("POST", "/events", {}, 404, "no page '/events'; POST / takes events, GET / says whether it does"),
        ("PUT", "/", {}, 405, "/ takes GET and POST, got 'PUT'"),
        ("POST", "/", {"content-encoding": "gzip"}, 415, "expected a body that is not compressed, got Content-Encoding: 'gzip'"),
        ("POST", "/", {"idempotency-key": "x" * 201}, 400, "Idempotency-Key: expected at most 200 printable ASCII characters"),
        ("POST", "/", {"idempotency-key": "\xe9"}, 400, "Idempotency-Key: expected at most 200 printable ASCII characters"),
    ],
)
def test_a_bad_request_is_refused_in_words(method: str, path: str, headers: dict[str, str], status: int, detail: str) -> None:
    with HttpRun() as run:
        reply = run.ask(method, [b"{}"], {"content-type": JSON} | headers, path)
        assert (reply.status, reply.body) == (status, {"detail": detail})
        assert reply.headers.get("allow") == ("GET, HEAD, POST" if status == 405 else None)


def test_a_head_request_gets_no_body() -> None:
    with HttpRun() as run:
        reply = run.ask("HEAD", [], {})
        assert (reply.status, reply.body) == (200, None)


def test_without_the_token_nothing_is_read() -> None:
    with HttpRun(token="secret") as run:
        reply = run.post(b"\xff", headers={"authorization": "Bearer s\xe9cret"})
        assert reply.status == 401
        assert reply.headers["www-authenticate"] == "Bearer"
        assert run.ask("GET", [], {}).status == 200, "whether it accepts is no secret"


def test_a_body_comes_in_parts_and_may_be_too_large_without_saying_so() -> None:
    with HttpRun(max_bytes=50) as run:
        good = run.ask("POST", [b'{"a"', b": 1}"], {"content-type": JSON})
        large = run.ask("POST", [b'{"a"', b": 1" * 20, b"}"], {"content-type": JSON})
        run.advance(0.5)
        assert (good.status, large.status) == (200, 413)
        lies = run.ask("POST", [b"{}"], {"content-type": JSON, "content-length": "9" * 5000})
        run.advance(0.5)
        assert lies.status == 200, "a length of so many digits is not looked at; the bytes are counted"


def test_a_body_that_never_ends_is_given_up() -> None:
    with HttpRun(timeout_seconds=5) as run:
        reply = run.ask("POST", [b"{"], {"content-type": JSON}, ends=False)
        run.advance(4.0)
        assert reply.status == 0
        run.advance(2.0)
        assert (reply.status, reply.body) == (408, {"detail": "body: did not arrive within 5 s; send it again"})


def test_a_refusal_waits_a_while_for_the_rest_of_the_body_unless_the_client_asked_before_it_sends() -> None:
    with HttpRun(token="secret") as run:
        size = {"content-type": JSON, "content-length": "1000"}
        sends = run.ask("POST", [b"{"], size, ends=False)
        asks = run.ask("POST", [], size | {"expect": "100-continue"}, ends=False)
        run.advance(1.5)
        assert (sends.status, asks.status) == (0, 401)
        run.advance(1.0)
        assert sends.status == 401


def test_who_still_sends_when_the_server_closes_is_answered_at_once() -> None:
    with HttpRun(token="secret") as run:
        size = {"content-type": JSON, "content-length": "1000"}
        sends = run.ask("POST", [b"{"], size | {"authorization": "Bearer secret"}, ends=False)
        refused = run.ask("POST", [b"{"], size, ends=False)
        assert (sends.status, refused.status) == (0, 0)
        run.spout.instance.close()
        run.turn()
        assert (sends.status, sends.headers["retry-after"], refused.status) == (503, "1", 401)
        late = run.ask("POST", [b"{"], size, ends=False)
        assert late.status == 401


def test_a_request_whose_body_ends_while_the_server_closes_is_answered_too(monkeypatch: pytest.MonkeyPatch) -> None:
    with HttpRun() as run:
        desk = vars(run.spout.instance)["_desk"]
        monkeypatch.setattr(vars(NoServer.made[-1].intake)["_room"], "give", lambda *_: run.spout.instance.close())
        reply = run.post({"n": 1})  # it closes between the body and the desk
        assert reply.status == 503
        assert desk.first() is None, "nobody took it in"


def test_a_client_that_leaves_before_its_body_has_arrived_sends_nothing() -> None:
    with HttpRun() as run:
        run.ask("POST", [b'{"n": 1}'], {"content-type": JSON}, leaves=True)
        run.advance(0.5)
        assert run.emitted() == []


def test_bytes_are_bounded_whoever_sends_them_and_their_room_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_desk, "MOST_BYTES", 250)
    body = b'{"a": "' + b"x" * 90 + b'"}'
    with HttpRun(max_bytes=100) as run:
        slow = [run.ask("POST", [b"{"], {"content-type": JSON}, ends=False) for _ in range(2)]
        assert run.post(body).status == 503
        run.advance(40.0)
        assert [reply.status for reply in slow] == [408, 408]
        Note.shut = True
        held = [run.post(body), run.post(body)]
        run.advance(0.5)
        assert run.post(body).status == 503
        Note.shut = False
        run.advance(0.5)
        assert [reply.status for reply in held] == [200, 200]


def test_every_refusal_gives_its_room_back() -> None:
    with HttpRun(pending=2, max_bytes=1 << 26) as run:
        size = {"content-type": JSON, "content-length": str(1 << 26)}
        for parts in ([b"{"], [b"[]"], [b"[{}, {}, {}]"], [b"{}"], [b"[{}, {}]"]) * 3:
            run.ask("POST", parts, size)
            run.advance(0.2)
        reply: Any = run.ask("POST", [b"[{}, {}]"], size)
        run.advance(0.5)
        assert reply.status == 200
