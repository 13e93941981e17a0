"""Files that are renamed, truncated, written anew, removed or never there, and what must not be followed."""

from __future__ import annotations

import errno
import gzip
import os
from pathlib import Path
from typing import Any

import pytest

from pasps.connectors import line_files
from pasps.connectors.line_file import FollowedFile
from pasps.errors import InvalidError
from tests.unit.connectors.line_runs import Note, done, emitted, errors, start, tasks, write


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "app.log"


def ids(run: Any) -> list[str]:
    return [row[2] for row in run.emitted["lines"]["default"]]


def open_files(run: Any) -> Any:
    return vars(vars(vars(tasks(run)[0].instance)["_files"])["_open"])["_files"]


# ---- rotation by renaming


def test_a_renamed_file_is_read_to_its_end_and_the_new_one_from_its_beginning(log: Path) -> None:
    write(log, "one")
    with start(log) as run:
        run.advance(0.5)
        write(log, "two")
        log.rename(log.with_suffix(".1"))
        write(log, "three")
        run.advance(1.5)
        write(log.with_suffix(".1"), "late")
        run.advance(1.5)
        assert sorted(emitted(run)) == ["late", "one", "three", "two"]
        assert len(set(ids(run))) == 4
        assert errors(run) == []


def test_a_file_that_was_renamed_and_removed_is_read_as_long_as_it_is_open(log: Path) -> None:
    write(log, "one")
    with start(log, rotated_seconds=5) as run:
        run.advance(0.5)
        write(log, "two")
        os.unlink(log)
        write(log, "three")
        run.advance(1.5)
        assert sorted(emitted(run)) == ["one", "three", "two"]
        run.advance(10.0)
        assert len(open_files(run)) == 1, "the removed one is closed after a while"
        assert errors(run) == []


def test_files_that_are_new_close_none_that_is_read(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_files, "_MOST_OPEN", 2)
    write(log, "one")
    with start(log.parent / "*.log", scan_seconds=0.001) as run:
        run.advance(0.5)
        write(log, "two")
        os.unlink(log)
        for number in range(5):
            write(log.with_name(f"{number}.log"), f"new {number}")
        run.advance(10.0)
        assert sorted(emitted(run)) == [*(f"new {number}" for number in range(5)), "one", "two"]
        assert errors(run) == []


