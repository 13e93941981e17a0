"""A file that has the inode of one that was followed, and another content: what the pattern does not match is nobody's to read."""

from __future__ import annotations

from pathlib import Path

import pytest

from pasps.testing import StepRun
from tests.unit.connectors.line_runs import Note, crash, done, emitted, errors, start, tasks, write


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "app.log"


def replace(log: Path) -> None:
    """As when it is removed, and a file that is made then gets its inode."""
    log.rename(log.with_name("customers.csv"))
    log.with_name("customers.csv").write_text("name,iban\nAnn,DE89370400440532013000\n")


def close_files(run: StepRun) -> None:
    vars(tasks(run)[0].instance)["_files"].close()


def test_it_is_not_read_after_a_crash_and_what_was_lost_is_reported(log: Path) -> None:
    write(log, "one")
    with start(log, workers=2) as run:
        run.advance(1.0)
        Note.shut = True
        write(log, "two")
        run.advance(1.0)
        replace(log)
        Note.shut = False
        crash(run)
        run.advance(3.0)
        assert set(emitted(run)) == {"one", "two"}
        assert f"'{log}': gone; what it had from byte 4 on cannot be read" in errors(run)


def test_after_a_crash_nothing_is_reported_of_a_file_that_was_read_to_its_end(log: Path) -> None:
    write(log, "one")
    with start(log, workers=2) as run:
        run.advance(1.0)
        replace(log)
        crash(run)
        run.advance(3.0)
        assert emitted(run) == ["one"]
        assert errors(run) == [f"'{log}': no file matches; waiting for one"]


def test_nor_is_it_read_when_the_file_waited_and_nothing_of_it_had_been_read(log: Path) -> None:
    write(log.with_name("app.old"), "one")
    with start(log.with_name("app.*"), workers=2, pending=1) as run:
        Note.shut = True
        run.advance(1.0)
        write(log)
        run.advance(1.0)
        write(log, "two")
        run.advance(2.0)
        replace(log)
        Note.shut = False
        crash(run)
        run.advance(3.0)
        assert set(emitted(run)) == {"one"}
        assert errors(run) == [f"'{log}': gone; what it had from byte 0 on cannot be read"]


def test_it_is_not_read_by_the_same_worker(log: Path) -> None:
    write(log, "one")
    with start(log) as run:
        run.advance(0.5)
        close_files(run)
        replace(log)
        write(log, "new")
        run.advance(3.0)
        assert emitted(run) == ["one", "new"]
        assert errors(run) == []


def test_what_was_not_read_of_a_file_that_is_not_open_is_reported(log: Path) -> None:
    write(log, "one")
    with start(log, scan_seconds=0.5, pending=1) as run:
        Note.shut = True
        run.advance(0.2)
        close_files(run)
        write(log, "two")
        run.advance(1.0)
        close_files(run)
        replace(log)
        run.advance(1.0)
        assert f"'{log}': gone; what it had from byte 4 on was not read" in errors(run)
        assert emitted(run) == ["one"]


def test_a_file_that_is_written_anew_after_it_was_renamed_is_not_read_again(log: Path) -> None:
    write(log, "one")
    with start(log) as run:
        run.advance(0.5)
        log.rename(log.with_suffix(".1"))
        write(log, "two")
        run.advance(1.5)
        log.with_suffix(".1").write_text("something else\n")
        run.advance(3.0)
        assert emitted(run) == ["one", "two"]
        write(log, "three")
        run.advance(1.0)
        assert done(run) == ["one", "two", "three"]


def test_nor_does_one_that_lost_what_was_read_last_come_back_while_older_lines_wait(log: Path) -> None:
    write(log, "one", "two")
    with start(log, rotated_seconds=5) as run:
        Note.shut = True
        run.advance(0.5)
        log.rename(log.with_suffix(".1"))
        run.advance(1.5)
        log.with_suffix(".1").write_text("one\nsomething else\n")
        run.advance(10.0)
        Note.shut = False
        run.advance(250.0)  # the time-out
        assert sorted(set(done(run))) == ["one", "two"]
        assert vars(vars(tasks(run)[0].instance)["_files"])["_files"] == {}
