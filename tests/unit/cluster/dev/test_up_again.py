"""Which secrets a cluster comes up with, without a process of it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from pasps.cluster.dev import cluster as dev_cluster
from pasps.cluster.dev.cluster import DevCluster
from pasps.cluster.dev.parts import Part, Tools
from pasps.cluster.dev.processes import ProcessRef
from pasps.cluster.dev.state import ClusterState, write_state
from pasps.cluster.dev.wanted import WantedCluster, new_state
from pasps.topology.process_identity import started

DEAD = ProcessRef(2**22 + 1, "long ago")


@pytest.fixture
def came_up(monkeypatch: pytest.MonkeyPatch) -> list[ClusterState]:
    """The states that parts were started with; none of them is."""
    states: list[ClusterState] = []

    def start(self: DevCluster, parts: Sequence[Part], tools: Tools, state: ClusterState, seconds: float) -> None:
        states.append(state)

    monkeypatch.setattr(dev_cluster, "find_tools", lambda: None)
    monkeypatch.setattr(dev_cluster, "marked", lambda home, *told: [])
    monkeypatch.setattr(DevCluster, "_start", start)
    return states


def before(home: Path, **processes: ProcessRef) -> ClusterState:
    state = new_state(WantedCluster())
    state = ClusterState(**{**{name: getattr(state, name) for name in state.__slots__}, "processes": processes})
    home.mkdir()
    (home / "cluster.lock").touch()
    write_state(home, state)
    return state


def own() -> ProcessRef:
    return ProcessRef(os.getpid(), started(os.getpid()) or "")


def test_one_of_which_nothing_lives_comes_up_with_new_secrets(tmp_path: Path, came_up: list[ClusterState]) -> None:
    state = before(tmp_path / "home", master=DEAD, zookeeper=DEAD)
    DevCluster(tmp_path / "home").up()
    assert came_up[0].token != state.token
    assert came_up[0].predictor_token != state.predictor_token
    assert came_up[0].ports == state.ports


def test_a_master_that_lives_keeps_its_token(tmp_path: Path, came_up: list[ClusterState]) -> None:
    state = before(tmp_path / "home", master=own(), zookeeper=DEAD)
    DevCluster(tmp_path / "home").up()
    assert came_up[0].token == state.token


def test_a_new_master_has_a_new_token_though_other_parts_live(tmp_path: Path, came_up: list[ClusterState]) -> None:
    state = before(tmp_path / "home", master=DEAD, zookeeper=own())
    DevCluster(tmp_path / "home").up()
    assert came_up[0].token != state.token
    assert (came_up[0].signing_key, came_up[0].zookeeper_auth) == (state.signing_key, state.zookeeper_auth)


def test_a_driver_that_lives_knows_the_predictors_token_and_not_the_masters(
    tmp_path: Path, came_up: list[ClusterState], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dev_cluster, "marked", lambda home, *told: [] if told else [ProcessRef(os.getpid(), "a driver")])
    state = before(tmp_path / "home", master=DEAD)
    DevCluster(tmp_path / "home").up()
    assert came_up[0].predictor_token == state.predictor_token
    assert came_up[0].token != state.token


def test_a_second_master_that_lives_knows_the_token(tmp_path: Path, came_up: list[ClusterState], monkeypatch: pytest.MonkeyPatch) -> None:
    state = before(tmp_path / "home", master=DEAD)
    told = (f"PASPS_TOKEN={state.token}",)
    monkeypatch.setattr(dev_cluster, "marked", lambda home, *given: [ProcessRef(os.getpid(), "a master")] if given in ((), told) else [])
    DevCluster(tmp_path / "home").up()
    assert came_up[0].token == state.token
