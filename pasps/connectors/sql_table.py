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

from pasps.connectors.sql_rows import REFUSED_SUFFIX, Layout, Row
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

_REFUSED: Mapping[str, type] = MappingProxyType(
    {"id": str, "refused_at": datetime, "row_key": str, "column_name": str, "reason": str, "row_values": str}
)


def refused_beside(layout: Layout) -> Layout:
    """The table beside a table, for the rows that it does not take."""
    return Layout(layout.table + REFUSED_SUFFIX, _REFUSED, ("id",))


def table_of(layout: Layout) -> Table:
    """The table as it is made; the key is its primary key."""
    columns = [
        Column(name, _TYPES[kind], primary_key=name in layout.key, autoincrement=False, nullable=name not in layout.key)
        for name, kind in layout.columns.items()
    ]
    return Table(layout.table, MetaData(), *columns)


class Inserter:
    """INSERT of any number of rows; one whose key is there already changes nothing."""

    def __init__(self, layout: Layout, dialect: str) -> None:
        table, key = table_of(layout), layout.key
        self._names = list(layout.columns)
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


def ensure(connection: Connection, layout: Layout, where: str) -> Table:
    """Make the table if it is missing, in the connection's transaction; others that do the same wait. One that is there is compared.

    Raises:
        InvalidError: the rows of the layout cannot be written to it; names table, column, what was expected and what is there.
    """
    table = table_of(layout)
    if not inspect(connection).has_table(table.name):
        if connection.dialect.name == "postgresql":
            # IF NOT EXISTS alone lets two that make it at once collide in the catalogue
            connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": zlib.crc32(f"pasps {table.name}".encode())})
        connection.execute(CreateTable(table, if_not_exists=True))
    problem = _problem(connection, layout)
    if problem:
        raise InvalidError(f"{where}: table {table.name!r}{problem}; change the table, or write to another one")
    return table


def _problem(connection: Connection, layout: Layout) -> str:
    """Why the table that is there would never take a row, so that nobody need find out from a sink that fails for ever; "": it will do."""
    columns = _columns(connection, layout.table)
    for name, kind in layout.columns.items():
        found, wanted = columns.get(name), f"{_TYPES[kind]} (Python's {kind.__name__})"
        if found is None:
            return f", column {name!r}: expected {wanted}, got no such column (there are {', '.join(columns)})"
        if found.get("computed") or (found.get("identity") or {}).get("always"):
            return f", column {name!r}: expected one that can be written, got GENERATED ALWAYS"
        if not _takes(found["type"], kind):
            return f", column {name!r}: expected {wanted}, got {found['type']}"
    for name, found in columns.items():
        given = found["default"] is not None or any(found.get(way) for way in ("identity", "autoincrement", "computed"))
        if name not in layout.columns and not found["nullable"] and not given:
            return f", column {name!r}: expected one that may be left out, got NOT NULL without a default"
    key = ", ".join(layout.key)
    if set(layout.key) not in _uniques(connection, layout.table):
        return f": expected a primary key or a unique index on ({key}), by which a replay is known; got none"
    deferrable = connection.execute(_DEFERRABLE, {"name": layout.table}) if connection.dialect.name == "postgresql" else ()
    if set(layout.key) in [set(names) for (names,) in deferrable]:
        return f": expected a key on ({key}) that is checked row by row, got a DEFERRABLE one"
    return ""


def _columns(connection: Connection, table: str) -> Mapping[str, Any]:
    return {found["name"]: found for found in inspect(connection).get_columns(table)}


def _uniques(connection: Connection, table: str) -> list[set[str | None]]:
    """The columns of each key and each unique index, but those of a part of the rows."""
    looked = inspect(connection)
    found: list[Sequence[str | None]] = [looked.get_pk_constraint(table)["constrained_columns"]]
    found += [constraint["column_names"] for constraint in looked.get_unique_constraints(table)]
    for index in looked.get_indexes(table):
        if index["unique"] and not any(option.endswith("_where") for option in index.get("dialect_options", {})):
            found.append(index["column_names"])
    return [set(names) for names in found]


def _takes(found: TypeEngine[Any], kind: type) -> bool:
    try:
        return found.python_type is kind and not isinstance(found, Enum)  # whose values are not all texts
    except NotImplementedError:
        return False


def suspect(connection: Connection, table: str, row: Row) -> str:
    """The column whose value the database is likely to have refused, where it does not say so itself; else ""."""
    columns = _columns(connection, table)
    bits = _INT_BITS if connection.dialect.name == "postgresql" else {}
    for name, value in row.items():
        kind = columns[name]["type"] if name in columns else None
        most = kind.length if isinstance(kind, String) else None
        if isinstance(value, str) and ("\0" in value or (most is not None and len(value) > most)):
            return name
        if isinstance(value, int) and value.bit_length() >= bits.get(str(kind), 64):
            return name
    return ""
