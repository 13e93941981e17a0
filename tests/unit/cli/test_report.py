"""`pasps report`: which run is meant, and what is printed."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

import pytest

from pasps.cli import exit_codes
from pasps.cli.report import add, directory_of, report
from pasps.errors import InvalidError
from pasps.topology.run_record import RunRecord, RunState, host, write_json
from tests.unit.report.builders import made_up, write_run


def options(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add(parser)
    return parser.parse_args(words)


def known(base: Path, name: str, started: float) -> Path:
    """A run that is over, as `pasps run` leaves it."""
    directory = base / "runs" / f"{name}-{started:.0f}"
    directory.mkdir(parents=True)
    record = RunRecord(name, "/x.py", os.getpid(), "", host(), started, 1, "/none", {}, state=RunState.ENDED)
    write_json(directory / "run.json", record)
    return directory


def test_the_measures_and_the_paths_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = write_run(tmp_path / "run", *made_up(40, 10))
    (run / "summary.json").unlink()
    assert report(options(str(run), "--out", str(tmp_path / "out"))) == exit_codes.OK
    printed = capsys.readouterr()
    assert "saved resources" in printed.out
    assert "mean active" in printed.out
    assert printed.out.splitlines()[-5] == str(tmp_path / "out" / "report.html")
    assert "There is no summary" in printed.err


def test_with_json_the_output_is_one_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = write_run(tmp_path / "run", *made_up(40, 10))
    assert report(options(str(run), "--json")) == exit_codes.OK
    printed = json.loads(capsys.readouterr().out)
    assert printed["topology"] == "wordcount"
    assert printed["measures"]["samples"] == 40
    assert printed["paths"][0].endswith("report.html")
    assert printed["warnings"] == []


def test_a_name_means_the_newest_run_of_that_topology(tmp_path: Path) -> None:
    old, new, other = known(tmp_path, "words", 100.0), known(tmp_path, "words", 300.0), known(tmp_path, "tweets", 400.0)
    assert directory_of("words", tmp_path) == new
    assert directory_of(old.name, tmp_path) == old
    assert directory_of(None, tmp_path) == other


def test_a_directory_means_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = known(tmp_path, "words", 100.0)
    (tmp_path / "words").mkdir()
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "metrics.jsonl").touch()
    monkeypatch.chdir(tmp_path)
    assert directory_of(str(run), tmp_path) == run
    assert directory_of("./none", tmp_path) == Path("none")
    assert directory_of("bare", tmp_path) == Path("bare")
    assert directory_of("words", tmp_path) == run


def test_a_run_that_is_not_there_says_which_are(tmp_path: Path) -> None:
    with pytest.raises(InvalidError, match=r"there is no run in .*; start one with `pasps run FILE`"):
        directory_of(None, tmp_path)
    known(tmp_path, "words", 100.0)
    with pytest.raises(InvalidError, match="did you mean 'words'"):
        directory_of("wrods", tmp_path)
    with pytest.raises(InvalidError, match="there are runs of words"):
        directory_of("xyz", tmp_path)
