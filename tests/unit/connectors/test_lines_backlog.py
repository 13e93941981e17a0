"""What the line spout says of its backlog, and that it says it once when there is nothing to follow."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.connectors.line_runs import Note, emitted, errors, start, tasks, write


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "app.log"


def test_the_backlog_is_what_is_there_and_was_not_emitted(log: Path) -> None:
    write(log, *["0123456789"] * 1_000)
    with start(log, scan_seconds=0.5) as run:
        instance = tasks(run)[0].instance
        assert instance.backlog() is None, "nobody knows how long the lines are"
        tasks(run)[0].max_pending = 1
        Note.shut = True
        run.advance(1.0)
        assert instance.backlog() == 1_000 - len(emitted(run))
        write(log, *["0123456789"] * 500)
        assert instance.backlog() == 1_500 - len(emitted(run))
        Note.shut = False
        tasks(run)[0].max_pending = None
        tasks(run)[0].wake()
        run.advance(1.0)
        assert instance.backlog() == 0
        write(log, "part", end="")
        run.advance(1.0)
        assert instance.backlog() == 0, "a line that is not complete is not due"


def test_an_empty_or_missing_file_has_no_backlog(log: Path) -> None:
    with start(log) as run:
        assert tasks(run)[0].instance.backlog() == 0
        run.advance(30.0)
        assert errors(run) == [f"'{log}': no file matches; waiting for one"], "said once"
        write(log, "one")
        run.advance(1.5)
        assert emitted(run) == ["one"]
