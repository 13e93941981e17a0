"""Run directories as runs leave them: whole, cut off, rotated, damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from pasps.control import run_log
from pasps.errors import InvalidError
from pasps.report import run_files
from pasps.report.run_files import RunFiles
from tests.unit.report.builders import lines, made_up, sample, write_run


def uptimes(files: RunFiles) -> list[float]:
    return [one.uptime for one in files.samples]


def test_a_run_that_ended_is_read_whole(tmp_path: Path) -> None:
    samples, records = made_up(30, 10)
    files = RunFiles(write_run(tmp_path, samples, records))
    assert list(files.samples) == samples
    assert list(files.records) == records
    assert list(files.samples) == samples
    assert files.run["name"] == "wordcount"
    assert files.ended
    assert (files.samples.unreadable, files.samples.cut_off) == (0, False)


def test_a_killed_run_ends_in_half_a_line(tmp_path: Path) -> None:
    whole = b"".join(lines([sample(1), sample(2), sample(3)]))
    (tmp_path / "metrics.jsonl").write_bytes(whole[:-100])
    files = RunFiles(tmp_path)
    assert uptimes(files) == [1, 2]
    assert files.samples.cut_off
    assert files.samples.unreadable == 0
    assert not files.ended


def test_a_last_line_that_lacks_only_its_end_is_read(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_bytes(b"".join(lines([sample(1), sample(2)])).rstrip())
    assert uptimes(RunFiles(tmp_path)) == [1, 2]


def test_what_was_rotated_comes_first(tmp_path: Path) -> None:
    (tmp_path / "metrics.1.jsonl").write_bytes(b"".join(lines([sample(1), sample(2)])))
    (tmp_path / "metrics.jsonl").write_bytes(b"".join(lines([sample(3)])))
    assert uptimes(RunFiles(tmp_path)) == [1, 2, 3]


def test_damaged_lines_are_left_out_and_counted_once(tmp_path: Path) -> None:
    good = list(lines([sample(1), sample(2)]))
    other = run_log.written(sample(9)).replace(b"pasps.sample/1", b"pasps.sample/9") + b"\n"
    (tmp_path / "metrics.jsonl").write_bytes(good[0] + b"\x00\xff nonsense\n\n" + other + good[1])
    files = RunFiles(tmp_path)
    for _ in range(2):
        assert uptimes(files) == [1, 2]
        assert files.samples.unreadable == 2


def test_a_line_without_end_is_not_read_into_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_files, "MOST_LINE_BYTES", 1000)
    (tmp_path / "metrics.jsonl").write_bytes(b"x" * 10_000 + b"\n" + b"".join(lines([sample(1)])))
    assert uptimes(RunFiles(tmp_path)) == [1]


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"\xff"])
def test_a_damaged_record_of_the_run_is_as_none(tmp_path: Path, damage: bytes) -> None:
    write_run(tmp_path, [sample(1)], [])
    (tmp_path / "run.json").write_bytes(damage)
    (tmp_path / "summary.json").write_bytes(damage)
    files = RunFiles(tmp_path)
    assert (files.run, files.ended) == ({}, False)


def test_a_directory_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidError, match="expected the directory of a run, got nothing there"):
        RunFiles(tmp_path / "none")
    (tmp_path / "file").touch()
    with pytest.raises(InvalidError, match="got a file"):
        RunFiles(tmp_path / "file")


def test_a_directory_without_samples_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InvalidError, match=r"expected metrics.jsonl .* let it run for longer"):
        RunFiles(tmp_path)
