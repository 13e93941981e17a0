"""The table that is made, and what is said of one that is there and differs; with SQLite."""

from __future__ import annotations

import sqlite3
from datetime import datetime
from pathlib import Path

import pytest

from pasps.connectors.sql_engine import SqlSettings
from pasps.connectors.sql_rows import Layout
from pasps.connectors.sql_writer import Writer
from pasps.errors import InvalidError
from pasps.testing import FakeClock

COLUMNS: dict[str, type] = {"event": int, "label": str, "score": float}
LAYOUT = Layout("tweets", COLUMNS, ("event",))


def prepared(file: Path, made_before: str = "", layout: Layout = LAYOUT) -> sqlite3.Connection:
    """What a sink finds or makes."""
    connection = sqlite3.connect(file)
    connection.executescript(made_before)
    Writer(layout, SqlSettings(f"sqlite:///{file}"), "component 'store'", FakeClock(), lambda _: None).prepare()
    return connection


def test_a_table_is_made_with_its_key_and_the_rest_may_be_null(tmp_path: Path) -> None:
    columns: dict[str, type] = {"i": int, "f": float, "s": str, "b": bool, "raw": bytes, "at": datetime}
    connection = prepared(tmp_path / "a.db", layout=Layout("all kinds", columns, ("s", "i")))
    found = {name: (kind, bool(not_null), key) for _, name, kind, not_null, _, key in connection.execute("PRAGMA table_info('all kinds')")}
    assert found == {
        "i": ("INTEGER", True, 1),
        "f": ("DOUBLE", False, 0),
        "s": ("TEXT", True, 2),
        "b": ("BOOLEAN", False, 0),
        "raw": ("BLOB", False, 0),
        "at": ("DATETIME", False, 0),
    }
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


@pytest.mark.parametrize(
    "there",
    [
        "CREATE TABLE tweets (event BIGINT PRIMARY KEY, label VARCHAR(200), score REAL)",
        "CREATE TABLE tweets (id INTEGER PRIMARY KEY, event INTEGER NOT NULL UNIQUE, label TEXT, score DOUBLE)",
        "CREATE TABLE tweets (event INTEGER, label TEXT, score FLOAT); CREATE UNIQUE INDEX by_event ON tweets (event)",
        "CREATE TABLE tweets (event INTEGER PRIMARY KEY, label TEXT, score FLOAT, more TEXT, era TEXT NOT NULL DEFAULT 'now')",
    ],
)
def test_a_table_that_is_there_and_will_do_is_taken_as_it_is(there: str, tmp_path: Path) -> None:
    prepared(tmp_path / "a.db", there).close()


@pytest.mark.parametrize(
    ("there", "words"),
    [
        ("event INTEGER PRIMARY KEY, score FLOAT", r"column 'label': expected TEXT \(.*\), got no such column \(there are event, score\)"),
        ("event INTEGER PRIMARY KEY, label TEXT, score TEXT", r"column 'score': expected DOUBLE \(Python's float\), got TEXT"),
        ("event INTEGER PRIMARY KEY, label INTEGER, score FLOAT", r"column 'label': expected TEXT \(Python's str\), got INTEGER"),
        ("event INTEGER PRIMARY KEY, label TEXT, score FLOAT, era TEXT NOT NULL", "column 'era': expected one that may be left out"),
        ("event INTEGER, label TEXT, score FLOAT", r"a primary key or a unique index on \(event\), by which a replay is known; got none"),
        ("event INTEGER, label TEXT, score FLOAT, UNIQUE (event, label)", r"a primary key or a unique index on \(event\)"),
    ],
)  # fmt: skip
def test_a_table_that_differs_is_told_with_what_was_expected(there: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(
        InvalidError, match=f"component 'store': sqlite:///.*/a.db: table 'tweets'(, |: expected ){words}.*; change the table"
    ):
        prepared(tmp_path / "a.db", f"CREATE TABLE tweets ({there})")


def test_an_index_of_a_part_of_the_rows_is_no_key(tmp_path: Path) -> None:
    there = "CREATE TABLE tweets (event INTEGER, label TEXT, score FLOAT); CREATE UNIQUE INDEX some ON tweets (event) WHERE score > 0"
    with pytest.raises(InvalidError, match=r"unique index on \(event\)"):
        prepared(tmp_path / "a.db", there)
