from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from pasps.topology.run_directory import LineFile


def test_a_line_is_in_the_file_at_once(tmp_path: Path) -> None:
    lines = LineFile(tmp_path / "metrics.jsonl")
    assert not lines.path.exists()
    lines.write(b"1")
    assert lines.path.read_bytes() == b"1\n"
    lines.write(b"2")
    lines.close()
    lines.write(b"3")
    assert lines.path.read_bytes() == b"1\n2\n"


def test_a_full_file_becomes_the_older_one_and_what_was_before_it_goes(tmp_path: Path) -> None:
    lines = LineFile(tmp_path / "metrics.jsonl", most_bytes=10)
    for number in range(100, 107):
        lines.write(b"%d" % number)
    lines.close()
    assert (tmp_path / "metrics.1.jsonl").read_bytes() == b"104\n105\n"
    assert lines.path.read_bytes() == b"106\n"


def test_a_line_longer_than_a_file_has_one_of_its_own(tmp_path: Path) -> None:
    lines = LineFile(tmp_path / "metrics.jsonl", most_bytes=4)
    lines.write(b"longer than that")
    lines.write(b"2")
    lines.close()
    assert (tmp_path / "metrics.1.jsonl").read_bytes() == b"longer than that\n"
    assert lines.path.read_bytes() == b"2\n"


def test_who_cannot_write_warns_once_and_goes_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    lines = LineFile(tmp_path / "missing" / "metrics.jsonl")
    with caplog.at_level(logging.WARNING):
        lines.write(b"1")
        lines.write(b"2")
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert lines.dropped == 2
    (tmp_path / "missing").mkdir()
    lines.write(b"3")
    lines.close()
    assert lines.path.read_bytes() == b"3\n"


def test_of_a_line_that_only_fits_in_part_nothing_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = LineFile(tmp_path / "metrics.jsonl")
    lines.write(b"whole")
    real = os.write
    with monkeypatch.context() as full:
        # there is no other way to a disk that is full in the middle of a line
        full.setattr(os, "write", lambda file, data: real(file, data[:3]))
        lines.write(b"torn off")
    lines.write(b"whole too")
    lines.close()
    assert (lines.path.read_bytes(), lines.dropped) == (b"whole\nwhole too\n", 1)
