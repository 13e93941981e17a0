"""Traces in files: what is read, and what a wrong line is told."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from pasps.errors import InvalidError
from pasps.spouts.trace_file import read_trace


def written(directory: Path, text: str) -> str:
    path = directory / "rates.csv"
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    "times",
    [
        ["2015-02-26 21:42:00", "2015-02-26 21:43:00", "2015-02-26 21:44:00"],
        ["2015-02-26T21:42:00Z", "2015-02-26T22:43:00+01:00", "2015-02-26T21:44:00Z"],
        ["1424986920", "1424986980", "1424987040"],
        ["0", "60.0", "1.2e2"],
    ],
    ids=["iso", "zones", "epoch", "plain"],
)
def test_times_of_any_kind_give_the_length_of_a_row(tmp_path: Path, times: list[str]) -> None:
    lines = [f"{time},{count},more" for time, count in zip(times, ("3", "0.25", "1e2"), strict=True)]
    file = read_trace(written(tmp_path, "time,count,note\n\n" + "\n  ,\n".join(lines) + "\n\n"))
    assert file.counts == [3, Fraction(1, 4), 100]
    assert file.spacing_seconds() == 60


def test_few_gaps_do_not_change_the_length_of_a_row(tmp_path: Path) -> None:
    times = [*range(0, 300, 10), 500, *range(510, 600, 10)]
    file = read_trace(written(tmp_path, "t,n\n" + "".join(f"{time},1\n" for time in times)))
    assert file.spacing_seconds() == 10


def test_a_byte_order_mark_and_quotes_are_read(tmp_path: Path) -> None:
    assert read_trace(written(tmp_path, '\ufefft,n\r\n"1","2"\r\n')).counts == [2]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("t,n\n1,2\n\n2,many\n", "line 4, column 2: expected a count of at least 0, got 'many'"),
        ("t,n\n1,-2\n", "line 2, column 2: expected a count of at least 0, got '-2'"),
        ("t,n\n1,nan\n", "line 2, column 2: expected a count of at least 0, got 'nan'"),
        ("t,n\n1," + "9" * 5000 + "\n", "line 2, column 2: expected a count of at least 0, got '999"),
        ("t,n\n1,1/2\n", "line 2, column 2: expected a count of at least 0, got '1/2'"),
        ("t,n\n1,2\n1,2\n", "line 3, column 1: expected a time later than that of the row before, got '1'"),
        ("t,n\nnoon,2\n", "line 2, column 1: expected a time, in ISO 8601 or in seconds, got 'noon'"),
        ("t,n\n1\n", "line 2, column 2: expected a time and a count, got '1' alone"),
        ("1,2\n2,3\n", "line 1, column 2: expected a header such as 'time,count', got the number '2'"),
        ("t,n\n", "expected a header and at least one row"),
        ("", "expected a header and at least one row"),
        ("t,n\n1," + "2" * 200_000, "line 2: expected CSV, got what is none"),
    ],
)
def test_a_wrong_file_is_named_with_line_and_column(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(InvalidError) as caught:
        read_trace(written(tmp_path, text))
    assert "rates.csv" in str(caught.value)
    assert told in str(caught.value)


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidError, match="cannot be read: No such file"):
        read_trace(str(tmp_path / "none.csv"))
    (tmp_path / "binary.csv").write_bytes(b"t,n\n\xff\xfe,1\n")
    with pytest.raises(InvalidError, match="UTF-8, got byte 0xff"):
        read_trace(str(tmp_path / "binary.csv"))


def test_rows_that_do_not_say_how_long_they_last(tmp_path: Path) -> None:
    with pytest.raises(InvalidError, match=r"has one row.*set trace\.step\.seconds"):
        read_trace(written(tmp_path, "t,n\n1,2\n")).spacing_seconds()
    with pytest.raises(InvalidError, match=r"1 to 5 s apart; set trace\.step\.seconds"):
        read_trace(written(tmp_path, "t,n\n1,1\n2,1\n4,1\n9,1\n")).spacing_seconds()
