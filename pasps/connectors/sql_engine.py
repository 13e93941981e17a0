"""What the keys `sql.*` say, connections to SQLite and PostgreSQL (what each of the two needs set), and whose fault an error is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from sqlite3 import OperationalError
from typing import Any

from pasps.api.keys import Keys
from pasps.errors import BrokenError, ConfigError, InvalidError

try:
    import sqlalchemy
    from sqlalchemy import event
    from sqlalchemy.exc import ArgumentError, DataError, DBAPIError, IntegrityError, StatementError
except ImportError as error:
    raise InvalidError(f"SqlSink needs SQLAlchemy, which cannot be imported ({error}); pip install 'pasps[sql]'") from error

DEFAULT_URL = "sqlite:///pasps.db"
ASIDE, FAIL = "aside", "fail"
_KEYS = ("sql.url", "sql.password.file", "sql.batch", "sql.refused")
_BUSY_SECONDS = 30
"""How long a writer waits for the others of an SQLite file."""
_NETWORK: Mapping[str, Any] = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
"""For libpq, where the URL does not say otherwise: a server that is gone without a word is noticed."""

_ALL_STATES = ("08", "25", "28", "3D", "3F", "40", "53", "55", "57", "58", "42P01", "42703", "428C9")
"""What no row is to blame for: connections, transactions, rights to come in, resources, the system; no such table or column."""
_NOT_OF_A_ROW = frozenset(
    "00 01 02 03 08 09 0A 0B 0F 0L 0P 0Z 10 20 21 24 25 26 27 28 2B 2D 2F 34 38 39 3B 3D 3F 40 42 53 55 57 58 72 F0 HV XX".split()
)
"""Classes of SQLSTATE in PostgreSQL, without those that are the fault of a row for certain: data, constraints, views, limits, and
what a trigger raises (22, 23, 44, 54, P0). Any other class is one that a trigger made up."""
_RETRY_STATE = "40"
"""Deadlocks and their like: the transaction may be tried again at once."""


class SqlError(BrokenError):
    """The database could not be used; nothing of the batch is lost, it is written again."""


@dataclass(frozen=True, slots=True)
class SqlSettings:
    """Where to, with whose password, how many rows in a transaction, and what becomes of a row that is refused."""

    url: str = DEFAULT_URL
    password_file: str | None = None
    batch: int = 1024
    refused: str = ASIDE


def settings_of(conf: Mapping[str, Any], where: str) -> SqlSettings:
    """The settings in `conf`; other keys are left alone, and null is as if left out.

    Raises:
        ConfigError: a key that is nearly one of ours, or a value that its key does not take.
    """
    keys, usual = Keys(conf, _KEYS, where, "sql."), SqlSettings()
    return SqlSettings(
        keys.text("sql.url", "text") or usual.url,
        keys.text("sql.password.file", "text"),
        keys.whole("sql.batch", usual.batch),
        keys.choice("sql.refused", (ASIDE, FAIL)),
    )


def engine_of(settings: SqlSettings, where: str) -> sqlalchemy.Engine:
    """An engine of one connection, made when it is needed. Does not connect.

    Raises:
        ConfigError: the URL or the password's file is wrong.
        InvalidError: the driver is not installed.
    """
    url = _url(settings.url, where)
    sqlite = url.get_backend_name() == "sqlite"
    if sqlite:
        _check_file(url, where)
    arguments = {"timeout": _BUSY_SECONDS} if sqlite else {key: value for key, value in _NETWORK.items() if key not in url.query}
    try:
        # values of rows, and so perhaps personal data, stay out of errors
        engine = sqlalchemy.create_engine(url, pool_size=1, max_overflow=0, hide_parameters=True, connect_args=arguments)
    except ImportError as error:
        driver = url.get_driver_name()
        other = f"install the module {error.name or driver!r}, or write {url.get_backend_name()}://"
        cure = "pip install 'pasps[sql]'" if driver == "psycopg" else other
        raise InvalidError(f"{where}: the driver of {url.drivername!r} cannot be imported ({error}); {cure}") from error
    if sqlite:
        event.listen(engine, "connect", _equip_sqlite)
        event.listen(engine, "begin", _begin_immediate)
        return engine
    event.listen(engine, "connect", _in_utc)
    if settings.password_file is not None:
        _use_password(engine, settings.password_file, where)
    return engine


def _url(text: str, where: str) -> sqlalchemy.URL:
    """The URL, which holds no password; what it holds is not shown when it is wrong, since it might."""
    try:
        url = sqlalchemy.make_url(text)
        backend = url.get_backend_name()
    except (ArgumentError, ValueError):
        examples = "sqlite:////data/out.db or postgresql+psycopg://user@host/database"
        raise ConfigError("sql.url", "is no URL of a database", where=where, cure=f"write for example {examples}") from None
    if backend not in ("sqlite", "postgresql"):
        raise ConfigError("sql.url", f"must be of SQLite or PostgreSQL, got {backend!r}", where=where)
    if url.password is not None or {"password", "sslpassword"} & url.query.keys():
        cure = "take it out, and put it into ~/.pgpass, PGPASSWORD, or a file named by sql.password.file"
        raise ConfigError("sql.url", "holds a password, which would be kept wherever the configuration is", where=where, cure=cure)
    try:
        asynchronous = url.get_dialect().is_async
    except (ArgumentError, ImportError):
        raise ConfigError("sql.url", f"names a driver that is not known: {url.drivername!r}", where=where) from None
    if asynchronous:
        raise ConfigError("sql.url", f"names an asynchronous driver, {url.drivername!r}", where=where, cure=f"write {backend}://")
    return url


def _check_file(url: sqlalchemy.URL, where: str) -> None:
    name = url.database
    if not name or ":memory:" in name or url.query.get("mode") == "memory":
        cure = "name a file, such as sqlite:///pasps.db"
        raise ConfigError("sql.url", "names a database in memory, of which each replica would have its own", where=where, cure=cure)
    if name.startswith("file:"):
        return
    path = Path(name).absolute()
    if path.is_dir() or not path.parent.is_dir():
        problem = "is a directory" if path.is_dir() else f"cannot be made, for there is no directory {str(path.parent)!r}"
        raise ConfigError("sql.url", f"names the file {str(path)!r}, which {problem}", where=where, cure="make it, or name another")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ConfigError("sql.url", f"names the file {str(path)!r}, which cannot be written", where=where, cure="see its permissions")


def _equip_sqlite(connection: Any, _: object) -> None:
    """Readers do not stop writers; and transactions begin where SQLAlchemy says, not where Python's driver guesses."""
    connection.isolation_level = None
    with suppress(OperationalError):  # for this SQLite does not wait; who is in the way is most likely doing the same, for the file
        connection.execute("PRAGMA journal_mode = WAL")


