from __future__ import annotations

import asyncio
import json
import logging
import re
import socket
import ssl
import subprocess
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from pasps.control.forecaster import Forecaster
from pasps.control.predictor_client import PredictorClient
from pasps.control.situation import INPUT, Forecast
from pasps.errors import PredictorError
from tests.integration.predictor_servers import (
    GOOD,
    HORIZON,
    HOST,
    Call,
    Manner,
    Server,
    closed_port,
    drips,
    floods,
    hangs,
    is_no_http,
    leaves,
    leaves_in_the_middle,
    lists,
    lists_artifacts,
    predicts,
    resets,
    says,
    serving,
)
from tests.integration.tcp_peers import until

pytestmark = pytest.mark.integration

SAMPLES = (3.0, 4.0, 5.0, 6.0)
BASIC = (4.0, 5.0, 6.0)
DEADLINE_SECONDS = 0.3


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(test(), 100)

    asyncio.run(bounded())


def client_of(server: Server, token: str | None = None) -> PredictorClient:
    return PredictorClient(lambda: server.url, "ann", token=token)


async def forecast(forecaster: Forecaster, now: float) -> Forecast:
    found = await forecaster.forecast(SAMPLES, HORIZON - DEADLINE_SECONDS, now)
    assert found is not None
    return found


FAULTS: dict[str, tuple[Manner, str]] = {
    "hangs": (hangs, "did not answer within 0.3 s"),
    "drips": (drips, "did not answer within 0.3 s"),
    "leaves": (leaves, "closed the connection without an answer"),
    "leaves in the middle": (leaves_in_the_middle, "closed the connection in the middle of its answer"),
    "resets": (resets, "closed the connection"),
    "no HTTP": (is_no_http, r"answered with what is not HTTP: '220 mail ready"),
    "floods": (floods, "answered with more than 1048576 bytes"),
    "500": (says({"detail": "oh"}, "500 Internal Server Error"), r"answered 500 Internal Server Error: '{\"detail\": \"oh\"}'"),
    "404": (says(b"nothing here", "404 Not Found"), "answered 404 Not Found: 'nothing here'"),
    "422": (says({"detail": "unknown model"}, "422 Unprocessable Content"), "answered 422 .*unknown model"),
    "401": (says({"detail": "token"}, "401 Unauthorized"), "answered 401 Unauthorized"),
    "elsewhere": (says(b"", "302 Found"), "answered 302 Found"),
    "HTML": (says(b"<html>"), "JSON that was not expected, or none .*'<html>'"),
    "NaN": (says(b'{"predictions": [1, NaN, 2]}'), "JSON that was not expected, or none"),
    "null": (predicts(1, None, 2), "got `null`"),
    "text": (predicts(1, "2", 3), "got `str`"),
    "too few": (predicts(1, 2), "answered with 2 predictions, expected 3"),
    "too many": (predicts(1, 2, 3, 4), "answered with 4 predictions, expected 3"),
    "absurd": (predicts(1, 2, 1e300), "prediction 2 is 1e\\+300"),
}


