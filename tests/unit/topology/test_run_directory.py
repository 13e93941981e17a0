from __future__ import annotations

import json
import logging
import os
import tempfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from pasps.errors import BrokenError, InvalidError
from pasps.testing import FakeClock
from pasps.topology.run_directory import About, RunDirectory
from pasps.topology.run_list import known_runs, run_in
from pasps.topology.run_record import RunState

ABOUT = About("wc", "wc.py", 2, {"wc.password": "x", "wc.rate": 5}, "static")


@pytest.fixture
def home() -> Iterator[Path]:
    """A base directory whose path is short, as sockets need it; pytest's own is not."""
    with tempfile.TemporaryDirectory(prefix="pasps-test-") as place:
        yield Path(place)


def create(base: Path, chosen: Path | None = None, about: About = ABOUT) -> RunDirectory:
    return RunDirectory.create(about, FakeClock(), None if chosen is None else str(chosen), base)


def files(path: Path) -> set[str]:
    return {entry.name for entry in path.iterdir()}


def test_it_says_what_runs_and_is_for_its_owner_alone(home: Path) -> None:
    directory = create(home)
    stamp = f"{datetime.fromtimestamp(FakeClock().wall()):%Y%m%d-%H%M%S}"
    assert directory.path == home / "runs" / f"wc-{stamp}-{os.getpid()}"
    assert directory.path.stat().st_mode & 0o777 == 0o700
    record = run_in(directory.path).record
    assert (record.name, record.file, record.pid, record.workers) == ("wc", str(Path.cwd() / "wc.py"), os.getpid(), 2)
    assert (record.config, record.policy, record.state) == ({"wc.password": "***", "wc.rate": 5}, "static", RunState.STARTING)


def test_two_of_the_same_second_have_two_directories(home: Path) -> None:
    paths = [create(home).path for _ in range(3)]
    assert len(set(paths)) == 3
    assert [path.name.partition("+")[2] for path in paths] == ["", "2", "3"]


def test_states_are_written_down_and_nobody_comes_back_from_draining(home: Path) -> None:
    with create(home) as directory:
        seen = []
        for state in (RunState.RUNNING, RunState.INACTIVE, RunState.RUNNING, RunState.DRAINING, RunState.RUNNING):
            directory.enter(state)
            seen.append(run_in(directory.path).state)
        assert seen == ["running", "inactive", "running", "draining", "draining"]


def test_the_summary_ends_it(home: Path) -> None:
    with create(home) as directory:
        directory.enter(RunState.RUNNING)
        directory.lines("metrics.jsonl").write(b"{}")
        Path(directory.socket_path).touch()
        directory.finish({"type": "summary", "exit_code": 0})
    assert json.loads((directory.path / "summary.json").read_text()) == {"type": "summary", "exit_code": 0}
    assert files(directory.path) == {"run.json", "summary.json", "metrics.jsonl"}
    run = run_in(directory.path)
    assert (run.state, run.record.ended) == (RunState.ENDED, FakeClock().wall())


def test_one_that_broke_off_has_ended_without_a_summary(home: Path) -> None:
    with create(home) as directory:
        directory.enter(RunState.RUNNING)
    assert run_in(directory.path).state is RunState.ENDED
    assert files(directory.path) == {"run.json"}


def test_one_that_never_ran_leaves_nothing(home: Path) -> None:
    chosen = home / "chosen"
    with create(home) as usual, create(home, chosen, About("other", "x.py", 1)) as new:
        new.lines("decisions.jsonl").write(b"{}")
        assert len(known_runs(home)) == 2
    assert not usual.path.exists()
    assert not chosen.exists()
    assert files(home / "runs") == set()


def test_an_empty_directory_of_somebody_stays_when_it_never_ran(home: Path) -> None:
    (home / "mine").mkdir(mode=0o755)
    with create(home, home / "mine") as directory:
        assert directory.path.stat().st_mode & 0o777 == 0o700
    assert files(home / "mine") == set()


def test_a_chosen_directory_is_used_exactly_and_found_by_name(home: Path) -> None:
    with create(home, home / "a" / "b") as directory:
        directory.enter(RunState.RUNNING)
        assert directory.path == home / "a" / "b"
        assert [(run.record.name, run.directory) for run in known_runs(home)] == [("wc", home / "a" / "b")]


def test_a_chosen_directory_works_where_the_base_cannot_be_written(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    (home / "base").touch()
    with caplog.at_level(logging.WARNING), create(home / "base", home / "mine") as directory:
        assert directory.path == home / "mine"
    assert "found by its directory only" in caplog.text


def test_a_directory_with_anything_in_it_is_refused_untouched(home: Path) -> None:
    ended, live, notes = home / "ended", home / "live", home / "notes"
    with create(home, ended) as directory:
        directory.enter(RunState.RUNNING)
    notes.mkdir()
    (notes / "notes.txt").touch()
    (home / "file").touch()
    with create(home, live):
        before = {path: path.read_bytes() for path in home.rglob("*.json")}
        for path, words in [
            (ended, "holds what a run of 'wc' left, which is never replaced"),
            (live, rf"topology 'wc' runs in it \(process {os.getpid()}\)"),
            (notes, "it is not empty; give an empty directory or a new one"),
            (home / "file", "expected a directory"),
        ]:
            with pytest.raises(InvalidError, match=words):
                create(home, path)
        assert {path: path.read_bytes() for path in home.rglob("*.json")} == before


def test_a_homethat_cannot_be_made_says_what_to_do(home: Path) -> None:
    (home / "file").touch()
    with pytest.raises(BrokenError, match=r"cannot be made: .*; give another one with --run-dir, or .* PASPS_HOME"):
        create(home / "file")


def test_a_socket_whose_path_would_be_too_long_has_a_homeof_its_own(home: Path) -> None:
    with create(home / ("x" * 100)) as directory:
        place = Path(directory.socket_path)
        assert run_in(directory.path).record.socket == str(place)
        assert len(str(place)) < 100
        assert place.parent.stat().st_mode & 0o777 == 0o700
        place.touch()
    assert not place.parent.exists()


def test_a_socket_can_be_moved_out(home: Path) -> None:
    with create(home) as directory:
        directory.enter(RunState.RUNNING)
        place = Path(directory.move_socket())
        assert run_in(directory.path).record.socket == directory.socket_path == str(place)
    assert not place.parent.exists()


def test_a_run_goes_on_when_its_directory_is_gone(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING), create(home) as directory:
        (directory.path / "run.json").unlink()
        directory.path.rmdir()
        directory.enter(RunState.RUNNING)
        directory.lines("metrics.jsonl").write(b"{}")
        directory.finish({})
        assert directory.state is RunState.ENDED
    assert "do not see that the run is running" in caplog.text
    assert "summary.json cannot be written" in caplog.text


def test_what_else_is_to_be_known_is_written_down_until_the_run_is_over(home: Path) -> None:
    with create(home) as directory:
        directory.enter(RunState.RUNNING)
        directory.note("all workers are being started anew (count 1 -> 2)")
        directory.enter(RunState.INACTIVE)
        record = run_in(directory.path).record
        assert (record.state, record.detail) == (RunState.INACTIVE, "all workers are being started anew (count 1 -> 2)")
        directory.note("")
        assert run_in(directory.path).record.detail == ""
        directory.note("something")
        directory.finish({})
        directory.note("something else")
        assert run_in(directory.path).record.detail == "something"
