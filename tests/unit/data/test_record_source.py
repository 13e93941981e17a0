from __future__ import annotations

import csv
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pasps.data.record_formats import Records
from pasps.data.record_source import (
    REASONS,
    Column,
    Kind,
    csv_source,
    json_source,
    parquet_source,
    text_source,
)
from pasps.data.sql_text import micros_of_moment
from pasps.errors import InvalidError

CSV = Records(("x",), "csv", "time")
PARQUET = Records(("x",), "parquet", "time")
REGEX = Records(("x",), "regex", pattern=r"^(?<time>\S+) (?P<user>\S+)")

CELLS = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0"), max_size=6), min_size=3, max_size=3)


def pattern_of(expression: str) -> re.Pattern[str]:
    """The regular expression in `regexp_extract(line, '...', 1)`, as Python writes it."""
    match = re.search(r"regexp_extract\(line, '(.*)', 1\)", expression)
    assert match is not None
    return re.compile(match[1].replace("\\\\", "\\").replace(r"\'", "'").replace(r"\z", r"\Z"))


@given(CELLS, st.sampled_from([",", ";", "\t", "|"]))
def test_a_cell_of_csv_is_found_wherever_it_is(cells: list[str], delimiter: str) -> None:
    class Row(list[str]):
        write = list.append

    row = Row()
    csv.writer(row, delimiter=delimiter, lineterminator="").writerow(cells)
    for place, cell in enumerate(cells):
        records = replace(CSV, time_column=str(place + 1), delimiter=delimiter, header=False)
        match = pattern_of(csv_source(records, ["1", "2", "3"]).found).match(row[0])
        assert match is not None
        quoted = match[1].startswith('"')
        assert (match[1][1:-1].replace('""', '"') if quoted else match[1]) == cell


@pytest.mark.parametrize("line", ["a,b", "a,b,c,d", 'a,"b,c', 'a,"b"x,c'])
def test_a_line_with_other_columns_is_none(line: str) -> None:
    assert pattern_of(csv_source(CSV, ["a", "time", "c"]).found).match(line) is None


def test_a_line_of_a_megabyte_is_matched_without_recursion() -> None:
    line = 'a,"' + 'x""' * 300_000 + '",c'
    match = pattern_of(csv_source(CSV, ["a", "time", "c"]).found).match(line)
    assert match is not None
    assert match.end() == len(line)


def test_columns_that_are_not_there_are_named() -> None:
    with pytest.raises(InvalidError, match=r"column 'time': it is the --time-column, and the columns are a, b"):
        csv_source(CSV, ["a", "b"])
    with pytest.raises(InvalidError, match=r"column 'user': it is the --key, and the columns are time"):
        csv_source(replace(CSV, key="user"), ["time"])
    with pytest.raises(InvalidError, match=r"column 'time': .*, and there are 2 of that name"):
        csv_source(CSV, ["time", "time"])
    with pytest.raises(InvalidError, match=r"column 'TimeStamp': these records are said to have it"):
        csv_source(Records(("x",), "dns"), ["time", "Duration"])
    with pytest.raises(InvalidError, match=r"column '3': .*, and the columns are 1, 2"):
        csv_source(replace(CSV, time_column="3", header=False), ["1", "2"])


def test_keys_are_those_of_the_format() -> None:
    with pytest.raises(InvalidError, match=r"--key: hdfs records can be split by level, component, got 'host'"):
        text_source(Records(("x",), "hdfs", key="host"))
    with pytest.raises(InvalidError, match=r"--key: the pattern has the groups time, user, got 'host'"):
        text_source(replace(REGEX, key="host"))
    assert text_source(replace(REGEX, key="user")).key == text_source(REGEX).found.replace(", 1)", ", 2)")


def test_json_fields_are_paths() -> None:
    assert r"$[\'user\'][\'at\']" in json_source(Records(("x",), "jsonl", "user.at")).found
    assert r"$[\'a.b\']" in json_source(Records(("x",), "jsonl", "$['a.b']")).found
    for wrong in ("a..b", "a[0]", "it's", ""):
        with pytest.raises(InvalidError, match=r"expected a JSON field such as created_at or user\.created_at"):
            json_source(Records(("x",), "jsonl", wrong))


def typed(**kinds: str) -> dict[str, Column]:
    return {column: Column(column, kind) for column, kind in kinds.items()}


def test_parquet_columns_must_be_able_to_hold_times() -> None:
    with pytest.raises(InvalidError, match=r"column 'time': it is the --time-column, and the columns are a, b\.c"):
        parquet_source(PARQUET, typed(a="string") | {"b.c": Column("`b`.`c`", "date")})
    with pytest.raises(InvalidError, match=r"column 'time' holds numbers \(decimal\): say of what, by --time-format seconds, millis"):
        parquet_source(PARQUET, typed(time="decimal(20,3)"))
    with pytest.raises(InvalidError, match=r"column 'time': expected a time, a date, a text or a number, got array<int>"):
        parquet_source(PARQUET, typed(time="array<int>"))
    with pytest.raises(InvalidError, match=r"column 'user': it is the --key"):
        parquet_source(replace(PARQUET, key="user"), typed(time="date"))
    assert parquet_source(PARQUET, typed(time="timestamp")).micros == micros_of_moment("CAST(time AS TIMESTAMP)", "UTC")


def test_every_bad_kind_has_a_reason() -> None:
    assert set(REASONS) == {kind for kind in Kind if kind >= Kind.NO_TIME}