@pytest.mark.parametrize(("manner", "reason"), FAULTS.values(), ids=FAULTS)
def test_a_fault_costs_at_most_the_deadline_and_the_next_good_answer_is_used(
    manner: Manner, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with serving(predicts(*GOOD)) as server:
            client = client_of(server)
            ladder = Forecaster(client, "ann", DEADLINE_SECONDS)
            assert await forecast(ladder, 1.0) == Forecast(1.0, GOOD, "ann")
            server.manner = manner
            last_good = await forecast(ladder, 2.0)
            assert (last_good.source, last_good.predictions, last_good.made_at) == ("last good", GOOD, 1.0)
            assert re.search(reason, last_good.why)
            basic = await forecast(ladder, 20.0)
            assert (basic.source, basic.predictions) == ("basic", BASIC)
            server.manner = predicts(*GOOD)
            assert (await forecast(ladder, 21.0)).source == "predictor"
            await client.close()
        assert len([record for record in caplog.records if record.levelno >= logging.WARNING]) == 2

    run(main)


def test_a_closed_port_is_told_from_one_that_does_not_answer() -> None:
    async def main() -> None:
        client = PredictorClient(lambda: f"http://{HOST}:{closed_port()}", "ann")
        with pytest.raises(PredictorError, match=r"the predictor at http://127\.0\.0\.1:\d+ refused the connection; does it run\?"):
            await client.predict(SAMPLES, HORIZON)

    run(main)


def test_names_of_hosts_are_looked_up() -> None:
    async def main() -> None:
        async with serving(predicts(*GOOD)) as server:
            client = PredictorClient(lambda: server.url.replace(HOST, "localhost"), "ann")
            assert await client.predict(SAMPLES, HORIZON) == GOOD
            await client.close()

    run(main)


def test_a_lookup_that_hangs_is_the_only_one_and_one_that_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    answer, lookups = threading.Event(), []

    def slow(host: str, *_: object, **__: object) -> None:  # a stand-in, because no test asks a name server
        lookups.append(host)
        answer.wait(10)
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", slow)

    async def main() -> None:
        client = PredictorClient(lambda: "http://predictor.example", "ann")
        ladder = Forecaster(client, "ann", 0.05)
        assert [(await forecast(ladder, now)).why for now in (1.0, 2.0)] == ["the predictor did not answer within 0.05 s"] * 2
        answer.set()
        with pytest.raises(PredictorError, match=r"no host is named 'predictor\.example' \(Name or service not known\)"):
            await client.predict(SAMPLES, HORIZON)
        assert lookups == ["predictor.example"]

    run(main)


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://{HOST}:{closed_port()}")

    async def main() -> None:
        async with serving(predicts(*GOOD)) as server:
            assert await client_of(server).predict(SAMPLES, HORIZON) == GOOD

    run(main)


def test_the_question_carries_model_samples_horizon_and_token() -> None:
    async def main() -> None:
        async with serving(predicts(*GOOD)) as server:
            client = client_of(server, token="s3cret")
            await client.predict(SAMPLES, HORIZON)
            await client.close()
        call = server.calls[0]
        assert call.line == "POST /v1/predict HTTP/1.1"
        assert call.headers["authorization"] == "bearer s3cret"
        assert call.body == b'{"model":"ann","samples":[3.0,4.0,5.0,6.0],"horizon":3,"step_seconds":1}'

    run(main)


def test_the_least_number_of_samples_is_learned_once_and_beside_the_answer() -> None:
    async def main() -> None:
        async with serving(predicts(*GOOD), models=hangs) as server:
            client = client_of(server)
            assert await client.predict(SAMPLES, HORIZON) == GOOD  # though /v1/models hangs
            await until(lambda: len(server.calls) == 2, "the question for the models")
            assert client.least_samples is None
            await client.close()
            server.models = lists(7)
            for _ in range(3):
                await client.predict(SAMPLES, HORIZON)
                await until(lambda: client.least_samples == 7, "the least number of samples")
        asked = [call.line.split()[1] for call in server.calls]
        assert asked.count("/v1/models") == 2

    run(main)


def test_a_refusal_for_too_few_samples_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with serving(says({"detail": "too few"}, "422 Unprocessable Content"), models=lists(10)) as server:
            ladder = Forecaster(client_of(server), "ann", DEADLINE_SECONDS)
            for now in (1.0, 2.0):
                found = await forecast(ladder, now)
                assert (found.source, found.why) == ("basic", "the model 'ann' needs 10 samples, there are 4")
        assert [call.line.split()[1] for call in server.calls] == ["/v1/predict", "/v1/models"]
        assert not [record for record in caplog.records if record.levelno >= logging.WARNING]

    run(main)


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """A certificate of 127.0.0.1 that only those trust who are told to, and its key."""
    made, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=test".split()
    subprocess.run(
        [*command, "-addext", f"subjectAltName=IP:{HOST}", "-keyout", key, "-out", made], check=True, capture_output=True, timeout=20
    )
    return made, key


@pytest.mark.parametrize("trusted", [True, False])
def test_https_is_spoken_with_those_that_can_be_trusted(
    trusted: bool, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(*certificate)

    async def main() -> None:
        async with serving(predicts(*GOOD), tls=tls) as server:
            client = client_of(server)
            if trusted:
                assert await client.predict(SAMPLES, HORIZON) == GOOD
            else:
                with pytest.raises(PredictorError, match=r"no secure connection \(.*certificate verify failed"):
                    await client.predict(SAMPLES, HORIZON)
            await client.close()

    run(main)


def test_who_asks_whether_it_is_ready_sends_no_token() -> None:
    async def main() -> None:
        async with serving(says({"status": "ready"})) as server:
            assert await client_of(server, token="s3cret").ready()
        (call,) = server.calls
        assert call.line == "GET /healthz HTTP/1.1"
        assert "authorization" not in call.headers

    run(main)


def sums_of(call: Call) -> list[dict[str, object]]:
    asked = json.loads(call.body)
    assert (asked["model"], asked["horizon"], asked["quantiles"]) == ("ann", HORIZON, [0.5, 0.9])
    return [
        {"id": one["id"], "mean": [one["samples"][-1]] * HORIZON, "cumulative_quantiles": [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]], "more": 1}
        for one in asked["series"]
    ]


def test_several_series_are_asked_for_at_once_whatever_their_names_are() -> None:
    async def sums(call: Call) -> None:
        assert call.line.startswith("POST /v2/forecast ")
        call.send(json.dumps({"quantiles": [0.5, 0.9], "series": sums_of(call)[::-1]}).encode())

    async def main() -> None:
        async with serving(sums) as server:
            found = await client_of(server).predict_series({"": [1.0, 2.0], "a b": [7.0]}, HORIZON, (0.5, 0.9))
            assert {name: one.mean for name, one in found.items()} == {"": (2.0,) * 3, "a b": (7.0,) * 3}
            assert found[""].cumulative_quantiles == {0.5: (1.0, 2.0, 3.0), 0.9: (2.0, 4.0, 6.0)}
            assert len(server.calls) == 1

    asyncio.run(main())


def test_a_service_that_knows_one_series_at_a_time_is_asked_for_each() -> None:
    async def older(call: Call) -> None:
        if "/v2/" in call.line:
            call.send(b"nothing here", "404 Not Found")
        else:
            call.send(json.dumps({"predictions": [json.loads(call.body)["samples"][0]] * HORIZON}).encode())

    async def main() -> None:
        async with serving(older) as server:
            client = client_of(server)
            found = await client.predict_series({"": [1.0], "a": [7.0]}, HORIZON, (0.5,))
            assert {name: (one.mean, one.cumulative_quantiles) for name, one in found.items()} == {
                "": ((1.0,) * 3, {}),
                "a": ((7.0,) * 3, {}),
            }
            await client.close()

    asyncio.run(main())


def test_who_has_too_few_samples_of_several_series_learns_how_many_are_needed(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with serving(says({"detail": "too few"}, "422 Unprocessable Content"), models=lists(10)) as server:
            client = client_of(server)
            ladder = Forecaster(client, "ann", DEADLINE_SECONDS)
            made = await ladder.forecast_series({INPUT: SAMPLES}, HORIZON - DEADLINE_SECONDS, 100.0, (0.5,))
            assert (made[INPUT].predictions, made[INPUT].why) == (BASIC, "the model 'ann' needs 10 samples, there are 4")
            assert [call.line.split()[1] for call in server.calls] == ["/v2/forecast", "/v1/models"]
            await client.close()

    run(test)
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.parametrize("body", [b"{}", b'{"quantiles": [], "series": [{"id": "0"}]}', b'{"quantiles": [NaN], "series": []}'])
def test_what_is_no_forecast_of_series_is_refused(body: bytes) -> None:
    async def main() -> None:
        async with serving(says(body)) as server:
            with pytest.raises(PredictorError, match="JSON that was not expected"):
                await client_of(server).predict_series({"": [1.0]}, HORIZON, ())

    asyncio.run(main())


# ---- what was trained


ANSWER = {"id": "0", "mean": GOOD, "cumulative_quantiles": []}


def trained_client(server: Server) -> PredictorClient:
    return PredictorClient(lambda: server.url, "gru@mine")


def test_what_was_trained_is_asked_for_by_its_name_and_its_window_is_learned() -> None:
    async def main() -> None:
        async with serving(says({"quantiles": [], "series": [ANSWER]}), lists_artifacts(other=9, mine=48, bad=None)) as server:
            client = trained_client(server)
            assert await client.predict(SAMPLES, HORIZON) == GOOD
            await until(lambda: client.least_samples == 48, "window")
            assert (await client.predict_series({"": SAMPLES}, HORIZON, (0.5,)))[""].mean == GOOD
            await client.close()
            assert sorted(call.line.split()[1] for call in server.calls) == ["/v1/artifacts", "/v2/forecast", "/v2/forecast"]
            questions = [json.loads(call.body) for call in server.calls if call.body]
            assert [(asked["model"], asked["artifact"]) for asked in questions] == [("gru", "mine")] * 2

    run(main)


def test_fewer_samples_than_its_window_are_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        refuses = says({"detail": "series[0].samples: artifact 'mine' needs its window of 48"}, "422 Unprocessable Content")
        async with serving(refuses, lists_artifacts(mine=48)) as server:
            client = trained_client(server)
            made = await forecast(Forecaster(client, "gru@mine", DEADLINE_SECONDS), 1.0)
            assert (made.source, made.why) == ("basic", "the model 'gru@mine' needs 48 samples, there are 4")
            await client.close()
        assert not [record for record in caplog.records if record.levelno >= logging.WARNING]

    run(main)


UNTRAINED = {
    "no such page": (says(b"", "404 Not Found"), "knows no trained models: it has no /v2/forecast"),
    "nothing of it": (says({"quantiles": [], "series": []}), "says nothing of the series that it was asked for"),
    "another series": (
        says({"quantiles": [], "series": [{"id": "7", "mean": [1], "cumulative_quantiles": []}]}),
        "says nothing of the series that it was asked for",
    ),
    "no such artifact": (says({"detail": "artifact: there is no 'mine'"}, "422 Unprocessable Content"), "there is no .*mine"),
}


@pytest.mark.parametrize(("manner", "reason"), UNTRAINED.values(), ids=UNTRAINED)
def test_a_service_that_does_not_have_it_is_a_failure_in_words(manner: Manner, reason: str) -> None:
    async def main() -> None:
        async with serving(manner, lists_artifacts()) as server:
            client = trained_client(server)
            with pytest.raises(PredictorError, match=reason):
                await client.predict(SAMPLES, HORIZON)
            await client.close()

    run(main)
