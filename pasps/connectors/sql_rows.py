"""What an SQL sink writes, without a database: the table that its class declares, and rows that fit it. Pure."""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from pasps.errors import InvalidError

Row = dict[str, Any]

REFUSED_SUFFIX = "_refused"
"""Of the table beside a table, for the rows that it could not take."""

_MOST_NAME_BYTES = 63
"""PostgreSQL cuts longer names off."""
_MOST_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Layout:
    """A table: the Python type of each column, and the columns that tell its rows apart."""

    table: str
    columns: Mapping[str, type]
    key: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A row that cannot be written, whatever the state of the database. `column` is "" when it is not known."""

    row: Mapping[str, Any]
    column: str
    reason: str


class MisfitError(InvalidError):
    """A value that its column cannot take."""

    def __init__(self, column: str, problem: str) -> None:
        self.column, self.problem = column, problem
        super().__init__(f"column {column!r}: {problem}")


def layout_of(table: object, columns: object, key: object, where: str) -> Layout:
    """What a class declares, checked.

    Args:
        where: Whose it is, for the message.

    Raises:
        InvalidError: a name, a type or the key is wrong.
    """
    _check_name(table, f"{where}: table", _MOST_NAME_BYTES - len(REFUSED_SUFFIX))
    if "." in str(table):
        raise InvalidError(f"{where}: table must be a name without a dot, got {table!r}; sql.url chooses the schema, see docs/sql.md")
    if not isinstance(columns, Mapping) or not columns:
        raise InvalidError(f'{where}: columns must be a dict such as {{"event": int, "label": str}}, got {columns!r}')
    for name, kind in columns.items():
        _check_name(name, f"{where}: a column", _MOST_NAME_BYTES)
        if kind not in TAKES:
            kinds = ", ".join(known.__name__ for known in TAKES)
            raise InvalidError(f"{where}: column {name!r} must have one of the types {kinds}, got {kind!r}")
    if isinstance(key, str) or not isinstance(key, Sequence) or not key or not all(name in columns for name in key):
        raise InvalidError(f'{where}: key must name columns ({", ".join(columns)}), such as ("{next(iter(columns))}",), got {key!r}')
    return Layout(str(table), dict(columns), tuple(key))


def _check_name(name: object, what: str, most: int) -> None:
    if not isinstance(name, str) or not name or len(name.encode()) > most:
        raise InvalidError(f"{what} must have a name of 1 to {most} bytes, got {name!r}")


def fitted(layout: Layout, values: Mapping[str, Any]) -> Row:
    """A row of exactly the layout's columns with values of exactly their types; columns that are left out are None.

    Raises:
        MisfitError: a value of another type, None in a key column, or a column that the layout does not have.
    """
    row: Row = {}
    for name, kind in layout.columns.items():
        value = values.get(name)
        row[name] = None if value is None else TAKES[kind](name, value)
    for name in layout.key:
        if row[name] is None:
            raise MisfitError(name, "it is in the key, so it must have a value, got None")
    if values.keys() - row.keys():
        unknown = min(values.keys() - row.keys(), key=repr)
        raise MisfitError(str(unknown), f"the table has no such column; it has {', '.join(layout.columns)}")
    return row


def _int(name: str, value: Any) -> int:
    number: int = value
    if type(value) is not int:  # the common case first: one of these runs for every value
        if isinstance(value, bool) or not isinstance(value, numbers.Integral):
            raise _misfit(name, "int", value)
        number = operator.index(value)
    if not -(1 << 63) <= number < 1 << 63:
        raise MisfitError(name, f"expected an int of at most 64 bits, got one of {number.bit_length()}")
    return number


def _float(name: str, value: Any) -> float:
    if type(value) is float and value == value:
        return value
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise _misfit(name, "float", value)
    try:
        number = float(value)
    except OverflowError:
        raise MisfitError(name, "expected a float, got an int that is too large for one") from None
    if math.isnan(number):
        raise MisfitError(name, "expected a number, got NaN, which databases do not agree about; write None")
    return number


def _str(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise _misfit(name, "str", value)
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise MisfitError(name, f"expected text that UTF-8 can write, got {shown(value[error.start])} at place {error.start}") from None
    return str.__str__(value)  # of an enum too its value, not its name


def _bool(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise _misfit(name, "bool", value)
    return value


def _bytes(name: str, value: Any) -> bytes:
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise _misfit(name, "bytes", value)
    return bytes(value)


def _datetime(name: str, value: Any) -> datetime:
    if not isinstance(value, datetime):
        raise _misfit(name, "datetime", value)
    try:
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except OverflowError:
        raise MisfitError(name, f"expected a datetime within the years 1 to 9999 of UTC, got {value!r}") from None


def _misfit(name: str, expected: str, value: object) -> MisfitError:
    return MisfitError(name, f"expected {expected}, got {shown(value)} ({type(value).__name__})")


TAKES: Mapping[type, Callable[[str, Any], Any]] = MappingProxyType(
    {int: _int, float: _float, str: _str, bool: _bool, bytes: _bytes, datetime: _datetime}
)
"""The types of columns, and what makes a value fit one. Numbers of numpy fit; a naive datetime is taken as UTC."""


def ordered(layout: Layout, rows: Sequence[Row]) -> list[Row]:
    """By key, so that two writers take the same rows in the same order and cannot wait for each other; equal keys as they came."""
    return sorted(rows, key=operator.itemgetter(*layout.key))


def key_text(layout: Layout, values: Mapping[str, Any]) -> str:
    """The key of a row, for people: `event=17, word='cow'`."""
    return ", ".join(f"{name}={shown(values.get(name))}" for name in layout.key)


def written(values: Mapping[str, Any]) -> str:
    """A row that cannot be written anywhere else, as Python writes it."""
    return f"{{{', '.join(f'{name!r}: {_repr(value)}' for name, value in values.items())}}}"


def _repr(value: object) -> str:
    try:
        return repr(value)
    except Exception as error:  # noqa: BLE001 - a long int has no decimal repr, and a class's own may raise anything
        return hex(value) if isinstance(value, int) else f"<{type(value).__name__}, whose repr raises {type(error).__name__}>"


def shown(value: object) -> str:
    """A value for a message, cut where it is long."""
    text = _repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
