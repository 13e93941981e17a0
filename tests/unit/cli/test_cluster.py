from __future__ import annotations

import json
from pathlib import Path

import pytest

from pasps.cli import exit_codes
from pasps.cli.cluster import status_object, status_text
from pasps.cli.main import call, parsed
from pasps.cluster.dev.cluster import DevCluster, PartStatus
from pasps.cluster.dev.state import write_state
from tests.unit.cluster.dev.test_home import STATE

UP = PartStatus("zookeeper", "127.0.0.1:2", 17, alive=True, problem=None)
DEAD = PartStatus("spark-worker-1", "127.0.0.1:3", 18, alive=False, problem="it is dead")


def ran(*words: str) -> int:
    return call(parsed(["cluster", *words]))


def test_each_part_has_a_line() -> None:
    assert status_text([UP, DEAD]).splitlines() == [
        "part            process  address      state",
        "zookeeper            17  127.0.0.1:2  up",
        "spark-worker-1       18  127.0.0.1:3  it is dead",
    ]


def test_as_json_it_has_addresses_and_no_secret(tmp_path: Path) -> None:
    write_state(tmp_path, STATE)
    told = json.dumps(status_object(DevCluster(tmp_path), [UP, DEAD]))
    found = json.loads(told)
    assert (found["up"], found["master"], found["workers"]) == (False, STATE.master, 2)
    assert [(part["name"], part["alive"]) for part in found["parts"]] == [("zookeeper", True), ("spark-worker-1", False)]
    assert STATE.token not in told
    assert STATE.predictor_token not in told


def test_without_a_cluster_status_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ran("status", "--home", str(tmp_path / "none")) == exit_codes.NOT_RUNNING
    assert "no cluster is up in" in capsys.readouterr().out
    assert ran("status", "--json", "--home", str(tmp_path / "none")) == exit_codes.NOT_RUNNING
    assert json.loads(capsys.readouterr().out) == {"home": str(tmp_path / "none"), "up": False, "parts": []}


def test_without_a_cluster_down_is_done(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ran("down", "--home", str(tmp_path / "none")) == exit_codes.OK
    assert "no cluster is up in" in capsys.readouterr().out
    assert not (tmp_path / "none").exists()
