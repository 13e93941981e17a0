from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pasps.cluster.master import app
from pasps.testing.memory_store import MemoryTree
from tests.unit.cluster.master.bench import TOKEN, bench, settled


@pytest.mark.parametrize("token", [None, "", "wrong", f"{TOKEN} ", "t0kén"])
def test_without_the_token_nothing_is_told(tmp_path: Path, token: str | None) -> None:
    async def body() -> None:
        async with bench(tmp_path) as one:
            for method, path in (("GET", "/v1/topologies"), ("POST", "/v1/topologies"), ("GET", "/v1/ended"), ("GET", "/docs")):
                answer = await one.ask(method, path, token=token)
                assert answer.error[:2] == (401, "AuthenticationError")
                assert answer.headers["www-authenticate"] == "Bearer"

    asyncio.run(body())


def test_health_is_open_and_says_who_leads(tmp_path: Path) -> None:
    async def body() -> None:
        async with bench(tmp_path) as one:
            answer = await one.ask("GET", "/healthz", token=None)
            assert (answer.status, answer.json) == (200, {"ok": True, "leads": True, "leader": "http://m1:8627"})
            one.store.cut()
            answer = await one.ask("GET", "/healthz", token=None)
            assert (answer.status, answer.json["ok"], answer.json["leader"]) == (503, False, None)

    asyncio.run(body())


def test_a_follower_sends_to_the_leader_before_it_reads_a_body(tmp_path: Path) -> None:
    async def body() -> None:
        tree = MemoryTree()
        async with bench(tmp_path, tree), bench(tmp_path, tree, leads=False, url="http://m2:8627") as follower:
            for path in ("/v1/topologies", "/v1/topologies/a?b=c"):
                answer = await follower.ask("POST", path, b"x" * 10)
                assert (answer.status, answer.headers["location"]) == (307, f"http://m1:8627{path}")
            assert (await follower.ask("GET", "/healthz", token=None)).json == {"ok": True, "leads": False, "leader": "http://m1:8627"}

    asyncio.run(body())


def test_the_next_one_leads_when_the_leader_is_gone(tmp_path: Path) -> None:
    async def body() -> None:
        tree = MemoryTree()
        async with bench(tmp_path, tree) as first, bench(tmp_path, tree, leads=False, url="http://m2:8627") as second:
            first.store.lose()
            first.store.cut()
            await settled(lambda: second.master.leadership.leads)
            answer = await second.ask("GET", "/v1/topologies")
            assert (answer.status, answer.json) == (200, {"topologies": []})
            # nobody knows a leader, and it is not the old one
            answer = await first.ask("GET", "/v1/topologies")
            assert answer.error[:2] == (503, "BrokenError")

    asyncio.run(body())


def test_while_the_store_is_away_it_says_so(tmp_path: Path) -> None:
    async def body() -> None:
        async with bench(tmp_path) as one:
            one.store.cut()
            answer = await one.ask("GET", "/v1/topologies")
            assert answer.error[:2] == (503, "BrokenError")
            assert "cannot be reached" in answer.error[2]
            assert answer.headers["retry-after"] == "1"

    asyncio.run(body())


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404),
        ("GET", "/docs", 404),
        ("GET", "/openapi.json", 404),
        ("GET", "/v1/topologies/", 404),
        ("DELETE", "/v1/topologies", 405),
        ("GET", "/v1/topologies/missing", 404),
        ("GET", "/v1/topologies/..", 404),
        ("GET", "/v1/topologies/a%2Fb", 404),
        ("POST", "/v1/topologies/missing/verbs/status", 404),
        ("POST", "/v1/topologies/missing/rebalance", 404),
    ],
)
def test_what_is_not_there_is_an_error_as_json(tmp_path: Path, method: str, path: str, status: int) -> None:
    async def body() -> None:
        async with bench(tmp_path) as one:
            assert (await one.ask(method, path)).error[0] == status

    asyncio.run(body())


def test_a_body_that_is_no_json_or_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def steps() -> None:
        async with bench(tmp_path) as one:
            await one.submit()
            for content in (b"{", b"[]", b"\xff", b'{"workers": 0}', b'{"pools": {"count": 0}}', b'{"wait": -1}', b'{"workres": 1}'):
                assert (await one.ask("POST", "/v1/topologies/counting/rebalance", content)).error[:2] == (422, "InvalidError")
            long = b" " * (app.MOST_JSON_BYTES + 1)
            assert (await one.ask("POST", "/v1/topologies/counting/verbs/status", long)).error[:2] == (413, "InvalidError")
            monkeypatch.setattr(app, "MOST_PACKAGE_BYTES", 100)
            assert (await one.submit("other")).error[0] == 413
            assert list(one.master.parts.incoming.iterdir()) == []

    asyncio.run(steps())


def test_what_nobody_thought_of_is_answered_and_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def body() -> None:
        async with bench(tmp_path) as one:
            one.drivers.own = lambda name: 1 / 0  # type: ignore[method-assign, assignment, return-value]
            await one.submit()
            with pytest.raises(ZeroDivisionError):  # for the server's own log
                await one.ask("GET", "/v1/topologies")

    asyncio.run(body())
    assert "/v1/topologies failed" in caplog.text
