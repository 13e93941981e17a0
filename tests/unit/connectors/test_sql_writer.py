"""What is committed, what is put aside, and what is said while the database refuses; with SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pasps.connectors.sql_engine import SqlError, SqlSettings
from pasps.connectors.sql_rows import Layout, Refusal, Row
from pasps.connectors.sql_writer import Writer
from pasps.testing import FakeClock

LAYOUT = Layout("tweets", {"event": int, "label": str}, ("event",))
STRICT = "CREATE TABLE tweets (event INTEGER PRIMARY KEY, label TEXT NOT NULL CHECK (label <> 'bad'), CHECK (event <> 400))"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    yield connection
    connection.close()


@pytest.fixture
def waited() -> list[float]:
    """The pauses that the writer made."""
    return []


Make = Callable[..., Writer]


@pytest.fixture
def make(tmp_path: Path, waited: list[float]) -> Iterator[Make]:
    writers: list[Writer] = []

    def made(**settings: Any) -> Writer:
        url = f"sqlite:///{tmp_path}/a.db"
        writers.append(Writer(LAYOUT, SqlSettings(url, **settings), "component 'store'", FakeClock(), waited.append))
        writers[-1].prepare()
        return writers[-1]

    yield made
    for writer in writers:
        writer.disconnect()


def numbered(*events: int, label: str = "x") -> list[Row]:
    return [{"event": event, "label": label} for event in events]


def stored(database: sqlite3.Connection) -> list[tuple[int, str]]:
    return database.execute("SELECT event, label FROM tweets ORDER BY event").fetchall()


@pytest.mark.parametrize("batch", [1, 3, 1024])
def test_rows_are_written_once_however_often_they_come(make: Make, database: sqlite3.Connection, batch: int) -> None:
    writer = make(batch=batch)
    assert writer.write(numbered(5, 3, 4, 3, 1)) == []
    assert writer.write(numbered(1, 2, 3, 4, 5, label="later")) == []
    assert stored(database) == [(1, "x"), (2, "later"), (3, "x"), (4, "x"), (5, "x")]


def test_nothing_to_write_is_written(make: Make, database: sqlite3.Connection) -> None:
    assert make().write([]) == []
    assert stored(database) == []


def test_more_rows_than_a_statement_may_have_variables(make: Make, database: sqlite3.Connection) -> None:
    make(batch=100_000).write(numbered(*range(33_000)))
    assert database.execute("SELECT count(*) FROM tweets").fetchone() == (33_000,)


def test_rows_that_are_refused_are_found_and_the_others_written(make: Make, database: sqlite3.Connection) -> None:
    database.execute(STRICT)
    rows: list[Row] = numbered(*range(1000))
    rows[17] = {"event": 17, "label": None}
    rows[999] = {"event": 999, "label": "bad"}
    assert make().write(rows) == [
        Refusal(rows[17], "", "NOT NULL constraint failed: tweets.label"),
        Refusal(rows[400], "", "CHECK constraint failed: event <> 400"),
        Refusal(rows[999], "", "CHECK constraint failed: label <> 'bad'"),
    ]
    assert [event for event, _ in stored(database)] == [n for n in range(1000) if n not in (17, 400, 999)]


def test_a_row_that_another_unique_column_refuses_is_not_taken_for_a_replay(make: Make, database: sqlite3.Connection) -> None:
    database.execute("CREATE TABLE tweets (event INTEGER PRIMARY KEY, label TEXT UNIQUE)")
    refused = make().write(numbered(1, 2))
    assert [(refusal.row["event"], refusal.reason) for refusal in refused] == [(2, "UNIQUE constraint failed: tweets.label")]


def test_what_is_put_aside_is_kept_once(make: Make, database: sqlite3.Connection) -> None:
    writer = make()
    refusal = Refusal({"event": 17, "label": "a\0\ud800"}, "la\0bel", "no\0 \ud800 at all")
    writer.put_aside([refusal, refusal])
    writer.put_aside([refusal, Refusal({"event": None}, "", "no key")])
    kept = database.execute("SELECT row_key, column_name, reason, row_values FROM tweets_refused ORDER BY row_key DESC").fetchall()
    assert kept == [
        ("event=None", None, "no key", "{'event': None}"),
        ("event=17", "la\\0bel", "no\\0 \\ud800 at all", "{'event': 17, 'label': 'a\\x00\\ud800'}"),
    ]


def test_while_the_database_refuses_all_pauses_grow_and_end_with_the_first_success(
    make: Make, database: sqlite3.Connection, waited: list[float]
) -> None:
    writer = make()
    database.execute("ALTER TABLE tweets RENAME TO gone")
    for _ in range(7):
        with pytest.raises(SqlError, match=r"'store': sqlite:///.*a.db: 2 rows for table 'tweets' were not written: no such table"):
            writer.write(numbered(1, 2))
    assert waited == [0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 1.0]
    database.execute("ALTER TABLE gone RENAME TO tweets")
    assert writer.write(numbered(1, 2)) == []
    database.execute("DROP TABLE tweets")
    with pytest.raises(SqlError):
        writer.write(numbered(3))
    assert waited[7:] == [0.05]


@pytest.mark.parametrize(
    ("before", "said"), [(0, []), (1, ["rows already, 1:"]), (10_000, ["already, 10,000:"]), (10_001, ["already, more than 10,000:"])]
)
def test_rows_that_are_there_already_are_said_at_the_start(
    make: Make, database: sqlite3.Connection, caplog: pytest.LogCaptureFixture, before: int, said: list[str]
) -> None:
    make().write(numbered(*range(before)))
    caplog.clear()
    writer = make()
    writer.prepare(warns=False)
    assert len(caplog.messages) == len(said)
    for message, words in zip(caplog.messages, said, strict=True):
        assert message.startswith("component 'store': table 'tweets' of sqlite:///")
        assert words in message
        assert message.endswith(
            "an event that has the key (event) of one of them changes nothing; for other events give another sql.url, or drop the table"
        )


def test_an_error_tells_no_values(make: Make, database: sqlite3.Connection, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    writer = make()
    database.execute("DROP TABLE tweets")
    with pytest.raises(SqlError) as caught:
        writer.write(numbered(1, label="private"))
    assert "private" not in str(caught.value)
    assert "parameters hidden" in caplog.text
    assert "private" not in caplog.text
    assert caught.value.__cause__ is None
