"""Which secrets a cluster comes up with, without a process of it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from pasps.daemons import dev_cluster
from pasps.daemons.dev.parts import Part, Tools
from pasps.daemons.dev.processes import ProcessRef
from pasps.daemons.dev.state import ClusterState, write_state
from pasps.daemons.dev.wanted import Wanted, new_state
from pasps.daemons.dev_cluster import DevCluster
from pasps.daemons.process_identity import started

DEAD = ProcessRef(2**22 + 1, "long ago")


@pytest.fixture
def came_up(monkeypatch: pytest.MonkeyPatch) -> list[ClusterState]:
    """The states that parts were started with; none of them is."""
    states: list[ClusterState] = []

    def start(self: DevCluster, parts: Sequence[Part], tools: Tools, state: ClusterState, seconds: float) -> None:
        states.append(state)

    monkeypatch.setattr(dev_cluster, "find_tools", lambda: None)
    monkeypatch.setattr(dev_cluster, "marked", lambda home: [])
    monkeypatch.setattr(DevCluster, "_start", start)
    return states


def before(home: Path, **processes: ProcessRef) -> ClusterState:
    state = new_state(Wanted())
    state = ClusterState(**{**{name: getattr(state, name) for name in state.__slots__}, "processes": processes})
    home.mkdir()
    (home / "cluster.lock").touch()
    write_state(home, state)
    return state


def secrets_of(state: ClusterState) -> set[str]:
    return {state.token, state.predictor_token}


def test_one_of_which_nothing_lives_comes_up_with_new_secrets(tmp_path: Path, came_up: list[ClusterState]) -> None:
    state = before(tmp_path / "home", master=DEAD, zookeeper=DEAD)
    DevCluster(tmp_path / "home").up()
    assert not secrets_of(state) & secrets_of(came_up[0])
    assert came_up[0].ports == state.ports


def test_what_lives_keeps_the_secrets_that_it_knows(tmp_path: Path, came_up: list[ClusterState]) -> None:
    own = ProcessRef(os.getpid(), started(os.getpid()) or "")
    state = before(tmp_path / "home", master=DEAD, zookeeper=own)
    DevCluster(tmp_path / "home").up()
    assert secrets_of(came_up[0]) == secrets_of(state)


def test_so_does_what_a_part_has_started(tmp_path: Path, came_up: list[ClusterState], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dev_cluster, "marked", lambda home: [ProcessRef(os.getpid(), "a driver")])
    state = before(tmp_path / "home", master=DEAD)
    DevCluster(tmp_path / "home").up()
    assert secrets_of(came_up[0]) == secrets_of(state)
