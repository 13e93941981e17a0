"""`--events`: which spout a file is for. Spark reads it in tests/integration/test_et_spark.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from pasps.api import Bolt, Spout, Stream, TopologyBuilder
from pasps.api.blueprint import Blueprint
from pasps.data.et_events import EventFile, event_files, read_events
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


def test_a_name_that_does_not_say_what_is_in_the_file_is_refused_before_it_is_read() -> None:
    session: Any = None
    endings = r"\.json, \.jsonl, \.ndjson, \.csv, \.parquet"
    words = rf"--events some/where\.txt: its name does not say what is in it, expected one that ends in {endings}"
    with pytest.raises(InvalidError, match=words):
        read_events(session, EventFile("orders", "default", "some/where.txt"), ["user"], 10)
