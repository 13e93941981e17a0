from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pasps.daemons.process_identity import started
from pasps.daemons.run_list import base_directory, known_runs, remove_old_runs
from pasps.daemons.run_record import RunRecord, RunState, host, write_json

ENDED = RunRecord("wc", "/wc.py", 1, "gone", host(), 1.0, 2, "/nowhere/control.sock", {}, state=RunState.ENDED)
LOST = replace(ENDED, state=RunState.RUNNING)
LIVE = replace(LOST, pid=os.getpid(), process=started(os.getpid()) or "")


def write(directory: Path, record: RunRecord, started: float = 1.0) -> Path:
    directory.mkdir(parents=True)
    write_json(directory / "run.json", replace(record, started=started))
    return directory


def names(base: Path) -> Sequence[str]:
    return [run.directory.name for run in known_runs(base)]


@pytest.mark.parametrize(
    ("environment", "base"),
    [
        ({"PASPS_HOME": "/a/b", "XDG_STATE_HOME": "/state"}, "/a/b"),
        ({"PASPS_HOME": "", "XDG_STATE_HOME": "/state"}, "/state/pasps"),
        ({"XDG_STATE_HOME": "relative"}, os.path.expanduser("~/.local/state/pasps")),
        ({}, os.path.expanduser("~/.local/state/pasps")),
    ],
)
def test_the_base_directory(environment: dict[str, str], base: str) -> None:
    assert base_directory(environment) == Path(base)


def test_a_relative_home_is_taken_from_here() -> None:
    assert base_directory({"PASPS_HOME": "here"}) == Path.cwd() / "here"


def test_runs_come_in_order_of_their_start_and_what_is_none_is_left_out(tmp_path: Path) -> None:
    write(tmp_path / "runs" / "b", LIVE, 3.0)
    write(tmp_path / "runs" / "c", LOST, 1.0)
    write(tmp_path / "runs" / "a", ENDED, 2.0)
    (tmp_path / "runs" / "empty").mkdir()
    (tmp_path / "runs" / "file").touch()
    write(tmp_path / "runs" / "newer", replace(ENDED, schema="pasps.run/9"))
    assert [(run.directory.name, run.state) for run in known_runs(tmp_path)] == [
        ("c", RunState.LOST), ("a", RunState.ENDED), ("b", RunState.RUNNING),
    ]  # fmt: skip
    assert known_runs(tmp_path / "nowhere") == []


def test_a_directory_with_two_links_is_one_run(tmp_path: Path) -> None:
    chosen = write(tmp_path / "chosen", ENDED)
    (tmp_path / "runs").mkdir()
    for name in ("a", "b"):
        (tmp_path / "runs" / name).symlink_to(chosen)
    assert names(tmp_path) == ["chosen"]


def test_of_finished_runs_the_newest_stay_and_what_is_not_ours_is_left_alone(tmp_path: Path) -> None:
    for number in range(6):
        write(tmp_path / "runs" / f"ended{number}", ENDED if number % 2 else LOST, float(number))
    (tmp_path / "runs" / "ended0" / "report.html").touch()
    write(tmp_path / "runs" / "live", LIVE, 0.0)
    write(tmp_path / "runs" / "elsewhere", replace(LOST, host="another host"), 0.0)
    (tmp_path / "runs" / "notes").mkdir()
    remove_old_runs(tmp_path, keep=2)
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["elsewhere", "ended4", "ended5", "live", "notes"]


def test_of_a_chosen_directory_only_the_link_goes(tmp_path: Path) -> None:
    chosen = write(tmp_path / "chosen", ENDED)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "wc").symlink_to(chosen)
    (tmp_path / "runs" / "dangling").symlink_to(tmp_path / "removed")
    remove_old_runs(tmp_path, keep=0)
    assert not list((tmp_path / "runs").iterdir())
    assert (chosen / "run.json").is_file()


def test_with_a_lost_run_its_socket_goes_too(tmp_path: Path) -> None:
    (tmp_path / "pasps-abc").mkdir()
    (tmp_path / "pasps-abc" / "control.sock").touch()
    write(tmp_path / "runs" / "lost", replace(LOST, socket=str(tmp_path / "pasps-abc" / "control.sock")))
    remove_old_runs(tmp_path, keep=0)
    assert not (tmp_path / "pasps-abc").exists()
