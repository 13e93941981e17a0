"""`pasps runs`: which runs there are, and what of them stays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pasps.cli import exit_codes
from pasps.cli.main import main
from pasps.topology.run_list import remove_old_runs
from pasps.topology.run_record import RunState, write_json
from tests.unit.cli.builders import known_run

Shown = pytest.CaptureFixture[str]
LATE = 5e9


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PASPS_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def left(home: Path, name: str, number: int = 1, state: RunState = RunState.ENDED, chosen: Path | None = None) -> Path:
    """The directory of a run."""
    run = known_run(name, state, number, chosen=chosen is not None)
    entry = home / "runs" / run.directory.name
    directory = chosen or entry
    directory.mkdir(parents=True)
    write_json(directory / "run.json", run.record)
    if chosen is not None:
        entry.parent.mkdir(exist_ok=True)
        entry.symlink_to(chosen)
    return directory


def there(home: Path) -> list[str]:
    return sorted(path.name.partition("-")[0] for path in (home / "runs").iterdir())


def test_all_are_listed_with_what_they_take(home: Path, capsys: Shown) -> None:
    assert main(["runs"]) == exit_codes.OK
    assert capsys.readouterr().out == f"there is no run in {home}\n"
    (left(home, "counting") / "metrics.jsonl").write_bytes(bytes(2_500_000))
    left(home, "tweets", 2, RunState.RUNNING)
    left(home, "dns", 3, chosen=home / "mine")
    assert main(["runs", "keep", "counting"]) == exit_codes.OK
    capsys.readouterr()
    assert main(["runs", "list"]) == exit_codes.OK
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["run", "topology", "state", "started", "size", "kept"]
    assert [line.split()[:3] for line in lines] == [
        ["counting-20260102-030405-1", "counting", "ended"],
        ["tweets-20260102-030405-2", "tweets", "running"],
        ["dns-20260102-030405-3", "dns", "ended"],
    ]
    assert [line.split()[-1] for line in lines] == ["kept", "MB", "--run-dir"]
    assert "2.5 MB" in lines[0]
    assert main(["runs", "--json"]) == exit_codes.OK
    counting, _, dns = json.loads(capsys.readouterr().out)
    assert (counting["kept"], counting["bytes"] > 2_500_000, dns["kept"], dns["run_dir"]) == (True, True, False, str(home / "mine"))


def test_what_is_kept_stays_until_it_is_released(home: Path, capsys: Shown) -> None:
    for number in (1, 2):
        left(home, "counting", number)
    directory = left(home, "tweets", 3)
    assert main(["runs", "keep", "counting", str(directory)]) == exit_codes.OK
    newest = home / "runs" / "counting-20260102-030405-2"
    assert capsys.readouterr().out == f"{newest} is kept\n{directory} is kept\n", "of several that name means the newest"
    remove_old_runs(home, LATE)
    assert there(home) == ["counting", "tweets"]
    assert main(["runs", "release", "tweets", "counting"]) == exit_codes.OK
    remove_old_runs(home, LATE)
    assert there(home) == []


def test_what_is_removed_is_gone_and_nothing_else(home: Path, capsys: Shown) -> None:
    first, second = left(home, "counting", 1), left(home, "counting", 2)
    chosen = left(home, "dns", 3, chosen=home / "mine")
    assert main(["runs", "remove", "counting"]) == exit_codes.INVALID
    said = capsys.readouterr().err
    assert "there are 2 runs of 'counting'; say which by its run directory" in said
    assert str(first) in said
    assert main(["runs", "remove", second.name, "dns", "--json"]) == exit_codes.OK
    assert [run["run_dir"] for run in json.loads(capsys.readouterr().out)] == [str(second), str(chosen)]
    assert there(home) == ["counting"]
    assert (chosen / "run.json").is_file(), "somebody chose that directory"
    assert first.is_dir()


def test_what_runs_is_not_removed_and_nothing_is_when_one_is_refused(home: Path, capsys: Shown) -> None:
    left(home, "counting")
    left(home, "tweets", 2, RunState.RUNNING)
    for words, said in (
        (["remove", "counting", "tweets"], "topology 'tweets' runs in"),
        (["remove", "counting", "tweetz"], "there is no run 'tweetz' here; did you mean 'tweets'?"),
        (["remove"], "needs a RUN"),
        (["list", "counting"], "takes no RUN"),
    ):
        assert main(["runs", *words]) == exit_codes.INVALID
        assert said in capsys.readouterr().err
    assert there(home) == ["counting", "tweets"]
