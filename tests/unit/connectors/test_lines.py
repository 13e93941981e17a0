"""The line spout on a clock that stands still: what is a line, what fails, what is bounded, what it says of its backlog."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pasps import Topology
from pasps.connectors import line_file, line_files
from pasps.connectors.lines import LineSpout
from pasps.testing import StepRun, complete_topology
from tests.unit.connectors.line_runs import Lines, Note, done, emitted, errors, places, start, tasks, write


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "app.log"


def test_whole_lines_are_emitted_and_the_last_one_waits_for_its_newline(log: Path) -> None:
    write(log, "one", "", "two\r")
    write(log, "thr", end="")
    with start(log) as run:
        run.advance(1.0)
        assert emitted(run) == ["one", "", "two"]
        write(log, "ee", "four")
        run.advance(1.0)
        assert emitted(run) == ["one", "", "two", "three", "four"]
        assert errors(run) == []


def test_a_line_comes_with_its_path_and_an_id_of_its_own(log: Path) -> None:
    write(log, "one", "two")
    with start(log) as run:
        run.advance(0.1)
        rows = run.emitted["lines"]["default"]
        assert [row[1] for row in rows] == [str(log)] * 2
        name = rows[0][2].removesuffix(":0")
        assert [row[2] for row in rows] == [f"{name}:0", f"{name}:4"]
        assert run.verdicts.acked["lines"] == [(name, 0), (name, 4)]


def test_a_new_line_waits_for_no_scan(log: Path) -> None:
    write(log, "one")
    with start(log, scan_seconds=3600) as run:
        run.advance(1.0)
        write(log, "two")
        run.advance(0.1)
        assert emitted(run) == ["one", "two"]


@pytest.mark.parametrize("at_start", ["old\n", "old\npart", ""])
def test_from_the_end_only_lines_that_become_complete_are_emitted(log: Path, at_start: str) -> None:
    log.write_text(at_start)
    with start(log, start="end") as run:
        run.advance(1.0)
        assert emitted(run) == []
        write(log, "new")
        run.advance(1.0)
        assert emitted(run) == ["partnew" if "part" in at_start else "new"]


def test_without_following_it_ends_and_the_last_line_needs_no_newline(tmp_path: Path) -> None:
    write(tmp_path / "a.log", "one", "two")
    write(tmp_path / "b.log", "three", end="")
    write(tmp_path / "c.log")
    with start(tmp_path / "*.log", follow=False) as run:
        run.run_to_end()
        assert sorted(emitted(run)) == ["one", "three", "two"]
        spout = tasks(run)[0]
        assert spout.finished
        assert places(run) == {"a.log": 8, "b.log": 5, "c.log": 0}


def test_tasks_share_the_files(tmp_path: Path) -> None:
    for number in range(40):
        write(tmp_path / f"{number}.log", f"line {number}")
    with start(tmp_path / "*.log", par=3, workers=2, follow=False) as run:
        run.run_to_end()
        assert sorted(emitted(run)) == sorted(f"line {number}" for number in range(40))
        assert all(spout.collector.sent > 4 for spout in tasks(run))


# ---- failures


def test_a_line_that_fails_is_emitted_again_until_it_is_acked(log: Path) -> None:
    write(log, "good", "bad", "good again")
    with start(log) as run:
        Note.fails, Note.failures = "bad", 5
        run.advance(10.0)
        assert emitted(run).count("bad") == 6
        assert sorted(done(run)) == ["bad", "good", "good again"]


def test_the_first_retry_is_at_once_and_later_ones_pause(log: Path) -> None:
    write(log, "bad")
    with start(log) as run:
        Note.fails, Note.failures = "bad", 10**6
        run.advance(0.05)
        assert emitted(run) == ["bad", "bad"]
        run.advance(60.0)
        assert 10 <= len(emitted(run)) <= 20


def test_after_so_many_tries_a_line_is_put_aside_with_a_report(log: Path) -> None:
    write(log, "one", "bad", "two")
    with start(log, tries=3, follow=False) as run:
        Note.fails, Note.failures = "bad", 10**6
        run.run_to_end()
        assert emitted(run).count("bad") == 3
        assert errors(run) == [f"'{log}': the line at byte 4 failed 3 times; put aside"]
        assert places(run) == {"app.log": 12}


def test_no_more_than_the_bound_is_in_flight(log: Path) -> None:
    write(log, *map(str, range(10_000, 15_000)))
    with start(log, pending=700) as run:
        Note.shut = True
        run.advance(5.0)
        assert 700 <= len(emitted(run)) <= 700 + line_file.MOST_LINES
        assert tasks(run)[0].instance.backlog() == 5_000 - len(emitted(run))


def test_nothing_is_kept_of_what_is_acked(log: Path) -> None:
    write(log, *map(str, range(5_000)))
    with start(log, follow=False) as run:
        run.run_to_end()
        assert emitted(run) == list(map(str, range(5_000)))
        files = vars(tasks(run)[0].instance)["_files"]
        assert [len(file.pending) for file in vars(files)["_files"].values()] == [0]


# ---- lines that are not what they should be


def test_bad_utf8_is_replaced_and_counted(log: Path) -> None:
    log.write_bytes(b"caf\xc3\xa9\ncaf\xe9\n\xff\xfe\n")
    with start(log) as run:
        run.advance(0.1)
        assert emitted(run) == ["café", "caf�", "��"]
        assert errors(run)[-1] == f"'{log}': the line at byte 11 is no UTF-8, its bad bytes were replaced; 2 such lines so far"
        assert errors(run)[0].endswith("1 such lines so far")


def test_bytes_are_emitted_as_they_are(log: Path) -> None:
    log.write_bytes(b"caf\xe9\r\n\x00\n")
    with start(log, bytes=True) as run:
        run.advance(0.1)
        assert emitted(run) == [b"caf\xe9", b"\x00"]
        assert errors(run) == []


@pytest.mark.parametrize("length", [101, 65_536, 200_000])
def test_a_line_that_is_too_long_is_put_aside_and_the_next_one_comes(log: Path, length: int) -> None:
    write(log, "x" * 100, "y" * length, "next")
    with start(log, max_bytes=100) as run:
        run.advance(0.1)
        assert emitted(run) == ["x" * 100, "next"]
        assert errors(run) == [f"'{log}': the line at byte 101 has {length} bytes, more than 'lines.max.bytes' (100); put aside"]


def test_a_line_that_is_too_long_may_grow_slowly_and_never_end(log: Path) -> None:
    with start(log, max_bytes=100) as run:
        for _ in range(5):
            write(log, "y" * 60, end="")
            run.advance(0.5)
        write(log, "", "next")
        run.advance(0.5)
        assert emitted(run) == ["next"]
        assert errors(run)[-1].startswith(f"'{log}': the line at byte 0 has 300 bytes")
    write(log, "z" * 500, end="")
    with start(log, max_bytes=100, follow=False) as run:
        run.run_to_end()
        assert emitted(run) == ["next"]
        assert errors(run)[-1].startswith(f"'{log}': the line at byte 306 has 500 bytes")


def test_a_line_longer_than_a_piece_is_one_line(log: Path) -> None:
    write(log, "x" * 300_000, "y")
    with start(log) as run:
        run.advance(0.1)
        assert [len(line) for line in emitted(run)] == [300_000, 1]


class Pairs(Lines):
    outputs = ("key", "value")

    def values(self, line: str | bytes, path: str, line_id: str) -> Sequence[Any]:
        key, value = str(line).split("=")
        return key, int(value)


def test_a_subclass_makes_its_own_tuples_and_puts_aside_what_it_cannot_read(log: Path) -> None:
    write(log, "a=1", "b", "c=2", "d=x")
    with start(log, shape=Pairs, follow=False) as run:
        run.run_to_end()
        assert run.emitted["lines"]["default"] == [("a", 1), ("c", 2)]
        assert [text.split(": ", 1)[1] for text in errors(run)] == [
            "the line at byte 4 cannot be read: not enough values to unpack (expected 2, got 1); put aside",
            "the line at byte 10 cannot be read: invalid literal for int() with base 10: 'x'; put aside",
        ]


class Stumbles(Lines):
    tries = 0

    def values(self, line: str | bytes, path: str, line_id: str) -> Sequence[Any]:
        if line == "two" and Stumbles.tries < 3:
            Stumbles.tries += 1
            raise LookupError("not yet")
        return super().values(line, path, line_id)


def test_an_error_that_is_no_fault_of_the_line_is_tried_again(log: Path) -> None:
    Stumbles.tries = 0
    write(log, "one", "two")
    with start(log, shape=Stumbles, follow=False) as run:
        run.run_to_end()
        assert emitted(run) == ["one", "two"]
        assert len(errors(run)) == 3


def test_what_stumbles_while_it_is_emitted_again_is_not_lost(log: Path) -> None:
    Stumbles.tries = 3
    write(log, "one", "two", "three")
    with start(log, shape=Stumbles, follow=False) as run:
        Note.fails = "t"
        run.step()
        Stumbles.tries = 0
        run.run_to_end()
        assert sorted(done(run)) == ["one", "three", "two"]
        assert len(errors(run)) == 3


# ---- the whole


def test_many_files_are_not_all_open_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_files, "_MOST_OPEN", 3)
    paths = [tmp_path / f"{number}.log" for number in range(10)]
    for path in paths:
        write(path, "one")
    with start(tmp_path / "*.log") as run:
        run.advance(1.0)
        for path in paths:
            write(path, "two")
        run.advance(1.5)
        assert sorted(emitted(run)) == ["one"] * 10 + ["two"] * 10
        files = vars(vars(tasks(run)[0].instance)["_files"])["_files"].values()
        assert sum(file.handle is not None for file in files) == 3


def test_a_topology_of_a_user_runs_to_its_end(log: Path) -> None:
    write(log, "one", "two")

    class Reads(Topology):
        lines = LineSpout.spec(config={"lines.path": str(log), "lines.follow": False})
        note = Note.spec(inputs=[lines])

    Note.shut, Note.fails = False, "never"
    completed = complete_topology(Reads)
    assert completed.rows("note") == [("one",), ("two",)]
    assert completed.errors == []


def test_without_tracking_lines_are_done_when_they_are_emitted(log: Path) -> None:
    write(log, "one", "two")

    class Untracked(Topology):
        config = {"topology.acker.executors": 0}
        lines = LineSpout.spec(config={"lines.path": str(log), "lines.follow": False})
        note = Note.spec(inputs=[lines])

    with StepRun(Untracked, 1) as run:
        run.run_to_end()
        assert places(run) == {"app.log": 8}