def _begin_immediate(connection: sqlalchemy.Connection) -> None:
    # a transaction that became a writer on the way would fail at once where it should wait
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _in_utc(connection: Any, _: object) -> None:
    """For columns without a time zone."""
    with connection.cursor() as cursor:
        cursor.execute("SET TIME ZONE 'UTC'")
    connection.commit()


def _use_password(engine: sqlalchemy.Engine, path: str, where: str) -> None:
    """Read for each connection, so that it may change."""

    def connect(_dialect: object, _record: object, _args: object, keywords: dict[str, Any]) -> None:
        keywords["password"] = password_in(path, where)

    password_in(path, where)
    event.listen(engine, "do_connect", connect)


def password_in(path: str, where: str) -> str:
    """The first line of the file.

    Raises:
        ConfigError: there is none.
    """
    try:
        with Path(path).expanduser().open(encoding="utf-8") as file:
            password = file.readline().rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError("sql.password.file", f"names {path!r}, which cannot be read ({error})", where=where) from error
    if not password:
        raise ConfigError("sql.password.file", f"names {path!r}, whose first line is empty", where=where)
    return password


def place_of(engine: sqlalchemy.Engine) -> str:
    """The database for people: its URL, which holds no password; a file with its whole path."""
    url = engine.url
    if url.get_backend_name() == "sqlite" and url.database is not None and not url.database.startswith("file:"):
        url = url.set(database=str(Path(url.database).absolute()))
    return url.render_as_string(hide_password=True)


def is_of_a_row(error: BaseException) -> bool:
    """Whether a row is to blame for certain, so that the others can be written without it."""
    if not isinstance(error, DBAPIError):
        return isinstance(error, (StatementError, UnicodeError, OverflowError))
    state = _state(error)
    return isinstance(error, (DataError, IntegrityError)) or (bool(state) and state[:2] not in _NOT_OF_A_ROW)


def may_be_of_a_row(error: BaseException) -> bool:
    """Whether a row may be to blame: it is, when others can be written. A right may be missing for a row, or for the table."""
    if is_of_a_row(error):
        return True
    state = _state(error) if isinstance(error, DBAPIError) and not error.connection_invalidated else ""
    return bool(state) and not state.startswith(_ALL_STATES)


def is_worth_another_try(error: BaseException) -> bool:
    """Whether the same may well succeed at once: the connection was lost, which a new one cures, or two writers met."""
    return isinstance(error, DBAPIError) and (error.connection_invalidated or _state(error).startswith(_RETRY_STATE))


def _state(error: DBAPIError) -> str:
    return getattr(error.orig, "sqlstate", None) or ""


def words_of(error: BaseException) -> str:
    """What the database itself said, in one line."""
    said = str(error.orig if isinstance(error, DBAPIError) else error)
    return " ".join(said.split())


def column_of(error: BaseException) -> str:
    """The column that the database blames; "" when it names none."""
    diagnosis = getattr(getattr(error, "orig", None), "diag", None)
    return getattr(diagnosis, "column_name", None) or ""
