"""Traces as CSV, and files that are there whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pasps.data.trace_output import check_span, refuse_existing, trace_lines, write_bytes, write_lines
from pasps.errors import InvalidError
from pasps.spouts.trace_file import read_trace

FEBRUARY_28 = 1_709_164_799_000_000  # 2024-02-28T23:59:59Z


def test_a_trace_is_what_the_trace_spout_reads(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    write_lines(path, trace_lines([3, 0, 5], FEBRUARY_28, 500_000))
    assert path.read_text() == "time,count\n2024-02-28T23:59:59Z,3\n2024-02-28T23:59:59.500Z,0\n2024-02-29T00:00:00Z,5\n"
    found = read_trace(str(path))
    assert found.counts == [3, 0, 5]
    assert found.times == [FEBRUARY_28, FEBRUARY_28 + 500_000, FEBRUARY_28 + 1_000_000]


def test_a_file_that_cannot_be_finished_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("old")

    def lines() -> Iterator[str]:
        yield "new"
        raise RuntimeError("the disk is on fire")

    with pytest.raises(RuntimeError, match="fire"):
        write_lines(path, lines())
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(InvalidError, match=r"x.png cannot be written: No such file or directory"):
        write_bytes(tmp_path / "no" / "x.png", b"1")


def test_what_is_there_is_not_replaced_unasked(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    refuse_existing([path], overwrite=False)
    path.write_text("old")
    refuse_existing([path], overwrite=True)
    with pytest.raises(InvalidError, match=r"x.csv is there already; give another name, or --overwrite"):
        refuse_existing([path], overwrite=False)
    with pytest.raises(InvalidError, match="is a directory, expected the name of a file"):
        refuse_existing([tmp_path], overwrite=True)
    with pytest.raises(InvalidError, match="there is no directory"):
        refuse_existing([tmp_path / "no" / "x.csv"], overwrite=True)


def test_times_end_with_the_year_9999() -> None:
    check_span(253_402_300_790_000_000, 1_000_000, 10)
    with pytest.raises(InvalidError, match="11 rows from 9999-12-31T23:59:50Z on end after the year 9999"):
        check_span(253_402_300_790_000_000, 1_000_000, 11)
