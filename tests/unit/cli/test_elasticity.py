"""What `pasps run` refuses of the configuration of who decides, before anything starts."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pasps.api import Bolt, Topology, Tuple
from pasps.api.topology import blueprint_of
from pasps.cli.run import control_of
from pasps.errors import ConfigError, InvalidError
from pasps.spouts import TraceSpout
from pasps.testing import FakeClock
from pasps.topology.elastic import ElasticConfig, elastic_config
from pasps.topology.run_directory import About, RunDirectory
from tests.unit.predictor_service.artifact_builder import spoil_manifest, toy_artifact

AT = {"pasps.predictor.artifacts": "artifacts"}


@pytest.fixture
def artifacts(tmp_path: Path) -> Path:
    """Trained on steps of one second, or of five minutes; one whose window is too long, and one that is broken."""
    toy_artifact(tmp_path, "mine")
    toy_artifact(tmp_path, "slow", step_seconds=300.0)
    spoil_manifest(toy_artifact(tmp_path, "long", model="arima") / "long", {"window": 101})
    spoil_manifest(toy_artifact(tmp_path, "bad") / "bad", {"model": None})
    return tmp_path


class Sink(Bolt):
    def process(self, tup: Tuple) -> None: ...


class Pipe(Topology):
    trace = TraceSpout.spec()
    sink = Sink.spec(inputs=[trace])


def made(config: dict[str, Any]) -> ElasticConfig:
    return control_of(blueprint_of(Pipe, None, config), "pipe.py")


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"pasps.predictor": "atuo"}, "predictor: there is no 'atuo'; did you mean 'auto'\\?$"),
        ({"pasps.predictor": "clairvoyant"}, "predictor: there is no 'clairvoyant'; .*; besides, 'none'$"),
        ({"pasps.predictor.url": "localhost:8888"}, "'pasps.predictor.url' is no address: .*got 'localhost:8888'"),
        ({"pasps.policy": "static", "pasps.predictor.url": "localhost:8888"}, "is no address"),
    ],
)
def test_a_predictor_that_cannot_be_is_refused(config: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidError, match=words):
        made(config)


@pytest.mark.parametrize(
    "config",
    [
        {"pasps.predictor": "auto"},
        {"pasps.predictor": "basic"},
        {"pasps.predictor": "none"},
        {"pasps.predictor": "its-own", "pasps.predictor.url": "http://127.0.0.1:8888"},
        {"pasps.predictor": "atuo", "pasps.policy": "presps"},
    ],
)
def test_what_may_be_had_elsewhere_or_is_not_asked_is_taken(config: dict[str, Any]) -> None:
    assert made(config).policy == config.get("pasps.policy", "pasps")


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"pasps.predictor": "gru@mine"}, "'gru@mine': where is what was trained\\? Say so with -o pasps.predictor.artifacts=DIR$"),
        ({"pasps.predictor": "gru@mien", **AT}, "there is no 'mien'; did you mean 'mine'\\?, in .*"),
        ({"pasps.predictor": "gru@../mine", **AT}, "expected a name that begins with a letter"),
        ({"pasps.predictor": "gru@", **AT}, "expected a name that begins with a letter"),
        ({"pasps.predictor": "@mine", **AT}, "that artifact is a 'gru'; write gru@mine"),
        ({"pasps.predictor": "lstm@mine", **AT}, "'lstm@mine': that artifact is a 'gru'; write gru@mine"),
        ({"pasps.predictor": "gru@slow", **AT}, "trained on steps of 300 s, and a control loop asks for seconds; train one with --step 1"),
        ({"pasps.predictor": "arima@long", **AT}, "needs a window of 101 samples, and a control loop keeps 100; .* --window 100 or less"),
        ({"pasps.predictor": "gru@bad", **AT}, "artifact 'bad': its manifest is none of version 1"),
        ({"pasps.predictor": "gru", **AT}, "predictor: there is no 'gru'"),
    ],
)
def test_what_was_trained_must_be_there_and_of_use_to_a_loop(config: dict[str, Any], words: str, artifacts: Path) -> None:
    with pytest.raises(InvalidError, match=words):
        made({key: str(artifacts) if value == "artifacts" else value for key, value in config.items()})


def test_what_was_trained_and_is_not_whole_is_refused_as_in_a_simulation(artifacts: Path) -> None:
    weights = artifacts / "mine" / "weights.npz"
    weights.write_bytes(weights.read_bytes()[:-100])
    with pytest.raises(InvalidError, match=r"predictor 'gru@mine': artifact 'mine': weights\.npz is not the file that its manifest was"):
        made({"pasps.predictor": "gru@mine", "pasps.predictor.artifacts": str(artifacts)})


def test_what_was_trained_is_taken_and_the_service_is_given_its_place(artifacts: Path, tmp_path: Path) -> None:
    control = made({"pasps.predictor": "gru@mine", "pasps.predictor.artifacts": str(artifacts)})
    with RunDirectory.create(About("pipe", "pipe.py", 1, {}, "pasps"), FakeClock(), str(tmp_path / "run")) as directory:
        settings = control.kept_in(directory).settings
    assert (settings.predictor, settings.artifacts) == ("gru@mine", str(artifacts))


def test_what_was_trained_may_be_known_to_a_service_elsewhere() -> None:
    assert made({"pasps.predictor": "gru@theirs", "pasps.predictor.url": "http://127.0.0.1:8888"}).policy == "pasps"


def test_without_the_service_its_models_are_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pasps.simulation.forecasters.MODELS", None)
    assert made({"pasps.predictor": "atuo"}).policy == "pasps"


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"pasps.policy": "rlearning"}, "'pasps.policy.options.table' is not set: policy 'rlearning' does what it has learned"),
        ({"pasps.policy": "rlearning", "pasps.policy.options.table": "nowhere"}, "names a file that cannot be read"),
        ({"pasps.policy": "dabs", "pasps.policy.options.betta": 0.5}, "the nearest known name is 'pasps.policy.options.beta'"),
        ({"pasps.policy": "cba", "pasps.policy.options.horizon": 61}, "must be an integer of at least 1 and at most 60, got 61"),
    ],
)
def test_a_policy_that_can_do_nothing_here_is_refused(config: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        made(config)


@pytest.mark.parametrize(("given", "seconds"), [({}, 10.0), ({"pasps.interval.secs": 30}, 30.0)])
def test_a_run_and_a_driver_have_the_pace_of_the_policy(given: dict[str, Any], seconds: float) -> None:
    class Directory:
        path = Path("nowhere")

        def lines(self, name: str) -> Any:
            return SimpleNamespace(write=print)

    config = {"pasps.policy": "dabs", **given}
    directory = cast(RunDirectory, Directory())
    here = made(config).kept_in(directory)
    there = elastic_config(blueprint_of(Pipe, None, config), Path("pipe.py"), (None, None)).kept_in(directory)
    assert here.settings.plan.interval_seconds == there.settings.plan.interval_seconds == seconds
