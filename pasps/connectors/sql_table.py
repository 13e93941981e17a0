"""The table of an SQL sink: made when it is missing, by one of those who start at once, and compared when it is there."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    DateTime,
    Double,
    Enum,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    bindparam,
    cast,
    func,
    inspect,
    select,
    text,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.schema import CreateTable
from sqlalchemy.types import TypeEngine

from pasps.connectors.sql_rows import Layout, Row
from pasps.errors import InvalidError

_TYPES: Mapping[type, TypeEngine[Any]] = MappingProxyType(
    {
        # in SQLite an INTEGER key is the table's own order, which costs no index
        int: BigInteger().with_variant(Integer(), "sqlite"),
        float: Double(),
        str: Text(),
        bool: Boolean(),
        bytes: LargeBinary(),
        datetime: DateTime(timezone=True),
    }
)
_INT_BITS: Mapping[str, int] = MappingProxyType({"SMALLINT": 16, "INTEGER": 32})

_DEFERRABLE = text(
    "SELECT array_agg(a.attname::text) FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey) "
    "WHERE i.indrelid = to_regclass(quote_ident(:name)) AND i.indisunique AND NOT i.indimmediate GROUP BY i.indexrelid"
)
"""The columns of each unique index whose check may wait for the commit, which ON CONFLICT does not take."""

REFUSED_COLUMNS: Mapping[str, type] = MappingProxyType(
    {"id": str, "refused_at": datetime, "row_key": str, "column_name": str, "reason": str, "row_values": str}
)


def table_of(layout: Layout) -> Table:
    """The table as it is made; the key is its primary key."""
    columns = [
        Column(name, _TYPES[kind], primary_key=name in layout.key, autoincrement=False, nullable=name not in layout.key)
        for name, kind in layout.columns.items()
    ]
    return Table(layout.table, MetaData(), *columns)


class Inserter:
    """INSERT of any number of rows; one whose key is there already changes nothing."""

    def __init__(self, table: Table, key: Sequence[str], dialect: str) -> None:
        self._names = [column.name for column in table.columns]
        self._in_arrays = dialect == "postgresql"
        self._statement = _insert_arrays(table, key) if self._in_arrays else sqlite.insert(table).on_conflict_do_nothing(index_elements=key)

    def run(self, connection: Connection, rows: Sequence[Row]) -> None:
        """In the connection's transaction."""
        if self._in_arrays:
            connection.execute(self._statement, {name: [row[name] for row in rows] for name in self._names})
        else:
            connection.execute(self._statement, rows)


def _insert_arrays(table: Table, key: Sequence[str]) -> postgresql.Insert:
    """One array for each column, whatever the number of rows: three times as fast as a statement for each row."""
    arrays = [cast(bindparam(column.name), postgresql.ARRAY(column.type)) for column in table.columns]
    rows = func.unnest(*arrays).table_valued(*[column.name for column in table.columns]).render_derived()
    statement = postgresql.insert(table).from_select([column.name for column in table.columns], select(rows))
    return statement.on_conflict_do_nothing(index_elements=key)


def ensure(connection: Connection, table: Table) -> None:
    """Make the table if it is missing, in the connection's transaction; others that do the same wait."""
    if _is_there(connection, table):
        return
    if connection.dialect.name == "postgresql":
        # IF NOT EXISTS alone lets two that make it at once collide in the catalogue
        connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": zlib.crc32(f"pasps {table.name}".encode())})
    connection.execute(CreateTable(table, if_not_exists=True))


def _is_there(connection: Connection, table: Table) -> bool:
    return inspect(connection).has_table(table.name)


class Existing:
    """The table as the database has it."""

    def __init__(self, connection: Connection, name: str) -> None:
        looked = inspect(connection)
        self._name = name
        self._columns = {found["name"]: found for found in looked.get_columns(name)}
        uniques: list[Sequence[str | None]] = [looked.get_pk_constraint(name)["constrained_columns"]]
        uniques += [found["column_names"] for found in looked.get_unique_constraints(name)]
        uniques += [
            found["column_names"]
            for found in looked.get_indexes(name)
            if found["unique"] and not any(option.endswith("_where") for option in found.get("dialect_options", {}))
        ]
        self._uniques = [set(names) for names in uniques]
        self._sized = connection.dialect.name == "postgresql"
        self._deferrable = [set(names) for (names,) in connection.execute(_DEFERRABLE, {"name": name})] if self._sized else []

    def check(self, layout: Layout, where: str) -> None:
        """Whether the rows of the layout can be written to it.

        Raises:
            InvalidError: names table, column, what was expected and what is there.
        """
        where = f"{where}: table {self._name!r}"
        cure = "change the table, or write to another one"
        for name, kind in layout.columns.items():
            if name not in self._columns:
                there = ", ".join(self._columns)
                raise InvalidError(f"{where}, column {name!r}: expected {_wanted(kind)}, got no such column (there are {there}); {cure}")
            if self._is_computed(name):
                raise InvalidError(f"{where}, column {name!r}: expected one that can be written, got GENERATED ALWAYS; {cure}")
            if not self._takes(name, kind):
                raise InvalidError(f"{where}, column {name!r}: expected {_wanted(kind)}, got {self._columns[name]['type']}; {cure}")
        for name, found in self._columns.items():
            given = found["default"] is not None or any(found.get(way) for way in ("identity", "autoincrement", "computed"))
            if name not in layout.columns and not found["nullable"] and not given:
                raise InvalidError(f"{where}, column {name!r}: expected one that may be left out, got NOT NULL without a default; {cure}")
        if set(layout.key) not in self._uniques:
            names = ", ".join(layout.key)
            raise InvalidError(
                f"{where}: expected a primary key or a unique index on ({names}), by which a replay is known; got none; {cure}"
            )

        if set(layout.key) in self._deferrable:
            names = ", ".join(layout.key)
            raise InvalidError(f"{where}: expected a key on ({names}) that is checked row by row, got a DEFERRABLE one; {cure}")

    def _is_computed(self, name: str) -> bool:
        found = self._columns[name]
        identity = found.get("identity")
        return bool(found.get("computed")) or (identity is not None and bool(identity.get("always")))

    def _takes(self, name: str, kind: type) -> bool:
        found = self._columns[name]["type"]
        try:
            return found.python_type is kind and not isinstance(found, Enum)  # whose values are not all texts
        except NotImplementedError:
            return False

    def suspect(self, row: Row) -> str:
        """The column whose value the database is likely to have refused, where it does not say so itself; else ""."""
        return next((name for name, value in row.items() if self._too_much(name, value)), "")

    def _too_much(self, name: str, value: Any) -> bool:
        kind = self._columns[name]["type"] if name in self._columns else None
        if isinstance(value, str):
            return "\0" in value or (isinstance(kind, String) and kind.length is not None and len(value) > kind.length)
        if isinstance(value, int) and self._sized:
            return value.bit_length() >= _INT_BITS.get(str(kind), 64)
        return False


def _wanted(kind: type) -> str:
    return f"{_TYPES[kind]} (Python's {kind.__name__})"
