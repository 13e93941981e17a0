"""`POST /v2/forecast` with an artifact, and `GET /v1/artifacts`."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from predictor_service.errors import SettingsError, UnavailableError
from predictor_service.settings import Settings
from predictor_service.trained.artifacts import MANIFEST_NAME, WEIGHTS_NAME
from tests.unit.predictor_service.artifact_builder import HORIZON, WINDOW, replace_weights, spoil_manifest, toy, toy_artifact, toy_rows
from tests.unit.predictor_service.asgi import Answer, client

SAMPLES = list(toy_rows()[-20:])


def asked(directory: Path, **fields: Any) -> Answer:
    body: dict[str, Any] = {"series": [{"id": "input", "samples": SAMPLES}], "horizon": HORIZON, "artifact": "mine", **fields}
    return client(artifacts=directory).post("/v2/forecast", {name: value for name, value in body.items() if value is not ...})


def series(**fields: Any) -> list[dict[str, Any]]:
    return [{"id": "input", "samples": SAMPLES, **fields}]


def test_an_artifact_is_answered_by_its_name(tmp_path: Path) -> None:
    answer = asked(toy_artifact(tmp_path), quantiles=[0.1, 0.9])
    assert answer.status == 200
    (one,) = answer.json["series"]
    assert (one["model"], one["artifact"], one["warnings"]) == ("gru", "mine", [])
    assert len(one["mean"]) == HORIZON
    low, high = one["cumulative_quantiles"]
    assert low[-1] < sum(one["mean"]) < high[-1]


def test_its_model_may_be_named_too_and_must_be_right(tmp_path: Path) -> None:
    toy_artifact(tmp_path)
    assert asked(tmp_path, model="gru").status == 200
    assert asked(tmp_path, model=None).status == 200
    answer = asked(tmp_path, model="lstm")
    assert (answer.status, answer.json["detail"]) == (422, "model: artifact 'mine' is a 'gru', got 'lstm'; leave 'model' out")


def test_without_an_artifact_nothing_has_changed(tmp_path: Path) -> None:
    answer = asked(toy_artifact(tmp_path), artifact=None, model="ses")
    assert (answer.json["series"][0]["model"], answer.json["series"][0]["artifact"]) == ("ses", None)


def test_several_series_are_answered_in_their_places(tmp_path: Path) -> None:
    many = [{"id": str(place), "samples": [sample + place for sample in SAMPLES]} for place in range(5)]
    answer = asked(toy_artifact(tmp_path), series=many)
    assert [one["id"] for one in answer.json["series"]] == ["0", "1", "2", "3", "4"]
    alone = asked(tmp_path, series=[many[3]])
    assert alone.json["series"][0]["mean"] == answer.json["series"][3]["mean"]


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"artifact": "other"}, "artifact: there is no 'other'; there are mine"),
    ({"artifact": "../mine"}, "artifact: expected a name that begins with a letter"),
    ({"artifact": "/"}, "artifact: expected a name that begins with a letter"),
    ({"artifact": ""}, "artifact: expected the name of a trained model"),
    ({"artifact": "a" * 201}, "artifact: expected the name of a trained model"),
    ({"artifact": "mine\x00"}, "artifact: expected a name that begins with a letter"),
    ({"artifact": ["mine"]}, "artifact: expected the name of a trained model"),
    ({"model": "bigru", "artifact": None}, "model: 'bigru' is trained beforehand; name an 'artifact' of POST /v2/forecast: mine"),
    (
        {"series": series(step_seconds=5)},
        "series[0].step_seconds: artifact 'mine' was trained on steps of 1 s, got 5; send samples of such",
    ),
    ({"series": series(samples=SAMPLES[:7])}, "series[0].samples: artifact 'mine' needs its window of 8, got 7; send more"),
    ({"series": [*series(), {"id": "b", "samples": [1]}]}, "series[1].samples: artifact 'mine' needs its window of 8, got 1"),
]


@pytest.mark.parametrize(("fields", "told"), WRONG, ids=[f"{number}-{told[:30]}" for number, (_, told) in enumerate(WRONG)])
def test_a_wrong_request_is_told_what_and_where(fields: dict[str, Any], told: str, tmp_path: Path) -> None:
    answer = asked(toy_artifact(tmp_path), **fields)
    assert answer.status == 422
    assert told in answer.json["detail"]
    assert len(answer.body) < 1_000


def test_a_trained_model_is_none_of_the_first_version(tmp_path: Path) -> None:
    answer = client(artifacts=toy_artifact(tmp_path)).post("/v1/predict", {"model": "bigru", "samples": SAMPLES, "horizon": 3})
    assert (answer.status, "name an 'artifact' of POST /v2/forecast: mine" in answer.json["detail"]) == (422, True)


def test_exactly_its_window_is_enough(tmp_path: Path) -> None:
    toy_artifact(tmp_path)
    whole, least = asked(tmp_path), asked(tmp_path, series=series(samples=SAMPLES[-WINDOW:]))
    assert least.json["series"][0]["mean"] == whole.json["series"][0]["mean"]


def test_one_that_is_broken_is_refused_and_the_others_are_served(tmp_path: Path) -> None:
    toy_artifact(tmp_path)
    path = toy_artifact(tmp_path, "bad") / "bad"
    replace_weights(path, b"nothing")
    answer = asked(tmp_path, artifact="bad")
    assert (answer.status, answer.json["detail"][:41]) == (422, "series[0] ('input'): artifact 'bad': weig")
    spoil_manifest(path, {"window": "all"})
    answer = asked(tmp_path, artifact="bad")
    assert (answer.status, "window: Input should be a valid integer" in answer.json["detail"]) == (422, True)
    assert asked(tmp_path).status == 200


def test_what_is_trained_while_the_service_runs_is_there(tmp_path: Path) -> None:
    asking = client(artifacts=tmp_path)
    body = {"series": series(), "horizon": 3, "artifact": "mine"}
    assert asking.post("/v2/forecast", body).status == 422
    toy_artifact(tmp_path)
    first = asking.post("/v2/forecast", body)
    assert first.status == 200
    for name in (MANIFEST_NAME, WEIGHTS_NAME):
        (tmp_path / "mine" / name).unlink()
    (tmp_path / "mine").rmdir()
    toy_artifact(tmp_path, model="arima")
    second = asking.post("/v2/forecast", body)
    assert (first.json["series"][0]["model"], second.json["series"][0]["model"]) == ("gru", "arima")


def test_requests_are_counted_by_model(tmp_path: Path) -> None:
    asking = client(artifacts=toy_artifact(tmp_path))
    asking.post("/v2/forecast", {"series": series(), "horizon": 3, "artifact": "mine"})
    asking.post("/v2/forecast", {"series": series(), "horizon": 3, "artifact": "none"})
    text = asking.get("/metrics").body.decode()
    assert 'predictor_requests_total{model="gru",status="200"} 1\n' in text
    assert 'predictor_requests_total{model="",status="422"} 1\n' in text


def test_what_fails_says_for_which_series(tmp_path: Path) -> None:
    asking = client(artifacts=toy_artifact(tmp_path), error=UnavailableError("no process was free"))
    answer = asking.post("/v2/forecast", {"series": series(), "horizon": 3, "artifact": "mine"})
    assert (answer.status, answer.json["detail"]) == (503, "series[0] ('input'): no process was free")


def test_the_list_says_what_each_needs_and_how_good_it_is(tmp_path: Path) -> None:
    toy_artifact(tmp_path)
    spoil_manifest(toy_artifact(tmp_path, "bad") / "bad", {"version": 9})
    bad, mine = client(artifacts=tmp_path).get("/v1/artifacts").json
    assert bad["name"] == "bad"
    assert "version: Input should be 1" in bad["problem"]
    assert bad["window"] is None
    assert {name: mine[name] for name in ("name", "problem", "model", "window", "horizon", "step_seconds", "trace")} == {
        "name": "mine", "problem": None, "model": "gru", "window": 8, "horizon": 3, "step_seconds": 1.0, "trace": "toy.csv",
    }  # fmt: skip
    assert mine["metrics"] == json.loads(toy("gru").manifest.metrics.model_dump_json())


def test_without_a_directory_the_list_is_empty() -> None:
    assert client().get("/v1/artifacts").json == []


def test_a_directory_that_vanishes_is_told(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    asking = client(artifacts=tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    answer = asking.get("/v1/artifacts")
    assert (answer.status, "the directory of artifacts cannot be read" in answer.json["detail"]) == (422, True)


def test_a_directory_that_is_not_there_is_refused_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"--artifacts .*gone: expected a directory of trained models, there is none"):
        Settings(artifacts=tmp_path / "gone")


def test_a_step_may_differ_by_what_floats_differ(tmp_path: Path) -> None:
    toy_artifact(tmp_path)
    assert asked(tmp_path, series=series(step_seconds=math.nextafter(1.0, 2.0))).status == 200
