"""What was trained, from the command that trains it to the run whose forecasts it makes: real processes all the way."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.predictor_service_process import Service, wait_until
from tests.integration.run_process import Run, pasps
from tests.unit.predictor_service.artifact_builder import replace_weights, spoil_manifest, toy_artifact, toy_rows

pytestmark = pytest.mark.integration

TOPOLOGY = """
from pasps import Bolt, Topology
from pasps.spouts import TraceSpout


class Sink(Bolt):
    def process(self, tup):
        pass


class Waves(Topology):
    trace = TraceSpout.spec(config={"trace.file": FILE, "trace.step.seconds": 1.0, "trace.repeat": True})
    sink = Sink.spec(inputs=[trace], par=1, pool=4)
"""


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


@pytest.mark.timeout(300)
def test_a_run_is_forecast_by_what_was_trained_on_its_trace(tmp_path: Path) -> None:
    """`pasps predictor train`, then `pasps run` with it: decisions are made of its forecasts."""
    trace = tmp_path / "waves.csv"
    rows = [f"{step},{100 + round(60 * math.sin(step / 3))}" for step in range(200)]
    trace.write_text("\n".join(["time,count", *rows]) + "\n")
    words = ["--model", "gru", "--window", "8", "--horizon", "6", "--units", "4", "--epochs", "2"]
    made = pasps(tmp_path, "predictor", "train", "--trace", str(trace), *words, "--out", str(tmp_path / "artifacts" / "waves"))
    assert made.returncode == 0, made.stderr
    (tmp_path / "waves_topology.py").write_text(TOPOLOGY.replace("FILE", repr(str(trace))))
    options = ["-o", "pasps.predictor=gru@waves", "-o", f"pasps.predictor.artifacts={tmp_path / 'artifacts'}"]
    options += ["-o", "pasps.policy=pa-sps", "-o", "pasps.interval.secs=2", "-o", "pasps.predictor.timeout.secs=1.5"]
    run = Run(tmp_path, str(tmp_path / "waves_topology.py"), "--json", "--run-dir", str(tmp_path / "run"), *options)
    try:
        wait_until(lambda: "predictor" in sources(tmp_path / "run"), f"forecast of gru@waves ({run.err.read_text()[-500:]})")
        run.family = set(run.process.children(recursive=True))
        run.process.send_signal(2)
        assert run.end() in (0, 130), run.err.read_text()
    finally:
        run.clean_up()
    records = decisions(tmp_path / "run")
    assert {record["situation"]["forecast"]["model"] for record in records if source(record) == "predictor"} == {"gru@waves"}


def decisions(directory: Path) -> list[dict[str, dict[str, dict[str, str]]]]:
    file = directory / "decisions.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines(keepends=True) if line.endswith("\n")] if file.exists() else []


def source(record: dict[str, dict[str, dict[str, str]]]) -> str | None:
    forecast = (record.get("situation") or {}).get("forecast")
    return None if forecast is None else forecast.get("source", "predictor")


def sources(directory: Path) -> list[str | None]:
    return [source(record) for record in decisions(directory)]
