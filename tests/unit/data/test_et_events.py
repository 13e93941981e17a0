"""`--events`: which spout a file is for, and the rows in it; bad ones are counted and named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from pasps.api import Bolt, Spout, Stream, TopologyBuilder
from pasps.api.blueprint import Blueprint
from pasps.data.et_events import EventFile, Rows, event_files, read_events
from pasps.errors import InvalidError


class Orders(Spout):
    outputs = ["user", "price"]

    def next_tuple(self) -> None: ...


class Clicks(Spout):
    outputs = [Stream(["url"]), Stream(["url", "model"], "mobile"), Stream(["url"], "chosen", direct=True)]

    def next_tuple(self) -> None: ...


class Sink(Bolt):
    def process(self, tup: Any) -> None: ...


def shop(*spouts: str) -> Blueprint:
    builder = TopologyBuilder()
    for name in spouts:
        builder.set_spout(name, {"orders": Orders, "clicks": Clicks}[name])
    builder.set_bolt("sink", Sink).shuffle_grouping(spouts[0])
    return builder.create_topology("shop")


# ---- which spout


@pytest.mark.parametrize(
    ("text", "file"),
    [
        ("orders=a.csv", EventFile("orders", "default", "a.csv")),
        ("clicks=gs://b/day=3/c.jsonl", EventFile("clicks", "default", "gs://b/day=3/c.jsonl")),
        ("clicks:mobile=c.parquet", EventFile("clicks", "mobile", "c.parquet")),
    ],
)
def test_a_file_is_for_a_spout_and_a_stream(text: str, file: EventFile) -> None:
    assert event_files([text], shop("orders", "clicks")) == [file]


@pytest.mark.parametrize("path", ["a.csv", "gs://bucket/day=3/a.csv", "./day=3.csv"])
def test_of_one_spout_with_one_stream_nothing_need_be_said(path: str) -> None:
    assert event_files([path], shop("orders")) == [EventFile("orders", "default", path)]


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["a.csv"], r"several spouts \(orders, clicks\); write SPOUT=a\.csv"),
        (["order=a.csv"], r"no spout 'order'; did you mean 'orders'\?"),
        (["sink=a.csv"], "no spout 'sink'; its spouts are orders, clicks"),
        (["clicks:desktop=a.csv"], r"no stream 'desktop'; it has default, mobile, chosen; write clicks:default=a\.csv"),
        (["clicks:chosen=a.csv"], "of direct stream 'chosen' spout 'clicks' itself chooses the tasks"),
        (["orders=a.csv", "orders=b.csv"], r"b\.csv: spout 'orders', stream 'default', has a file already"),
    ],
)
def test_what_is_not_clear_is_refused_with_the_cure(texts: Sequence[str], words: str) -> None:
    with pytest.raises(InvalidError, match=words):
        event_files(texts, shop("orders", "clicks"))


# ---- what is in a file; Spark gives its lines


@dataclass
class Line:
    value: str


class Lines:
    """Stands for a session whose files have these lines; Spark itself reads them in tests/integration/test_et_spark.py."""

    def __init__(self, text: str) -> None:
        self.lines = text.splitlines()

    @property
    def read(self) -> Lines:
        return self

    def text(self, path: str) -> Lines:
        return self

    def take(self, most: int) -> list[Line]:
        return [Line(line) for line in self.lines[:most]]


def rows(text: str, ending: str, most: int = 100, fields: Sequence[str] = ("user", "price")) -> Rows:
    session: Any = Lines(text)
    return read_events(session, EventFile("orders", "default", f"some/where.{ending}"), fields, most)


def test_json_lines_are_objects_by_field_or_arrays_and_values_stay_as_they_are() -> None:
    found = rows('{"price": 1.5, "user": "ann", "more": 1}\n["bob", 2]\n\n{"user": null, "price": [1, {"a": true}]}\n', "jsonl")
    assert found == Rows([("ann", 1.5), ("bob", 2), (None, [1, {"a": True}])])
    assert type(found.values[1][1]) is int


def test_bad_lines_are_counted_and_the_first_are_named() -> None:
    found = rows('{"user": "ann"}\n["bob"]\nnot json\n"text"\n["eve", 3]\n', "json.gz")
    assert (found.values, found.bad) == ([("eve", 3)], 4)
    assert found.problems == (
        "line 1: expected field 'price', got only user",
        "line 2: expected 2 values (user, price), got 1",
        "line 3: Expecting value: line 1 column 1 (char 0)",
    )


def test_no_more_events_are_taken_than_asked_for_and_bad_ones_behind_them_do_not_count() -> None:
    assert rows('["a", 1]\n["b", 2]\nbad\n', "ndjson", 2) == Rows([("a", 1), ("b", 2)])


def test_columns_of_csv_are_found_by_name_and_numbers_are_numbers_where_the_whole_column_is() -> None:
    found = rows('id,price,user\n1,2,ann\n2,,"bo,b"\n3,5,007\n', "csv")
    assert found.values == [("ann", 2), ("bo,b", None), ("007", 5)]
    assert rows("user,price\n007,1\n008,2.5\n", "csv").values == [("007", 1.0), ("008", 2.5)]
    assert rows("user,price\n1,nan\n2,1_0\n", "csv").values == [(1, "nan"), (2, "1_0")]
    assert rows("user,price\n-3,1e3\n4,-0.5\n", "csv").values == [(-3, 1000.0), (4, -0.5)]
    assert rows("user,price\n,\n", "csv").values == [(None, None)]


def test_a_quoted_cell_may_have_line_breaks_and_each_file_of_a_folder_a_header() -> None:
    found = rows('\ufeffuser,price\n"two\nlines",1\nuser,price\neve,2\n', "csv")
    assert found == Rows([("two\nlines", 1), ("eve", 2)])


def test_rows_of_csv_with_other_cells_than_the_header_are_bad() -> None:
    found = rows("user,price\nann,1\nbob\neve,2,3\n", "csv.bz2")
    assert (found.values, found.bad) == ([("ann", 1)], 2)
    assert found.problems == ("line 3: expected 2 cells, got 1", "line 4: expected 2 cells, got 3")


@pytest.mark.parametrize(
    ("text", "ending", "words"),
    [
        ("", "jsonl", "expected events with user, price, got none"),
        ("[1]\n", "jsonl", "got none, and 1 bad: line 1: expected 2 values"),
        ("user,prize\nann,1\n", "csv", r"expected a column 'price', got user, prize; is it 'prize'\? then rename that"),
        ("", "csv", "expected a column 'user', got no header"),
        ("user,price\n", "csv", "got none"),
        ("", "txt", r"its name does not say what is in it, expected one that ends in \.json, \.jsonl, \.ndjson, \.csv, \.parquet"),
    ],
)
def test_a_file_without_one_good_event_is_refused(text: str, ending: str, words: str) -> None:
    with pytest.raises(InvalidError, match=words) as refused:
        rows(text, ending)
    assert str(refused.value).startswith(f"--events some/where.{ending}: ")
