from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pasps.topology.process_identity import started
from pasps.topology.run_list import MOST_DAYS, base_directory, keep_run, known_runs, release_run, remove_old_runs, run_in
from pasps.topology.run_record import RunRecord, RunState, host, write_json

ENDED = RunRecord("wc", "/wc.py", 1, "gone", host(), 1.0, 2, "/nowhere/control.sock", {}, state=RunState.ENDED)
NOW, DAY = 2e9, 86400.0
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


def aged(directory: Path, days: float, bytes_: int = 0) -> Path:
    """Nothing in it was written for so many days; it has a log of that size."""
    (directory / "metrics.jsonl").write_bytes(bytes(bytes_))
    for path in directory.iterdir():
        os.utime(path, (NOW - days * DAY, NOW - days * DAY))
    return directory


def entries(base: Path) -> Sequence[str]:
    return sorted(path.name for path in (base / "runs").iterdir())


def test_many_tries_put_no_run_out(tmp_path: Path) -> None:
    for number in range(100):
        aged(write(tmp_path / "runs" / f"run{number}", ENDED if number % 2 else LOST, float(number)), 1)
    remove_old_runs(tmp_path, NOW)
    assert len(entries(tmp_path)) == 100
    remove_old_runs(tmp_path, NOW, most_runs=10)
    assert entries(tmp_path) == [f"run{number}" for number in range(90, 100)]


def test_what_is_old_goes_and_what_lives_is_kept_or_is_not_ours_is_left_alone(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    for name, days in (("yesterday", 1.0), ("old", MOST_DAYS + 1), ("kept", 1000.0)):
        aged(write(runs / name, ENDED), days)
    # it began long ago, and was killed just now
    aged(write(runs / "long", LOST, NOW - 1000 * DAY), 0.1)
    aged(write(runs / "lost", LOST), MOST_DAYS + 1)
    (runs / "old" / "report.html").touch()
    os.utime(runs / "old" / "report.html", (0, 0))
    keep_run(run_in(runs / "kept"))
    aged(write(runs / "live", LIVE), 1000)
    aged(write(runs / "elsewhere", replace(LOST, host="another host")), 1000)
    (runs / "notes").mkdir()
    remove_old_runs(tmp_path, NOW)
    assert entries(tmp_path) == ["elsewhere", "kept", "live", "long", "notes", "yesterday"]
    release_run(run_in(runs / "kept"))
    aged(runs / "kept", 1000)
    remove_old_runs(tmp_path, NOW)
    assert "kept" not in entries(tmp_path)


def test_of_too_many_bytes_the_newest_stay_and_the_newest_of_all_always(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    for number, size in enumerate((10, 10, 300_000, 200_000, 500_000)):
        aged(write(runs / f"run{number}", ENDED, float(number)), 1, size)
    keep_run(run_in(runs / "run0"))
    remove_old_runs(tmp_path, NOW, most_bytes=600_000)
    assert entries(tmp_path) == ["run0", "run3", "run4"]
    remove_old_runs(tmp_path, NOW, most_bytes=1)
    assert entries(tmp_path) == ["run0", "run4"]


def test_of_a_chosen_directory_only_the_link_goes(tmp_path: Path) -> None:
    chosen = aged(write(tmp_path / "chosen", ENDED), 1000)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "wc").symlink_to(chosen)
    (tmp_path / "runs" / "dangling").symlink_to(tmp_path / "removed")
    remove_old_runs(tmp_path, NOW)
    assert not entries(tmp_path)
    assert (chosen / "run.json").is_file()


def test_with_a_lost_run_its_socket_goes_too(tmp_path: Path) -> None:
    (tmp_path / "pasps-abc").mkdir()
    (tmp_path / "pasps-abc" / "control.sock").touch()
    aged(write(tmp_path / "runs" / "lost", replace(LOST, socket=str(tmp_path / "pasps-abc" / "control.sock"))), 1000)
    remove_old_runs(tmp_path, NOW)
    assert not (tmp_path / "pasps-abc").exists()
