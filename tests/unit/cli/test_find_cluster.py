"""Where the cluster is; nobody is asked here."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pasps.cli.asking.which_run import cluster_file, development_cluster, find_cluster, the_cluster
from pasps.cluster.master.client import ClusterAddress
from pasps.errors import InvalidError
from pasps.topology.process_identity import started

URL = "http://127.0.0.1:8627"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"PASPS_HOME": str(tmp_path)}


def write(base: Path, text: str) -> None:
    path = cluster_file(base)
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


def state(token: str = "own", pid: int | None = None, process: str | None = None) -> str:
    """What `pasps cluster up` writes; its master is this very process unless another is named."""
    number = os.getpid() if pid is None else pid
    master = {"pid": number, "process": started(number) if process is None else process}
    return json.dumps({"master": f"{URL}/", "token": token, "ports": {}, "processes": {"master": master}})


def address(given: str | None, environment: dict[str, str]) -> ClusterAddress:
    found = find_cluster(given, environment)
    assert found is not None
    return found.address


def test_none_is_known_unless_somebody_says_so(environment: dict[str, str]) -> None:
    assert find_cluster(None, environment) is None
    assert find_cluster(None, {**environment, "PASPS_MASTER": " ", "PASPS_TOKEN": "t"}) is None


def test_the_option_comes_before_the_variable(environment: dict[str, str]) -> None:
    environment |= {"PASPS_MASTER": "http://other:1", "PASPS_TOKEN": " t \n"}
    assert address(None, environment) == ClusterAddress("http://other:1", "t", "PASPS_MASTER")
    assert address(URL, environment) == ClusterAddress(URL, "t", "--master")


def test_a_development_cluster_gives_its_token_to_its_own_address_alone(environment: dict[str, str], tmp_path: Path) -> None:
    write(tmp_path, state())
    assert address(URL + "/", environment).token == "own"
    assert address("http://other:1", environment).token is None
    assert address(URL, {**environment, "PASPS_TOKEN": "mine"}).token == "mine"


def test_what_is_written_of_a_development_cluster_is_read_leniently(tmp_path: Path) -> None:
    for text in ("", "[]", "{}", '{"master": 1, "token": "a"}', '{"master": "http://a", "token": 1}', "\x00"):
        write(tmp_path, text)
        assert development_cluster(cluster_file(tmp_path)) is None
    write(tmp_path, state(token=""))
    assert development_cluster(cluster_file(tmp_path)) == ClusterAddress(URL, None, "the development cluster of this machine")


def test_the_token_of_a_cluster_that_is_gone_is_nobodys(environment: dict[str, str], tmp_path: Path) -> None:
    for text in (state(process="earlier"), state(pid=2**30, process="x"), f'{{"master": "{URL}", "token": "own"}}'):
        write(tmp_path, text)
        assert find_cluster(None, environment) is None
        assert address(URL, environment).token is None


def test_an_empty_address_is_refused(environment: dict[str, str]) -> None:
    with pytest.raises(InvalidError, match="--master: expected the address of a master, got nothing"):
        find_cluster("", environment)
    with pytest.raises(InvalidError, match="PASPS_MASTER 'nonsense': expected the address of a master"):
        find_cluster(None, {**environment, "PASPS_MASTER": "nonsense"})


def test_who_needs_one_is_told_how_to_get_one(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PASPS_MASTER", raising=False)
    with pytest.raises(InvalidError, match="no cluster is known here; start one with `pasps cluster up`, or give its address"):
        the_cluster(None)
