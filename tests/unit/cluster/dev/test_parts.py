from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pasps.cluster.dev.parts import Tools, part_environment, part_named, parts_of, port_names
from pasps.cluster.dev.state import ClusterState
from pasps.cluster.launch.spark_daemons import SparkInstallation
from pasps.cluster.store.tokens import SECRET_VARIABLES
from pasps.errors import InvalidError
from tests.unit.cluster.dev.test_home import STATE

HOME = Path("/home")
TOOLS = Tools("/usr/bin/java", SparkInstallation(Path("/spark"), "2.13"))


def state(workers: int) -> ClusterState:
    names = port_names(workers)
    return replace(STATE, workers=workers, ports={name: 15_000 + number for number, name in enumerate(names)})


def test_a_cluster_has_one_zookeeper_one_spark_master_its_workers_a_predictor_and_a_master() -> None:
    names = [part.name for part in parts_of(HOME, state(3))]
    assert names == ["zookeeper", "spark-master", "spark-worker-1", "spark-worker-2", "spark-worker-3", "predictor", "master"]


def test_no_two_parts_listen_on_one_port() -> None:
    ports = [port for part in parts_of(HOME, state(3)) for port in part.ports]
    assert len(ports) == len(set(ports)) == len(port_names(3))


def test_only_what_depends_on_something_waits() -> None:
    needs = {part.name: part.needs for part in parts_of(HOME, state(1)) if part.needs}
    assert needs == {"spark-worker-1": ("spark-master",), "master": ("zookeeper",)}


def test_the_master_is_told_where_the_others_are_and_no_secret_is_on_its_command_line() -> None:
    part = part_named("master", HOME, state(2))
    words = list(part.command(TOOLS))
    assert words[:5] == [sys.executable, "-P", "-m", "pasps", "master"]
    assert words[words.index("--spark") + 1] == STATE.spark
    assert words[words.index("--zookeeper") + 1] == STATE.zookeeper
    assert words[words.index("--predictor") + 1] == STATE.predictor
    assert words[words.index("--host") + 1] == "127.0.0.1"
    assert STATE.token not in json.dumps(words)
    assert part.secrets == {
        "PASPS_TOKEN": "secret",
        "PASPS_SIGNING_KEY": "fifth",
        "PASPS_ZOOKEEPER_AUTH": "pasps:third",
        "PASPS_PREDICTOR_TOKEN": "other",
    }


def test_what_runs_user_code_gets_no_secret() -> None:
    inherited = dict.fromkeys(SECRET_VARIABLES, "inherited")
    parts = [part for part in parts_of(HOME, state(2)) if part.name.startswith("spark-")]
    assert len(parts) == 3
    for part in parts:
        assert not set(SECRET_VARIABLES) & set(part_environment(TOOLS.spark, HOME, inherited, part.secrets))


def test_an_unknown_part_is_named_with_those_that_are_there() -> None:
    with pytest.raises(InvalidError, match=r"expected a part of the cluster \(zookeeper, .*, master\), got 'nimbus'"):
        part_named("nimbus", HOME, state(1))


def test_a_part_has_the_clusters_mark_and_nothing_of_another_cluster() -> None:
    inherited = {"PASPS_TOKEN": "of another", "PASPS_MASTER": "http://far", "PASPS_HOME": "/runs", "PATH": "/bin"}
    inherited["XDG_CACHE_HOME"] = "/cache"
    found = part_environment(TOOLS.spark, HOME, inherited, {"PASPS_PREDICTOR_TOKEN": "p"})
    archive = found.pop("PASPS_JAVA_ARCHIVE", "/cache/pasps/")  # where there is a Java
    assert archive.startswith("/cache/pasps/")
    assert {name: value for name, value in found.items() if name.startswith("PASPS_")} == {
        "PASPS_CLUSTER_HOME": "/home",
        "PASPS_HOME": "/runs",
        "PASPS_PREDICTOR_TOKEN": "p",
    }
    assert found["PATH"] == "/bin"
