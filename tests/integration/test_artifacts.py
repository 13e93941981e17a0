"""What was trained, served by real processes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.predictor_service_process import Service
from tests.integration.run_process import pasps
from tests.unit.predictor_service.artifact_builder import replace_weights, spoil_manifest, toy_artifact, toy_rows

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def artifacts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("artifacts")
    for name, model in (("mine", "bigru"), ("lines", "arima"), ("vectors", "svr")):
        toy_artifact(folder, name, model)
    replace_weights(toy_artifact(folder, "bad") / "bad", b"nothing at all")
    return folder


@pytest.fixture(scope="module")
def service(artifacts: Path) -> Iterator[Service]:
    running = Service("--workers", "2", "--artifacts", str(artifacts))
    running.wait_ready()
    yield running
    running.clean_up()


def asked(service: Service, name: str, **fields: object) -> tuple[int, dict[str, object]]:
    series = [{"id": "input", "samples": list(toy_rows()[-20:])}]
    status, answer = service.call("POST", "/v2/forecast", {"series": series, "horizon": 3, "artifact": name, **fields})
    return status, answer["series"][0] if status == 200 else answer


def test_each_kind_is_served_by_every_process(service: Service) -> None:
    for name in ("mine", "lines", "vectors"):
        first = asked(service, name)[1]
        assert first["artifact"] == name
        assert all(math.isfinite(value) for value in first["mean"])
        assert [asked(service, name)[1]["mean"] for _ in range(4)] == [first["mean"]] * 4


def test_a_broken_one_is_refused_and_costs_no_process(service: Service) -> None:
    before = {process.pid for process in service.fitting()}
    status, answer = asked(service, "bad")
    assert (status, "artifact 'bad': weights.npz" in answer["detail"]) == (422, True)
    assert asked(service, "mine")[0] == 200
    assert {process.pid for process in service.fitting()} == before


def test_one_that_is_made_while_the_service_runs_is_served(service: Service, artifacts: Path) -> None:
    assert asked(service, "later")[0] == 422
    toy_artifact(artifacts, "later", "lstm")
    assert asked(service, "later")[1]["model"] == "lstm"
    spoil_manifest(artifacts / "later", {"window": 2_001})
    assert asked(service, "later")[0] == 422


def test_a_forecast_far_beyond_the_horizon_takes_a_process_of_the_other_lane(service: Service) -> None:
    status, answer = asked(service, "lines", horizon=3_600, quantiles=[0.9])
    assert (status, len(answer["mean"])) == (200, 3_600)


def test_a_directory_that_is_not_there_keeps_the_service_from_starting(tmp_path: Path) -> None:
    ended = pasps(tmp_path, "predictor", "--port", "0", "--artifacts", str(tmp_path / "gone"))
    assert ended.returncode == 2
    assert "--artifacts" in ended.stderr
    assert "expected a directory of trained models" in ended.stderr
