from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from pasps.errors import InvalidError
from pasps.topology.process_identity import started
from pasps.topology.run_record import RunRecord, RunState, host, read_record, without_secrets, write_json

OWN = RunRecord("wc", "/wc.py", os.getpid(), started(os.getpid()) or "", host(), 1.5, 2, "/s", {"a": [1, None]}, state=RunState.RUNNING)


def test_it_comes_back_as_it_was_written(tmp_path: Path) -> None:
    write_json(tmp_path / "run.json", OWN)
    assert read_record(tmp_path) == OWN
    assert (tmp_path / "run.json").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


@pytest.mark.parametrize(
    ("record", "state"),
    [
        (OWN, RunState.RUNNING),
        (replace(OWN, state=RunState.DRAINING), RunState.DRAINING),
        (replace(OWN, process="another start"), RunState.LOST),
        (replace(OWN, process="another start", state=RunState.ENDED), RunState.ENDED),
        (replace(OWN, process="another start", host="elsewhere"), RunState.RUNNING),
        (replace(OWN, process=""), RunState.RUNNING),
    ],
)
def test_the_state_is_the_one_written_down_unless_the_process_is_gone(record: RunRecord, state: RunState) -> None:
    assert record.state_now() is state


@pytest.mark.parametrize("text", ["", "{}", "[1]", "no json", '{"schema": "pasps.run/2"}'])
def test_what_is_no_record_of_ours_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(InvalidError, match=r"run\.json: expected"):
        read_record(tmp_path)


def test_another_schema_is_named(tmp_path: Path) -> None:
    write_json(tmp_path / "run.json", replace(OWN, schema="pasps.run/9"))
    with pytest.raises(InvalidError, match=r"got 'pasps\.run/9'"):
        read_record(tmp_path)


def test_a_directory_without_one_is_no_run_directory(tmp_path: Path) -> None:
    with pytest.raises(InvalidError, match="not a run directory"):
        read_record(tmp_path)


def test_secrets_are_not_written_down() -> None:
    given = {"pasps.predictor.token": "abc", "mail.password": "x", "token": "y", "pasps.policy": "static", "a.secret": None}
    assert without_secrets(given) == {
        "pasps.predictor.token": "***", "mail.password": "***", "token": "***", "pasps.policy": "static", "a.secret": None,
    }  # fmt: skip


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    write_json(tmp_path / "run.json", {"a": 1})
    (tmp_path / f".run.json.{os.getpid()}").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_json(tmp_path / "run.json", {"a": 2})
    assert "1" in (tmp_path / "run.json").read_text()
