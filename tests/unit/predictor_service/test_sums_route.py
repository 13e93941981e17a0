"""`POST /v2/forecast`: what is answered, and what is said of a request that is wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest

from predictor_service.errors import UnavailableError
from predictor_service.schemas import MOST_ANSWERED
from tests.unit.predictor_service.asgi import client

SAMPLES = [10.0 + step * 7 % 5 for step in range(80)]
ONE = {"id": "input", "samples": SAMPLES}
GOOD: dict[str, Any] = {"series": [ONE], "horizon": 5, "model": "ses"}


def test_each_series_is_answered_in_its_place() -> None:
    other = {"id": "parse", "samples": [3, 4] * 20, "end_time": 1_700_000_000.5, "step_seconds": 5}
    answer = client().post("/v2/forecast", {**GOOD, "series": [ONE, other], "quantiles": [0.9, 0.1]})
    assert answer.status == 200
    assert answer.json["quantiles"] == [0.9, 0.1]
    first, second = answer.json["series"]
    assert (first["id"], first["model"], first["step_seconds"], first["end_time"]) == ("input", "ses", 1.0, None)
    assert (second["id"], second["step_seconds"], second["end_time"]) == ("parse", 5.0, 1_700_000_000.5)
    assert len(first["mean"]) == 5
    high, low = first["cumulative_quantiles"]
    assert all(below <= above for below, above in zip(low, high, strict=True))
    assert low[-1] <= sum(first["mean"]) <= high[-1]
    assert answer.json["series"][0]["warnings"] == []


def test_the_mean_is_what_the_first_version_predicts() -> None:
    asking = client()
    second = asking.post("/v2/forecast", {**GOOD, "model": "holt"}).json["series"][0]["mean"]
    assert second == asking.post("/v1/predict", {"model": "holt", "samples": SAMPLES, "horizon": 5}).json["predictions"]


def test_quantiles_may_be_left_out_or_not_be_wanted() -> None:
    assert client().post("/v2/forecast", GOOD).json["quantiles"] == [0.1, 0.5, 0.9]
    assert client().post("/v2/forecast", {**GOOD, "quantiles": []}).json["series"][0]["cumulative_quantiles"] == []


def series(**fields: Any) -> dict[str, Any]:
    return {**GOOD, "series": [{**ONE, **fields}]}


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"horizon": 3, "model": "ses"}, "series: missing; expected a list of 1 to 100 objects, each with 'id' and 'samples'"),
    ({**GOOD, "series": []}, "series: expected a list of 1 to 100 objects"),
    ({**GOOD, "series": [ONE] * 101}, "series: expected a list of 1 to 100 objects"),
    ({**GOOD, "series": [[1, 2]]}, "series[0]: expected an object with 'id' and 'samples'; got [1, 2]"),
    ({**GOOD, "series": [{"samples": [1]}]}, "series[0].id: missing; expected what you call the series"),
    ({**GOOD, "series": [ONE, ONE]}, 'series[1].id: "input" is the id of series[0] too; give each series an id of its own'),
    (series(id=""), "series[0].id: expected what you call the series, 1 to 200 characters"),
    (series(id=7), "series[0].id: expected"),
    (series(samples=[]), "series[0].samples: expected a list of 1 to 100,000 finite numbers"),
    (series(samples=[1, "2"]), 'series[0].samples[1]: expected a finite number from -1e+15 to 1e+15; got "2"'),
    (series(samples=[1, None]), "series[0].samples[1]: expected a finite number"),
    (series(step_seconds=0), "series[0].step_seconds: expected a number of seconds above 0"),
    (series(end_time="now"), "series[0].end_time: expected when the last step ended, in seconds since 1970"),
    (series(endtime=3), "series[0]: 'endtime': no such field; did you mean 'end_time'?"),
    ({**GOOD, "horizon": 0}, "horizon: expected a whole number of steps from 1 to 3,600; got 0"),
    ({**GOOD, "horizon": 3_601}, "got 3601"),
    ({**GOOD, "quantiles": [0.5, 1]}, "quantiles[1]: expected a number between 0 and 1; got 1"),
    ({**GOOD, "quantiles": [90]}, "quantiles[0]: expected a number between 0 and 1; got 90"),
    ({**GOOD, "quantiles": 0.9}, "quantiles: expected a list of up to 19 numbers between 0 and 1"),
    ({**GOOD, "quantile": [0.9]}, "'quantile': no such field; did you mean 'quantiles'?"),
    ({**GOOD, "artifact": "mine"}, "artifact: there is no 'mine': this service was given no artifacts; start it with --artifacts DIR"),
    ({**GOOD, "artifact": 3}, "artifact: expected the name of a trained model, as GET /v1/artifacts lists them, or null; got 3"),
    ({**GOOD, "model": None}, "model: missing; expected the name of a model, as GET /v1/models lists them"),
    ({**GOOD, "model": "bigru"}, "model: 'bigru' is trained beforehand; name an 'artifact' of POST /v2/forecast"),
    ({**GOOD, "model": "sess"}, "model: there is no 'sess'; did you mean 'ses'?"),
    ({**GOOD, "model": "ar", "series": [ONE, {"id": "b", "samples": [1]}]}, "series[1].samples: model 'ar' needs at least 8, got 1"),
]


@pytest.mark.parametrize(("body", "told"), WRONG, ids=[f"{number}-{told[:30]}" for number, (_, told) in enumerate(WRONG)])
def test_a_wrong_request_is_told_what_and_where(body: dict[str, Any], told: str) -> None:
    answer = client().post("/v2/forecast", body)
    assert answer.status == 422
    assert told in answer.json["detail"]
    assert len(answer.body) < 1_000


def test_an_answer_of_too_many_numbers_is_refused_before_anything_is_fitted() -> None:
    many = [{"id": str(place), "samples": [1, 2, 3]} for place in range(100)]
    body = {"series": many, "horizon": 3_600, "model": "ses"}
    answer = client(error=UnavailableError("fitted")).post("/v2/forecast", body)
    assert answer.status == 422
    assert (
        f"an answer has at most {MOST_ANSWERED:,} numbers; 100 series of 3,600 steps with 3 quantiles make 1,440,000"
        in answer.json["detail"]
    )


def test_what_fails_says_for_which_series() -> None:
    answer = client(error=UnavailableError("no process was free")).post("/v2/forecast", GOOD)
    assert (answer.status, answer.json["detail"]) == (503, "series[0] ('input'): no process was free")
    assert answer.headers["retry-after"] == "1"


def test_requests_are_counted_once_and_fits_by_series() -> None:
    asking = client()
    asking.post("/v2/forecast", {**GOOD, "series": [ONE, {**ONE, "id": "other"}]})
    text = asking.get("/metrics").body.decode()
    assert 'predictor_requests_total{model="ses",status="200"} 1\n' in text
    assert 'predictor_fit_seconds_count{model="ses"} 2\n' in text


def test_the_openapi_page_shows_what_is_sent_and_answered() -> None:
    operation = client().get("/openapi.json").json["paths"]["/v2/forecast"]["post"]
    assert operation["requestBody"]["content"]["application/json"]["schema"]["required"] == ["series", "horizon"]
    assert operation["responses"]["200"]["content"]["application/json"]["schema"]["$ref"].endswith("/ForecastReply")


def test_a_body_of_very_many_parts_is_not_even_parsed() -> None:
    body = json.dumps({**GOOD, "series": [{"id": str(place), "samples": [1]} for place in range(2_000)]})
    assert "times ':', at most 1,000 are read" in client().post("/v2/forecast", body.encode()).json["detail"]
