"""The JSON of every route, and an answer that helps for everything that is wrong with a request."""

from __future__ import annotations

import json
from typing import Any

import pytest

from predictor_service import schemas
from predictor_service.errors import FitTimeoutError, ModelError, PredictorError, UnavailableError
from predictor_service.legacy_routes import PATHS
from tests.unit.predictor_service.asgi import client

GOOD: dict[str, Any] = {"model": "lr", "samples": [1, 2, 3, 4], "horizon": 3, "step_seconds": 1}


def test_a_forecast_has_all_its_fields() -> None:
    answer = client().post("/v1/predict", GOOD)
    assert answer.status == 200
    assert answer.json.pop("fit_seconds") >= 0
    assert {**answer.json, "fit_seconds": 0} == {
        "model": "lr",
        "predictions": [5.0, 6.0, 7.0],
        "total": 18.0,
        "fit_seconds": 0,
        "warnings": [],
    }


def test_the_total_is_of_what_is_given_not_of_what_was_predicted() -> None:
    answer = client().post("/v1/predict", {**GOOD, "samples": [9, 6, 3]}).json
    assert (answer["predictions"], answer["total"]) == ([0.0, 0.0, 0.0], 0.0)
    assert answer["warnings"] == ["2 of 3 predictions were below 0 and are 0"]


@pytest.mark.parametrize("path", PATHS)
def test_old_controllers_get_what_they_know(path: str) -> None:
    answer = client().post(f"/{path}", {"samples": [5, 5, 5, 5.0], "prediction_number": 2, "something": "else"})
    assert (answer.status, answer.json) == (200, {"avg_prediction": 5.0, "predictions": [5.0, 5.0]})


def test_the_average_is_of_the_predictions() -> None:
    answer = client().post("/linear_regression", {"samples": [1, 2, 3], "prediction_number": 3})
    assert answer.json == {"avg_prediction": 5.0, "predictions": [4.0, 5.0, 6.0]}


def raw(**fields: str) -> bytes:
    """The good request, with fields replaced by JSON as written."""
    texts = {**{name: json.dumps(value) for name, value in GOOD.items()}, **fields}
    return ("{" + ", ".join(f'"{name}": {text}' for name, text in texts.items()) + "}").encode()


DIGITS = "9" * 400

WRONG: list[tuple[bytes, str]] = [
    (raw(samples="[]"), "samples: expected a list of 1 to 100,000 finite numbers, oldest first: how many events each step brought; got []"),
    (raw(samples="[1]"), "samples: model 'lr' needs at least 2, got 1; send more, or use 'basic'"),
    (raw(model='"fft"', samples="[1, 2]"), "model 'fft' needs at least 3"),
    (raw(model='"gaussian"', samples=json.dumps([1] * 1001)), "takes at most 1,000, got 1,001; send the newest 1,000"),
    (raw(samples="[1, NaN]"), "samples[1]: expected a finite number from -1e+15 to 1e+15; got NaN"),
    (raw(samples="[1, Infinity]"), "got Infinity"),
    (raw(samples="[-Infinity, 1]"), "samples[0]"),
    (raw(samples="[1, 1e999]"), "got Infinity"),
    (raw(samples="[1, 1e16]"), "got 1e+16"),
    (raw(samples=f"[1, {DIGITS}]"), "got a number of far too many digits"),
    (raw(samples='["1", 2]'), 'samples[0]: expected a finite number from -1e+15 to 1e+15; got "1"'),
    (raw(samples="[true, 2]"), "got true"),
    (raw(samples="[null, 2]"), "got null"),
    (raw(samples="[[1], 2]"), "got [1]"),
    (raw(samples="3"), "samples: expected a list"),
    (raw(samples='"1, 2"'), "samples: expected a list"),
    (raw(samples='{"0": 1}'), "samples: expected a list"),
    (raw(samples=json.dumps([1] * 100_001)), "got a list of 100,001"),
    (raw(horizon="0"), "horizon: expected a whole number of steps from 1 to 10,000; got 0"),
    (raw(horizon="-3"), "got -3"),
    (raw(horizon="2.5"), "got 2.5"),
    (raw(horizon="3.0"), "got 3.0"),
    (raw(horizon="true"), "got true"),
    (raw(horizon='"3"'), 'got "3"'),
    (raw(horizon="10001"), "got 10001"),
    (raw(horizon=DIGITS), "horizon"),
    (raw(horizon="NaN"), "horizon"),
    (raw(step_seconds="0"), "step_seconds: expected a number of seconds above 0"),
    (raw(step_seconds="Infinity"), "step_seconds"),
    (raw(model='"rff"'), "model: there is no 'rff'; did you mean 'rf' or 'fft'?"),
    (raw(model='"' + "x" * 64 + '"'), "there are ann, ann-published, ar, auto, basic"),
    (raw(model='"' + "x" * 5000 + '"'), "model: expected the name of a model, as GET /v1/models lists them, at most 64 characters; got"),
    (raw(model=json.dumps({"a": [1] * 5000})), "[1, 1, 1"),
    (raw(model="7"), "model: expected the name of a model"),
    (raw(model='"\\u0000"'), "model: there is no"),
    (raw(horizn="3"), "'horizn': no such field; did you mean 'horizon'?"),
    (raw(**{"x" * 5000: "3"}), "xxx': no such field; leave it out"),
    (raw(horizn="3", modle="3"), "'horizn': no such field; did you mean 'horizon'?; and 1 more"),
    (b'{"model": "lr", "samples": [1, 2], "horizn": 3}', "'horizn': no such field; did you mean 'horizon'?"),
    (b'{"model": "lr", "samples": [1, 2], "horizn": 3}', "horizon: missing; expected a whole number"),
    (b"{}", "model: missing; expected the name of a model"),
    (b"", "body: expected a JSON object with 'model', 'samples', 'horizon'"),
    (b"[1, 2", "body: expected a JSON object"),
    (b"[]", "got []"),
    (b"null", "got null"),
    (b"\xff\xfe", "body: expected a JSON object"),
    (b'{"model": "\\ud800"}', "body: expected a JSON object"),
    (b"[" * 100_000, "body: expected a JSON object"),
]


