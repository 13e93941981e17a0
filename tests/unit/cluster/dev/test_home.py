from __future__ import annotations

import os
from pathlib import Path

import pytest

from pasps.cluster.dev.home import ClusterHome
from pasps.cluster.dev.state import ClusterState, read_state, write_state
from pasps.cluster.dev.wanted import WantedCluster, check_same
from pasps.errors import BusyError, InvalidError

STATE = ClusterState(
    master="http://127.0.0.1:1",
    token="secret",
    signing_key="fifth",
    zookeeper="127.0.0.1:2/pasps",
    zookeeper_auth="pasps:third",
    spark="spark://127.0.0.1:3",
    spark_secret="fourth",
    predictor="http://127.0.0.1:4",
    predictor_token="other",
    workers=2,
    cores=4,
    ports={"master": 1},
)


def names(directory: Path) -> list[str]:
    return sorted(os.listdir(directory))


def test_one_that_was_made_for_nothing_is_gone_again(tmp_path: Path) -> None:
    home = ClusterHome(tmp_path / "a" / "home")
    with home.locked():
        assert home.path.stat().st_mode & 0o777 == 0o700
    assert not home.path.exists()


def test_two_at_the_same_time_are_one_too_many(tmp_path: Path) -> None:
    home = ClusterHome(tmp_path)
    with home.locked(), pytest.raises(BusyError, match="up or down right now"), ClusterHome(tmp_path).locked():
        pass
    with home.locked():
        pass


def test_a_directory_with_something_else_in_it_is_refused_and_not_touched(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    with pytest.raises(InvalidError, match="holds what no cluster made"), ClusterHome(tmp_path).locked():
        pass
    assert names(tmp_path) == ["logs"]


def test_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InvalidError, match="expected a directory, this is a file"), ClusterHome(tmp_path / "file").locked():
        pass


def test_data_go_and_logs_stay_until_the_next_cluster(tmp_path: Path) -> None:
    home = ClusterHome(tmp_path)
    with home.locked():
        before = os.umask(0)
        home.prepare("spark.authenticate.secret=fourth\n")
        os.umask(before)
        assert (home.path / "spark/conf/spark-defaults.conf").stat().st_mode & 0o777 == 0o600
        write_state(home.path, STATE)
        home.log("zookeeper").write_text("words")
        home.clear_data()
    assert names(tmp_path) == ["cluster.lock", "logs"]
    with home.locked():
        home.clear()
    assert names(tmp_path) == []


def test_a_link_to_a_home_is_that_home(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert ClusterHome(tmp_path / "link").path == ClusterHome(tmp_path / "real").path


def test_the_state_is_read_as_it_was_written_and_for_its_owner_alone(tmp_path: Path) -> None:
    write_state(tmp_path, STATE)
    assert read_state(tmp_path) == STATE
    assert (tmp_path / "cluster.json").stat().st_mode & 0o777 == 0o600


def test_without_a_file_there_is_no_state(tmp_path: Path) -> None:
    assert read_state(tmp_path) is None


@pytest.mark.parametrize("text", ["", "[]", '{"master": 1}', "\xff"])
def test_a_file_that_is_no_state_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "cluster.json").write_text(text, "latin-1")
    with pytest.raises(InvalidError, match=r"cluster.json: expected a record of schema 'pasps.cluster/2'"):
        read_state(tmp_path)


@pytest.mark.parametrize(
    ("wanted", "words"),
    [(WantedCluster(workers=3), "--workers 2, got 3"), (WantedCluster(cores=1), "--cores 4"), (WantedCluster(port=9), "--port 1")],
)
def test_another_cluster_than_the_one_that_is_up_is_refused(wanted: WantedCluster, words: str) -> None:
    with pytest.raises(InvalidError, match=words):
        check_same(STATE, wanted)


def test_the_same_numbers_or_none_are_not_refused() -> None:
    check_same(STATE, WantedCluster())
    check_same(STATE, WantedCluster(workers=2, cores=4, port=1))


@pytest.mark.parametrize("numbers", [{"workers": 0}, {"cores": -1}, {"port": 0}, {"port": 65_536}])
def test_a_number_that_cannot_be_is_refused(numbers: dict[str, int]) -> None:
    with pytest.raises(InvalidError, match=f"--{next(iter(numbers))}: expected"):
        WantedCluster(**numbers)
