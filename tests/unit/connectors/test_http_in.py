"""The HTTP spout on a clock that stands still: when a request is answered, and with what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from pasps.errors import InvalidError
from tests.unit.connectors.http_runs import HttpRun, NoServer, Note, Posts, without_a_server

pytestmark = pytest.mark.usefixtures("_no_server")


@pytest.fixture
def _no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    without_a_server(monkeypatch)
    monkeypatch.delenv("PASPS_HTTP_TOKEN", raising=False)


def test_a_request_is_answered_when_its_last_event_is_acked() -> None:
    with HttpRun() as run:
        Note.shut = True
        reply = run.post([{"n": 1}, {"n": 2, "fails": True}, {"n": 3}])
        run.advance(1.0)
        assert len(run.emitted()) == 3
        assert reply.status == 0
    with HttpRun() as run:
        reply = run.post([{"n": 1}, {"n": 2, "fails": True}, {"n": 3}])
        run.advance(1.0)
        assert (reply.status, reply.body) == (200, {"events": 3})
        assert sorted(event["n"] for event in run.done()) == [1, 2, 3]
        assert len(run.emitted()) == 4, "what failed was emitted again"
        assert (run.spout.collector.sent, run.spout.meter.replayed) == (4, 1)


def test_an_event_has_the_key_of_its_request_and_its_place_in_it() -> None:
    with HttpRun() as run:
        replies = [run.post({"n": 1}, key='"order-17"'), run.post([{}, {}], key="order-18"), run.post({})]
        run.advance(0.5)
        assert [reply.status for reply in replies] == [200, 200, 200]
        assert run.ids()[:3] == ["order-17:0", "order-18:0", "order-18:1"]
        assert len(run.ids()[3]) == len("0123456789abcdef:0")


def test_an_event_that_fails_too_often_fails_its_request() -> None:
    with HttpRun(tries=3) as run:
        Note.failures = 10**6
        reply = run.post([{"n": 1}, {"n": 2, "fails": True}])
        run.advance(1.0)
        assert reply.status == 500
        assert reply.body["detail"].startswith("event 1: it failed as often as it may ('http.tries')")
        assert len(run.emitted()) == 4
        assert run.post({"n": 3}).status == 0
        run.advance(0.5)
        assert len(run.done()) == 2, "others are not held up"


@pytest.mark.parametrize("jump", [3600.0, -3600.0])
def test_an_event_has_waited_as_long_as_it_did_whoever_sets_the_wall_clock_meanwhile(jump: float) -> None:
    with HttpRun() as run:
        Note.shut = True
        run.post({"n": 1})
        run.advance(2.0)
        run.run.clock.set_wall(jump)
        Note.shut = False
        run.advance(1.0)
        latencies = run.spout.fates.histogram
        assert latencies.count == 1
        assert 2.0 <= latencies.total <= 2.2


def test_a_request_that_is_not_done_in_time_is_told_so_and_forgotten() -> None:
    with HttpRun(timeout_seconds=5, pending=10) as run:
        Note.shut = True
        reply = run.post([{}] * 10)
        run.advance(4.9)
        assert reply.status == 0
        run.advance(0.5)
        assert (reply.status, reply.body["detail"][:20]) == (504, "not done within 5 s ")
        Note.shut = False
        again = run.post([{}] * 10)
        run.advance(1.0)
        assert again.status == 200, "its room was given back"
        run.advance(35.0)
        assert len(run.emitted()) == 20, "nothing of the first one is emitted again"


def test_a_request_that_nobody_waits_for_any_more_when_it_is_looked_at_is_not_emitted() -> None:
    with HttpRun(timeout_seconds=5, pending=1) as run:
        late = run.post({"n": 1})
        run.run.clock.advance(6.0)
        run.turn()
        assert late.status == 504
        run.advance(0.1)
        again = run.post({"n": 2})
        run.advance(0.5)
        assert again.status == 200, "its room was given back, once"
        assert run.emitted() == [{"n": 2}]
        assert [run.post({"n": 3}).status, run.post({"n": 4}).status] == [0, 503]


def test_what_is_held_back_waits_and_then_gets_503() -> None:
    with HttpRun(pending=5) as run:
        run.spout.max_pending = 2
        Note.shut = True
        waiting = [run.post({"n": number}) for number in range(5)]
        run.advance(1.0)
        assert run.spout.instance.backlog() == 5 - len(run.emitted()) == 3
        refused = run.post({"n": 5})
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        assert "'http.pending'" in refused.body["detail"]
        assert [reply.status for reply in waiting] == [0] * 5
        run.spout.max_pending, Note.shut = None, False
        run.spout.wake()
        run.advance(1.0)
        assert [reply.status for reply in waiting] == [200] * 5


def test_latency_counts_from_the_arrival() -> None:
    with HttpRun() as run:
        run.spout.max_pending = 1
        Note.shut = True
        run.post({"n": 0})
        run.advance(0.5)
        run.post({"n": 1})
        run.advance(2.0)
        Note.shut = False
        run.spout.max_pending = 2
        run.spout.wake()
        run.advance(0.1)
        assert run.spout.fates.histogram.total == pytest.approx(2.6 + 2.1, abs=0.2)


def test_deactivated_it_refuses_and_what_is_in_flight_is_still_answered() -> None:
    with HttpRun() as run:
        Note.shut = True
        flying = run.post({"n": 0})
        run.advance(0.5)
        run.spout.max_pending = 1
        waiting = run.post({"n": 1})
        run.advance(0.5)
        assert run.ask("GET", [], {}).status == 200
        run.run.workers["w0"].deactivate()
        run.advance(0.1)
        assert (flying.status, waiting.status) == (0, 503)
        refused = run.post({"n": 2})
        assert (refused.status, refused.body["detail"].partition(":")[0]) == (503, "the topology is not active")
        assert run.ask("GET", [], {}).status == 503
        Note.shut = False
        run.advance(0.5)
        assert flying.status == 200


def test_what_fails_while_it_is_deactivated_is_refused() -> None:
    with HttpRun(timeout_seconds=1000) as run:
        Note.shut = True
        reply = run.post({"n": 0})
        run.advance(0.5)
        run.run.workers["w0"].deactivate()
        run.advance(25.0)
        assert reply.status == 503
        assert len(run.emitted()) == 1


def test_closing_answers_what_is_open_and_ends_the_server() -> None:
    with HttpRun() as run:
        Note.shut = True
        reply = run.post({"n": 0})
        run.advance(0.5)
        run.spout.instance.close()
        run.turn()
        assert reply.status == 503
        assert not NoServer.made[-1].alive()


class Checked(Posts):
    outputs = ("event", "id")

    def values(self, event: dict[str, Any], event_id: str) -> Sequence[Any]:
        if event["n"] == 13:
            raise LookupError("not yet")
        if event["n"] < 0:
            raise ValueError("'n' must be at least 0")
        return event["n"], event_id


def test_a_subclass_refuses_events_with_its_own_words_and_none_of_their_request_is_emitted() -> None:
    with HttpRun(shape=Checked) as run:
        good, bad, broken = run.post([{"n": 1}]), run.post([{"n": 2}, {"n": -1}]), run.post([{"n": 13}])
        run.advance(2.0)
        assert (good.status, run.emitted()) == (200, [1])
        assert (bad.status, bad.body) == (400, {"detail": "event 1: 'n' must be at least 0"})
        assert (broken.status, broken.body["detail"]) == (500, "event 0: the topology could not read it; its errors say why")
        assert [text.strip().splitlines()[-1] for text in run.errors()] == ["LookupError: not yet"]
        late = run.post([{"n": 4}])
        run.advance(0.5)
        assert late.status == 200


class Wrong(Posts):
    def values(self, event: dict[str, Any], event_id: str) -> Sequence[Any]:
        return (event,)


def test_rows_that_fit_no_stream_are_a_500() -> None:
    with HttpRun(shape=Wrong) as run:
        reply = run.post({"n": 1})
        run.advance(1.0)
        assert reply.status == 500
        assert "EmitError" in run.errors()[0]


def test_after_a_crash_nothing_is_emitted_again() -> None:
    with HttpRun(workers=2) as run:
        for _ in range(3):
            run.post([{}] * 10)
        run.advance(0.5)
        Note.shut = True
        run.post([{}] * 10)
        run.advance(0.5)
        victim = next(name for name, worker in run.run.workers.items() if worker.residents.spouts)
        run.run.kill(victim)
        run.run.restart(victim)
        Note.shut = False
        run.advance(0.5)
        again = run.post([{}] * 10)
        run.advance(0.5)
        assert again.status == 200
        assert (run.spout.collector.sent, run.spout.meter.replayed) == (10, 0)


def test_a_server_that_ended_is_started_again() -> None:
    with HttpRun() as run:
        NoServer.made[-1].stop()
        run.advance(1.5)
        assert len(NoServer.made) == 2
        reply = run.post({"n": 1})
        run.advance(0.5)
        assert reply.status == 200


def test_beyond_loopback_it_starts_with_a_token_alone() -> None:
    with pytest.raises(InvalidError, match=r"'http.host' is '0.0.0.0', which others can reach, and there is no token"):
        HttpRun(host="0.0.0.0")
    with HttpRun(host="0.0.0.0", token="secret") as run:
        assert run.post({"n": 1}).status == 401
        assert run.post({"n": 1}, token="wrong").status == 401
        reply = run.post({"n": 1}, token="secret")
        run.advance(0.5)
        assert reply.status == 200