def test_a_renamed_file_that_is_not_open_is_found_again_in_its_directory(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(log, "one")
    with start(log) as run:
        run.advance(0.5)
        files = vars(tasks(run)[0].instance)["_files"]
        files.close()
        write(log, "two")
        log.rename(log.with_suffix(".1"))
        write(log, "three")
        run.advance(2.5)
        assert sorted(emitted(run)) == ["one", "three", "two"]
        assert errors(run) == []


def test_the_last_part_of_a_rotated_file_is_a_line_when_nothing_came_for_a_while(log: Path) -> None:
    write(log, "one")
    write(log, "part", end="")
    with start(log, rotated_seconds=5) as run:
        run.advance(0.5)
        log.rename(log.with_suffix(".1"))
        write(log, "new")
        run.advance(4.0)
        assert emitted(run) == ["one", "new"]
        run.advance(4.0)
        assert emitted(run) == ["one", "new", "part"]


def test_a_file_that_is_renamed_within_the_pattern_is_not_read_again(log: Path) -> None:
    write(log, "one")
    with start(f"{log}*", par=2) as run:
        run.advance(0.5)
        for number in range(3):
            log.rename(f"{log}.{number}")
            write(log, f"new {number}")
            run.advance(1.5)
        assert sorted(emitted(run)) == ["new 0", "new 1", "new 2", "one"]


def test_lines_of_a_file_that_left_may_still_fail(log: Path) -> None:
    write(log, "one", "two")
    with start(log, rotated_seconds=1) as run:
        Note.shut = True
        run.advance(0.5)
        os.unlink(log)
        run.advance(5.0)
        Note.shut = False
        run.advance(250.0)  # the time-out
        assert sorted(set(done(run))) == ["one", "two"]
        assert vars(vars(tasks(run)[0].instance)["_files"])["_parting"] == {}


def test_a_file_that_is_gone_before_it_was_read_is_reported(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(log, "one")
    with start(log) as run:
        vars(tasks(run)[0].instance)["_files"].close()
        log.unlink()
        run.advance(2.0)
        assert emitted(run) == []
        assert f"'{log}': gone; what it had from byte 0 on was not read" in errors(run)
        write(log, "two")
        run.advance(2.0)
        assert emitted(run) == ["two"]


# ---- truncation


def test_after_a_truncation_it_is_read_from_its_beginning(log: Path) -> None:
    write(log, "one", "two")
    with start(log) as run:
        run.advance(0.5)
        os.truncate(log, 0)
        run.advance(0.5)
        write(log, "one")
        run.advance(0.5)
        assert emitted(run) == ["one", "two", "one"]
        assert len(set(ids(run))) == 3, "the same line of another life of the file is another event"


def test_a_truncated_file_that_has_outgrown_its_old_size_is_read_from_its_beginning(log: Path) -> None:
    write(log, "one", "two")
    with start(log) as run:
        run.advance(0.5)
        os.truncate(log, 0)
        write(log, "three", "four", "five", "six")
        run.advance(0.5)
        assert emitted(run) == ["one", "two", "three", "four", "five", "six"]


def test_what_was_in_flight_when_it_was_truncated_can_still_be_emitted_again(log: Path) -> None:
    write(log, "one", "bad")
    with start(log) as run:
        Note.shut = True
        run.advance(0.5)
        os.truncate(log, 0)
        write(log, "new")
        run.advance(0.5)
        Note.shut = False
        run.advance(250.0)
        assert sorted(set(done(run))) == ["bad", "new", "one"]


def test_a_file_that_is_written_anew_with_the_same_inode_is_read_from_its_beginning(log: Path) -> None:
    write(log, "header", "a")
    with start(log) as run:
        run.advance(0.5)
        log.write_text("header\nb\nc\n")
        run.advance(0.5)
        assert emitted(run) == ["header", "a", "header", "b", "c"]


def rewrite(log: Path, text: str) -> None:
    """In place, later than a moment ago: the clock of a file system may be coarse."""
    log.write_text(text)
    at = log.stat().st_mtime_ns + 1_000_000
    os.utime(log, ns=(at, at))


@pytest.mark.parametrize("is_open", [True, False])
def test_a_file_that_is_written_anew_with_the_same_size_is_read_from_its_beginning(log: Path, is_open: bool) -> None:
    write(log, "header", "a")
    with start(log) as run:
        run.advance(0.5)
        if not is_open:
            vars(tasks(run)[0].instance)["_files"].close()
        rewrite(log, "header\nb\n")
        run.advance(1.5)
        assert emitted(run) == ["header", "a", "header", "b"]
        assert len(set(ids(run))) == 4


def test_so_is_one_whose_only_line_was_not_complete(log: Path) -> None:
    write(log, "abc", end="")
    with start(log) as run:
        run.advance(0.5)
        rewrite(log, "ab\n")
        run.advance(0.5)
        assert emitted(run) == ["ab"]


def test_a_file_that_was_only_touched_is_not_read_again(log: Path) -> None:
    write(log, "one")
    with start(log) as run:
        run.advance(0.5)
        rewrite(log, "one\n")
        run.advance(1.5)
        assert emitted(run) == ["one"]
        assert tasks(run)[0].instance.backlog() == 0


# ---- what cannot be read now, or at all


def test_a_file_that_may_not_be_read_is_reported_once_and_tried_again(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(log, "one")
    opened = FollowedFile.open

    def refuse(file: FollowedFile) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), file.path)

    # a mock, because the tests may run as root, who may read everything
    monkeypatch.setattr(FollowedFile, "open", refuse)
    with start(log) as run:
        run.advance(5.0)
        assert (emitted(run), errors(run)) == ([], [f"'{log}': Permission denied; trying again"])
        monkeypatch.setattr(FollowedFile, "open", opened)
        run.advance(1.5)
        assert emitted(run) == ["one"]


def test_a_pipe_a_directory_and_a_compressed_file_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "old.log.gz").write_bytes(gzip.compress(b"one\n"))
    with pytest.raises(InvalidError, match=r"pipe' is no regular file but a pipe or a device, which cannot be read again$"):
        start(tmp_path / "pipe")
    with pytest.raises(InvalidError, match=r"is a directory; write a pattern: '.*/\*\.log'$"):
        start(tmp_path)
    with pytest.raises(InvalidError, match=r"old.log.gz' is compressed, which cannot be followed: unpack it$"):
        start(tmp_path / "old.log.gz")
    with pytest.raises(InvalidError, match=r"component 'lines': no file matches '.*nothing\*', and 'lines.follow' is false"):
        start(tmp_path / "nothing*", follow=False)


def test_among_others_they_are_left_out_with_a_report(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.log")
    (tmp_path / "directory.log").mkdir()
    (tmp_path / "a.log.gz").write_bytes(gzip.compress(b"one\n"))
    (tmp_path / "hidden.log").write_bytes(gzip.compress(b"one\n"))
    write(tmp_path / "good.log", "one")
    with start(tmp_path / "*.log*") as run:
        run.advance(3.0)
        assert emitted(run) == ["one"]
        assert sorted(text.split("/")[-1] for text in errors(run)) == [
            "a.log.gz': compressed, which cannot be followed: unpack it; left out",
            "hidden.log': compressed, which cannot be followed: unpack it; left out",
            "pipe.log': no regular file but a pipe or a device, which cannot be read again; left out",
        ]


def test_a_path_with_brackets_that_exists_is_no_pattern(tmp_path: Path) -> None:
    write(tmp_path / "[a].log", "one")
    write(tmp_path / "a.log", "two")
    with start(tmp_path / "[a].log", follow=False) as run:
        run.run_to_end()
        assert emitted(run) == ["one"]


def test_two_names_of_one_file_are_one_file(tmp_path: Path) -> None:
    write(tmp_path / "a.log", "one")
    os.link(tmp_path / "a.log", tmp_path / "b.log")
    os.symlink(tmp_path / "a.log", tmp_path / "c.log")
    with start(tmp_path / "*.log") as run:
        run.advance(3.0)
        assert emitted(run) == ["one"]