@pytest.mark.parametrize(("body", "told"), WRONG, ids=[f"{number}-{told[:30]}" for number, (_, told) in enumerate(WRONG)])
def test_a_wrong_request_is_told_what_to_do(body: bytes, told: str) -> None:
    answer = client().post("/v1/predict", body)
    assert answer.status == 422
    assert told in answer.json["detail"]
    assert len(answer.body) < 1000


def test_any_number_of_unknown_fields_makes_one_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schemas, "_problem", lambda *given: pytest.fail("one problem a field"))
    answer = client().post("/v1/predict", {**GOOD, **{f"field {number}": 0 for number in range(900)}})
    assert (answer.status, answer.json["detail"]) == (422, "'field 0': no such field; leave it out; and 899 more")


@pytest.mark.parametrize("path", ["/v1/predict", "/fft"])
@pytest.mark.parametrize(("mark", "most"), [(":", "1,000"), ("[", "1,000"), (",", "101,000")])
def test_a_body_of_very_many_parts_is_not_even_parsed(path: str, mark: str, most: str) -> None:
    answer = client().post(path, mark.encode() * 200_000)
    assert answer.status == 422
    told = f"; got 200,000 times '{mark}', at most {most} are read; send at most 100,000 samples and no other fields"
    assert answer.json["detail"].endswith(told)


def test_old_routes_refuse_the_same_way() -> None:
    answer = client().post("/fft", {"samples": [1, 2, 3], "prediction_number": 0})
    assert (answer.status, answer.json["detail"]) == (
        422,
        "prediction_number: expected a whole number of steps from 1 to 10,000; got 0",
    )


@pytest.mark.parametrize("kind", ["", "text/plain", "application/x-www-form-urlencoded", "application/jsonx"])
def test_what_is_not_sent_as_json_is_refused(kind: str) -> None:
    answer = client().post("/v1/predict", GOOD, content_type=kind)
    assert answer.status == 415
    assert "Content-Type: application/json" in answer.json["detail"]


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "Application/JSON", "application/vnd.api+json"])
def test_json_by_another_name_is_read(kind: str) -> None:
    assert client().post("/v1/predict", GOOD, content_type=kind).status == 200


@pytest.mark.parametrize(
    ("method", "path", "status", "told"),
    [("GET", "/nothing", 404, "GET /docs"), ("GET", "/v1/predict", 405, "does not take GET"), ("POST", "/healthz", 405, "POST")],
)
def test_a_wrong_page_is_told_where_to_look(method: str, path: str, status: int, told: str) -> None:
    answer = client().call(method, path, [b""])
    assert answer.status == status
    assert told in answer.json["detail"]


@pytest.mark.parametrize(
    ("error", "status", "retry"),
    [(ModelError("a"), 502, None), (UnavailableError("a"), 503, "1"), (FitTimeoutError("a"), 504, None)],
)
def test_what_is_not_the_clients_fault_is_told_apart(error: PredictorError, status: int, retry: str | None) -> None:
    answer = client(error=error).post("/v1/predict", GOOD)
    assert (answer.status, answer.json, answer.headers.get("retry-after")) == (status, {"detail": "a"}, retry)


def test_models_are_listed_with_what_they_need() -> None:
    models = {model["name"]: model for model in client().get("/v1/models").json}
    assert len(models) >= 10
    assert models["fft"]["least_samples"] == 3
    assert models["rf"]["parameters"] == {"random_state": 0}
    assert all(model.keys() == {"name", "about", "parameters", "least_samples", "most_samples"} for model in models.values())


def test_health_tells_how_far_the_start_is() -> None:
    answer = client().get("/healthz")
    assert answer.status == 200
    assert answer.json == {
        "status": "starting",
        "lanes": {"light": {"processes": 1, "ready": 0, "waiting": 0}, "heavy": {"processes": 1, "ready": 0, "waiting": 0}},
    }


def test_requests_are_counted_by_model_and_status() -> None:
    asking = client()
    asking.post("/v1/predict", GOOD)
    asking.post("/v1/predict", {**GOOD, "samples": [1]})
    asking.post("/v1/predict", {**GOOD, "model": "none"})
    text = asking.get("/metrics").body.decode()
    assert 'predictor_requests_total{model="lr",status="200"} 1\n' in text
    assert 'predictor_requests_total{model="lr",status="422"} 1\n' in text
    assert 'predictor_requests_total{model="",status="422"} 1\n' in text
    assert 'predictor_fit_seconds_count{model="lr"} 1\n' in text


def test_the_openapi_page_shows_what_is_sent_and_answered() -> None:
    page = client().get("/openapi.json").json
    operation = page["paths"]["/v1/predict"]["post"]
    assert operation["requestBody"]["content"]["application/json"]["schema"]["required"] == ["model", "samples", "horizon"]
    assert operation["requestBody"]["content"]["application/json"]["schema"]["additionalProperties"] is False
    assert operation["responses"]["200"]["content"]["application/json"]["schema"]["$ref"].endswith("/PredictReply")
    assert {f"/{path}" for path in PATHS} <= page["paths"].keys()
