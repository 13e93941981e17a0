"""The line spout when its worker dies: where it goes on, whatever the files are called by then."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pasps.runtime.spout_executor import read_position
from tests.unit.connectors.line_runs import Lines, Note, crash, done, emitted, errors, places, start, tasks, write


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "app.log"


def numbers(count: int) -> list[str]:
    return [f"line {number:05}" for number in range(count)]


def test_it_goes_on_from_the_first_line_that_was_not_acked(log: Path) -> None:
    write(log, *numbers(2_000))
    with start(log, workers=2) as run:
        run.advance(0.6)
        before = len(emitted(run))
        assert before == 2_000
        Note.shut = True
        write(log, *numbers(2_010)[2_000:])
        run.advance(0.6)
        Note.shut = False
        crash(run)
        run.advance(2.0)
        assert sorted(set(done(run))) == numbers(2_010)
        assert emitted(run)[2_010:] == numbers(2_010)[2_000:], "nothing older"
        assert errors(run) == []


def test_it_goes_on_in_a_file_whose_name_is_no_text(tmp_path: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/app-\xff.log"))
    write(odd, *numbers(100))
    with start(f"{tmp_path}/*.log", workers=2) as run:
        run.advance(2.0)
        crash(run)
        write(odd, *numbers(110)[100:])
        run.advance(2.0)
        assert emitted(run) == numbers(110)
        assert errors(run) == []


def test_what_is_emitted_again_has_the_ids_it_had(log: Path) -> None:
    write(log, *numbers(10))
    with start(log, workers=2) as run:
        Note.shut = True
        run.advance(1.0)
        crash(run)
        Note.shut = False
        run.advance(300.0)
        rows = run.emitted["lines"]["default"]
        assert len(rows) >= 20
        assert len({row[2] for row in rows}) == 10
        assert sorted(set(done(run))) == numbers(10)


def test_a_line_that_fails_holds_the_position_of_its_file_alone(tmp_path: Path) -> None:
    write(tmp_path / "a.log", "bad", *numbers(1_000))
    write(tmp_path / "b.log", *numbers(3_000)[2_000:])
    with start(tmp_path / "*.log", workers=2) as run:
        Note.fails, Note.failures = "bad", 10**6
        run.advance(3.0)
        assert places(run) == {"a.log": 0, "b.log": 11_000}
        crash(run)
        Note.fails = "never"
        run.advance(10.0)
        assert sorted(set(done(run))) == sorted(["bad", *numbers(1_000), *numbers(3_000)[2_000:]])
        again = emitted(run)[len(emitted(run)) - 1_001 :]
        assert sorted(again) == sorted(["bad", *numbers(1_000)])


def test_a_file_that_was_rotated_meanwhile_is_found_again(log: Path) -> None:
    write(log, "one")
    with start(log, workers=2) as run:
        run.advance(1.0)
        Note.shut = True
        write(log, "two")
        run.advance(1.0)
        write(log, "three")
        log.rename(log.with_suffix(".1"))
        write(log, "four")
        crash(run)
        Note.shut = False
        run.advance(3.0)
        assert sorted(done(run)) == ["four", "one", "three", "two"]
        assert errors(run) == []


@pytest.mark.parametrize("bound", ["lines.pending", "topology.max.spout.pending"])
def test_a_file_that_came_and_went_while_there_was_no_room_is_found_again(log: Path, bound: str) -> None:
    write(log, *numbers(20))
    with start(log, workers=2, pending=5 if bound == "lines.pending" else 10_000) as run:
        Note.shut = True
        run.advance(1.0)
        if bound == "topology.max.spout.pending":
            tasks(run)[0].max_pending = 1
        for name in (".1", ".2"):
            log.rename(log.with_suffix(name))
            write(log, f"before {name}")
            run.advance(2.0)
            tasks(run)[0].instance.backlog()  # as at each cut, also when there is no room
        log.rename(log.with_suffix(".3"))
        run.advance(0.1)
        crash(run)
        Note.shut = False
        run.advance(3.0)
        assert sorted(set(done(run))) == sorted(["before .1", "before .2", *numbers(20)])


def test_a_line_that_cannot_be_made_again_does_not_keep_other_files_from_the_position(log: Path) -> None:
    class Brittle(Lines):
        works = True

        def values(self, line: str | bytes, path: str, line_id: str) -> Sequence[Any]:
            if not type(self).works:
                raise RuntimeError(line)
            return (line, path, line_id)

    write(log, "one")
    with start(log, workers=2, shape=Brittle) as run:
        Note.fails, Note.failures = "one", 3
        run.advance(0.05)
        Brittle.works = False
        log.rename(log.with_suffix(".1"))
        write(log, "two")
        run.advance(3.0)
        log.rename(log.with_suffix(".2"))
        crash(run)
        Brittle.works = True
        run.advance(3.0)
        assert sorted(set(done(run))) == ["one", "two"]


def test_a_file_that_was_truncated_meanwhile_is_read_from_its_beginning(log: Path) -> None:
    write(log, "one", "two")
    with start(log, workers=2) as run:
        run.advance(1.0)
        os.truncate(log, 0)
        write(log, "uno", "due", "tre")
        crash(run)
        run.advance(3.0)
        assert done(run) == ["one", "two", "uno", "due", "tre"]


def test_a_file_that_is_gone_meanwhile_is_reported(log: Path) -> None:
    write(log, "one")
    with start(log, workers=2) as run:
        Note.shut = True
        run.advance(1.0)
        log.unlink()
        crash(run)
        run.advance(1.0)
        waits, gone = f"'{log}': no file matches; waiting for one", f"'{log}': gone; what it had from byte 0 on cannot be read"
        assert set(errors(run)) == {waits, gone}


def test_a_file_that_was_written_anew_with_the_same_size_meanwhile_is_read_from_its_beginning(log: Path) -> None:
    write(log, "one", "two")
    with start(log, workers=2) as run:
        run.advance(1.0)
        log.write_text("uno\ndue\n")
        crash(run)
        run.advance(1.0)
        assert done(run) == ["one", "two", "uno", "due"]


def test_a_file_that_was_read_to_its_end_and_is_gone_meanwhile_is_nobodys_loss(log: Path) -> None:
    write(log, "one")
    with start(log, workers=2) as run:
        run.advance(1.0)
        log.unlink()
        crash(run)
        run.advance(1.0)
        assert errors(run) == [f"'{log}': no file matches; waiting for one"]


def test_new_files_are_read_from_their_beginning_also_from_the_end(tmp_path: Path) -> None:
    write(tmp_path / "a.log", "old")
    with start(tmp_path / "*.log", workers=2, start="end") as run:
        run.advance(1.0)
        write(tmp_path / "a.log", "one")
        write(tmp_path / "b.log", "two")
        crash(run)
        run.advance(2.0)
        assert sorted(done(run)) == ["one", "two"]


def test_without_following_what_is_read_is_not_read_again(tmp_path: Path) -> None:
    write(tmp_path / "a.log", "one", "two")
    write(tmp_path / "b.log", "three", "last", end="")
    with start(tmp_path / "*.log", workers=2, follow=False) as run:
        run.run_to_end()
        crash(run)
        run.run_to_end()
        assert len(emitted(run)) == 3
        assert errors(run) == []


def test_a_last_line_without_newline_does_not_hide_that_the_file_is_the_same(log: Path) -> None:
    write(log, "one")
    write(log, "last", end="")
    with start(log, workers=2, follow=False) as run:
        Note.fails, Note.failures = "last", 10**6
        run.advance(2.0)
        crash(run)
        Note.fails = "never"
        run.run_to_end()
        assert sorted(done(run)) == ["last", "one"]


def test_in_a_line_that_is_too_long_it_goes_on_at_its_beginning(log: Path) -> None:
    write(log, "one")
    write(log, "y" * 500, end="")
    with start(log, workers=2, max_bytes=100) as run:
        run.advance(1.0)
        crash(run)
        write(log, "yyy", "two")
        run.advance(2.0)
        assert done(run) == ["one", "two"]
        assert errors(run) == [f"'{log}': the line at byte 4 has 503 bytes, more than 'lines.max.bytes' (100); put aside"]


def test_the_backlog_is_known_before_anything_is_read_again(log: Path) -> None:
    write(log, *numbers(100))
    with start(log, workers=2) as run:
        run.advance(1.0)
        Note.shut = True
        crash(run)
        for worker in run.workers.values():
            worker.deactivate()
        write(log, *numbers(130)[100:])
        run.advance(1.0)
        assert emitted(run) == numbers(100)
        assert tasks(run)[0].instance.backlog() == 30


def test_one_that_closes_saves_how_far_it_is(log: Path) -> None:
    write(log, "one", "two")
    with start(log) as run:
        run.advance(1.0)
        (spout,) = tasks(run)
        before = spout.position()
        write(log, "three")
        run.advance(0.1)
        run.workers["w0"].close()
        assert spout.position() != before
        assert read_position(spout.position() or b"")["read"][1] == 3
