from __future__ import annotations

from dataclasses import replace

import pytest

from pasps.data.record_formats import Records
from pasps.data.record_source import columns_of_headers, columns_without_header
from pasps.errors import InvalidError

CSV = Records(("x",), "csv", "time")


def test_columns_are_those_of_the_headers() -> None:
    assert columns_of_headers(replace(CSV, delimiter=";"), {"a": b'id; time ;"a;""b"""'}) == ["id", "time", 'a;"b"']
    assert columns_of_headers(CSV, {"b": b"time,bytes", "a": b'"time",gr\xf6\xdfe'}) == ["time", "gr\ufffd\ufffde"]
    assert columns_of_headers(CSV, {"a": b"id,at", "b": b"id,at"}) == ["id", "at"]


@pytest.mark.parametrize(
    ("records", "other"),
    [
        (CSV, b"user,time"),
        (CSV, b"time,user,more"),
        (CSV, b"2024-02-29,ann"),
        (replace(CSV, key="user"), b"time,name"),
        (Records(("x",), "dns"), b"Duration,TimeStamp"),
    ],
)
def test_headers_that_would_be_read_otherwise_are_refused(records: Records, other: bytes) -> None:
    one = b"TimeStamp,Duration" if records.format == "dns" else b"time,user"
    with pytest.raises(InvalidError, match=r"line of a\.csv has the columns .*, and that of b\.csv has .*: expected as many") as error:
        columns_of_headers(records, {"b.csv": other, "a.csv": one})
    assert ", ".join(one.decode().split(",")) in str(error.value)
    assert ", ".join(other.decode().split(",")) in str(error.value)


def test_what_is_no_header_is_named_in_short() -> None:
    with pytest.raises(InvalidError, match=r"the first line of a\.csv does not name columns \(field larger than field limit"):
        columns_of_headers(CSV, {"a.csv": b"x" * 200_000})
    with pytest.raises(InvalidError, match=r"b\.csv has x{200}\.\.\.: expected") as error:
        columns_of_headers(CSV, {"a.csv": b"time", "b.csv": b"x" * 100_000})
    assert "give --no-header" in str(error.value)


@pytest.mark.parametrize(("counts", "columns"), [([3, 1, 3, 2], 3), ([1, 2], 2), ([1], 1), ([9, 2, 2], 2)])
def test_without_a_header_there_are_as_many_columns_as_most_lines_have(counts: list[int], columns: int) -> None:
    assert columns_without_header(counts) == [str(number) for number in range(1, columns + 1)]
