"""The keys `sql.*`, and the URLs and files that they may name."""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from pasps.connectors import sql_engine
from pasps.connectors.sql_engine import SqlSettings, engine_of, place_of, settings_of
from pasps.errors import ConfigError, InvalidError

SECRET = "do not tell"
POSTGRES = "postgresql+psycopg://me@host/db"


def test_nothing_given_is_a_file_here() -> None:
    assert settings_of({"topology.workers": 2, "sql.url": None}, "here") == SqlSettings("sqlite:///pasps.db", None, 1024, "aside")


def test_what_is_given_is_taken() -> None:
    conf = {"sql.url": POSTGRES, "sql.password.file": "~/secret", "sql.batch": 10, "sql.refused": "fail", "sql.of.mine": 5}
    assert settings_of(conf, "here") == SqlSettings(POSTGRES, "~/secret", 10, "fail")


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("sql.batch", 0, "must be an integer of at least 1, got 0"),
        ("sql.batch", True, "must be an integer"),
        ("sql.batch", "many", "must be an integer"),
        ("sql.refused", "drop", "must be 'aside' or 'fail', got 'drop'"),
        ("sql.url", 5, "must be text, got a value of type int"),
        ("sql.url", "", "must be text"),
        ("sql.batchs", 5, "is unknown; the nearest known name is 'sql.batch'"),
        ("sql.password", SECRET, "is unknown; the nearest known name is 'sql.password.file'"),
    ],
)
def test_a_wrong_value_is_refused(key: str, value: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=f"component 'store': configuration key '{key}' {words}") as caught:
        settings_of({key: value}, "component 'store'")
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        (f"{SECRET}://:", "is no URL of a database; write for example sqlite:///"),
        (f"postgresql://me:{SECRET}@host:port/db", "is no URL of a database"),
        ("mysql://host/db", "must be of SQLite or PostgreSQL, got 'mysql'"),
        (f"postgresql://me:{SECRET}@host/db", "holds a password, .* ~/.pgpass, PGPASSWORD, or a file named by sql.password.file"),
        (f"postgresql://me@host/db?password={SECRET}", "holds a password"),
        ("postgresql+asyncpg://me@host/db", "names an asynchronous driver, 'postgresql.asyncpg'; write postgresql://"),
        ("sqlite+aiosqlite:///a.db", "names an asynchronous driver"),
        ("postgresql+pigeon://me@host/db", "names a driver that is not known: 'postgresql.pigeon'"),
        ("sqlite://", "names a database in memory"),
        ("sqlite:///:memory:", "names a database in memory"),
        (
            "sqlite:///no/such/place/a.db",
            "names the file '/.*/a.db', .* there is no directory '/.*/no/such/place'; make it",
        ),
        ("sqlite:////", "names the file '/', which is a directory"),
    ],
)
def test_a_url_that_will_not_do_is_refused_and_tells_no_secret(url: str, words: str) -> None:
    with pytest.raises(ConfigError, match=f"component 'store': configuration key 'sql.url' {words}") as caught:
        engine_of(SqlSettings(url), "component 'store'")
    assert SECRET not in str(caught.value)


def test_the_default_driver_of_postgresql_will_do() -> None:
    assert place_of(engine_of(SqlSettings("postgresql://me@host/db"), "here")) == "postgresql://me@host/db"


@pytest.mark.parametrize(("content", "words"), [(None, "cannot be read .*No such file"), ("\nlater", "whose first line is empty")])
def test_a_file_without_a_password_is_refused(content: str | None, words: str, tmp_path: Path) -> None:
    path = tmp_path / "password"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ConfigError, match=f"here: configuration key 'sql.password.file' names '{path}', .*{words}"):
        engine_of(SqlSettings(POSTGRES, str(path)), "here")


def test_a_file_that_cannot_be_written_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # tests may run as root, who may write everything
    with pytest.raises(ConfigError, match=r"fixed\.db', which cannot be written; see its permissions"):
        engine_of(SqlSettings(f"sqlite:///{tmp_path}/fixed.db"), "here")


def test_what_is_not_installed_is_said_with_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(InvalidError, match=r"here: the driver of 'postgresql.psycopg' cannot be imported .*; pip install 'pasps\[sql\]'"):
        engine_of(SqlSettings(POSTGRES), "here")
    monkeypatch.setitem(sys.modules, "psycopg2", None)
    with pytest.raises(InvalidError, match=r"here: .*; install the module 'psycopg2', or write postgresql://$"):
        engine_of(SqlSettings("postgresql+psycopg2://me@host/db"), "here")
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    with pytest.raises(InvalidError, match=r"SqlSink needs SQLAlchemy, .*; pip install 'pasps\[sql\]'"):
        runpy.run_path(str(sql_engine.__file__))
