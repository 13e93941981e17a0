"""Users' values on the wire: what MessagePack has goes as it is, all else is wrapped into extensions that keep its exact type.

The runtime calls `RowWrapper` when it puts rows into an outgoing buffer; `unwrap` is the other direction, called by `codec`.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import itertools
import zoneinfo
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from types import MemberDescriptorType, NoneType
from typing import Any
from uuid import UUID

import cloudpickle
import msgspec
from msgspec.msgpack import Ext

from pasps.errors import WireError, shown
from pasps.transport.classes import ClassBook
from pasps.transport.messages import Row

MOST_DEPTH = 64
"""How deep values may nest; well under Python's own limit on both sides, which would end a worker's step rather than one tuple."""


class Code:
    """Extension codes; the two ends of a connection must agree on them and on what `unwrap` expects behind each."""

    INT = 1
    TEXT = 2
    TUPLE = 3
    SET = 4
    FROZENSET = 5
    PAIRS = 6
    DATETIME = 7
    DATE = 8
    TIME = 9
    TIMEDELTA = 10
    DECIMAL = 11
    UUID = 12
    ENUM = 13
    DATACLASS = 14
    PICKLE = 15


PLAIN = frozenset({str, int, float, bool, NoneType, bytes})
_all_plain = PLAIN.issuperset
_encode = msgspec.msgpack.Encoder().encode
_from_rows = itertools.chain.from_iterable
_NOTHING: dict[str, Any] = {}
Wrap = Callable[[Any, int], Any]


class _CannotTravelError(Exception):
    """Inside this file only: becomes a WireError where the field is known."""

    def __init__(self, value: object, cure: str) -> None:
        super().__init__(_type_name(value), cure)
        self.type_name, self.cure = _type_name(value), cure


class RowWrapper:
    """Makes rows ready for the wire; one per worker, not thread-safe. Never blocks.

    Containers in what it returns are copies, so that a user who goes on changing a list does not change what is sent.
    """

    def __init__(self, allow_pickle: bool = False, most_frame_bytes: int = 2**31 - 1) -> None:
        self.classes = ClassBook(most_frame_bytes)
        self._allow_pickle = allow_pickle
        self._wraps: dict[type, Wrap] = {
            list: self._items,
            tuple: lambda value, depth: Ext(Code.TUPLE, pack(self._items(value, depth))),
            set: lambda value, depth: Ext(Code.SET, pack(self._items(value, depth))),
            frozenset: lambda value, depth: Ext(Code.FROZENSET, pack(self._items(value, depth))),
            dict: self._dict,
            dt.datetime: lambda value, _: Ext(Code.DATETIME, _timed(value)),
            dt.date: lambda value, _: Ext(Code.DATE, value.isoformat().encode()),
            dt.time: lambda value, _: Ext(Code.TIME, _timed(value)),
            dt.timedelta: lambda value, _: Ext(Code.TIMEDELTA, pack([value.days, value.seconds, value.microseconds])),
            Decimal: lambda value, _: Ext(Code.DECIMAL, str(value).encode()),
            UUID: lambda value, _: Ext(Code.UUID, value.bytes),
        }

    def wire_rows(self, rows: list[Row], component: str, stream: str, fields: Sequence[str]) -> list[Row]:
        """Rows that can be encoded: `rows` itself when all its values are plain.

        Raises:
            WireError: a value cannot travel; its `row` says in which row, `wire_each` gives the others.
        """
        columns: list[Iterable[Any]] = []
        done: list[Any] = []
        try:
            # the one thing done for each plain value, so it runs without a line of Python
            if _all_plain(map(type, _from_rows(rows))):
                return rows
            for column in zip(*rows, strict=True):
                if _all_plain(map(type, column)):
                    columns.append(column)
                    continue
                done = []
                for value in column:
                    done.append(self._wrap(value, 0))  # one by one: its length names the row that failed
                columns.append(done)
        except BaseException as error:  # noqa: BLE001 - code of the user's types runs here, and none of it may cost more than its tuple
            index = min(len(columns), len(rows[0]) - 1)
            field = fields[index] if index < len(fields) else str(index)
            row = min(len(done), len(rows) - 1)
            if isinstance(error, _CannotTravelError):
                kind, cure, cause = error.type_name, error.cure, error.__cause__
            else:
                kind, cure, cause = _type_name(rows[row][index]), f"it raised {shown(error)} when it was made ready", error
            raise WireError(kind, component=component, stream=stream, field=field, cure=cure, row=row) from cause
        return list(zip(*columns, strict=True))

    def wire_each(self, rows: list[Row], component: str, stream: str, fields: Sequence[str]) -> tuple[list[Row], list[WireError]]:
        """Like `wire_rows`, row by row: those that can travel, in order, and one error for each that cannot."""
        good: list[Row] = []
        errors: list[WireError] = []
        for index, row in enumerate(rows):
            try:
                good += self.wire_rows([row], component, stream, fields)
            except WireError as error:
                error.row = index
                errors.append(error)
        return good, errors

    def _wrap(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind in PLAIN:
            return value
        if depth > MOST_DEPTH:
            raise _CannotTravelError(value, f"it is nested deeper than {MOST_DEPTH} levels or contains itself; emit a flatter value")
        wrap = self._wraps.get(kind)
        if wrap is None:
            wrap = self._wraps[kind] = self._wrap_for(value, kind)
        return wrap(value, depth)

    def _items(self, values: Any, depth: int) -> list[Any]:
        if _all_plain(map(type, values)):
            return list(values)
        return [self._wrap(value, depth + 1) for value in values]

    def _dict(self, value: dict[Any, Any], depth: int) -> Any:
        if not _all_plain(map(type, value)):
            return Ext(Code.PAIRS, pack([self._items(value, depth), self._items(value.values(), depth)]))
        if _all_plain(map(type, value.values())):
            return value.copy()
        return {key: self._wrap(item, depth + 1) for key, item in value.items()}

    def _wrap_for(self, value: Any, kind: type) -> Wrap:
        """How values of a type met for the first time travel."""
        named = isinstance(value, enum.Enum) or (dataclasses.is_dataclass(value) and _can_be_made(kind))
        if not named:
            if self._allow_pickle:
                return _pickled
            raise _CannotTravelError(value, _cure(kind))
        try:
            name = self.classes.name_of(kind)
        except BaseException as error:
            raise _CannotTravelError(value, f"move its class into a module that every worker can import ({shown(error)})") from error
        return _enum_wrap(name) if isinstance(value, enum.Enum) else self._dataclass_wrap(kind, name)

    def _dataclass_wrap(self, kind: type, name: str) -> Wrap:
        names = [field.name for field in dataclasses.fields(kind)]
        members = frozenset(names)
        # what is set beside the fields, in `__post_init__` for example, belongs to the value too
        slots = [key for base in kind.__mro__ for key, member in vars(base).items() if type(member) is MemberDescriptorType]
        other_slots = [key for key in slots if key not in members]

        def wrap(value: Any, depth: int) -> Ext:
            try:
                items = [getattr(value, field) for field in names]
            except AttributeError as error:
                raise _CannotTravelError(value, f"its field {error.name!r} has no value; set every field before you emit it") from error
            wired = [name, self._items(items, depth)]
            attributes = getattr(value, "__dict__", _NOTHING)
            if other_slots or not attributes.keys() <= members:
                extra = {key: item for key, item in attributes.items() if key not in members}
                extra |= {key: getattr(value, key) for key in other_slots if hasattr(value, key)}
                wired.append(self._dict(extra, depth))
            return Ext(Code.DATACLASS, pack(wired))

        return wrap


def pack(value: Any) -> bytes:
    """Encodes wrapped values; integers beyond 64 bits and text with lone surrogates are wrapped when they turn up."""
    try:
        return _encode(value)
    except (OverflowError, UnicodeEncodeError):
        return _encode(mended(value))


def mended(value: Any) -> Any:
    """`value`, already wrapped, with the plain ones wrapped too that MessagePack cannot hold."""
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**64 else Ext(Code.INT, value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True))
    if isinstance(value, str):
        data = value.encode("utf-8", "surrogatepass")
        return value if len(data) == len(value) or _is_clean(value) else Ext(Code.TEXT, data)
    if isinstance(value, list):
        return [mended(item) for item in value]
    if isinstance(value, tuple):
        return tuple([mended(item) for item in value])
    if isinstance(value, dict):
        keys, items = mended(list(value)), mended(list(value.values()))
        if any(isinstance(key, Ext) for key in keys):
            return Ext(Code.PAIRS, _encode([keys, items]))
        return dict(zip(keys, items, strict=True))
    return value


def _is_clean(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _can_be_made(kind: type) -> bool:
    """Whether instances can be made from their attributes alone; not so for a dataclass that is also a dict or an exception."""
    try:
        object.__new__(kind)
    except TypeError:
        return False
    return True


def _enum_wrap(name: str) -> Wrap:
    def wrap(value: Any, _: int) -> Ext:
        # a combination of flags has no member of its own, but a number
        member = value.name if value.name in type(value).__members__ else None
        return Ext(Code.ENUM, pack([name, member] if member is not None else [name, None, value.value]))

    return wrap


def _pickled(value: Any, _: int) -> Ext:
    try:
        return Ext(Code.PICKLE, cloudpickle.dumps(value))
    except BaseException as error:
        raise _CannotTravelError(value, f"it cannot be pickled either ({shown(error)})") from error


def _timed(value: dt.datetime | dt.time) -> bytes:
    zone = value.tzinfo
    if not value.fold and (zone is None or zone is dt.UTC):
        # nearly all: ISO text says it all, and its first byte is no array's
        return value.isoformat().encode()
    return pack([value.replace(tzinfo=None).isoformat(), value.fold, *_zone(value)])


def _zone(value: dt.datetime | dt.time) -> list[Any]:
    """Nothing for a naive time, else what `unwrap` needs to make an equal time zone."""
    zone = value.tzinfo
    if zone is None:
        return []
    if type(zone) is dt.timezone:
        offset, *name = zone.__getinitargs__()  # type: ignore[attr-defined] # the only place where a given name differs from a made one
        return [offset.days, offset.seconds, offset.microseconds, *name]
    if type(zone) is zoneinfo.ZoneInfo and zone.key is not None:
        return [zone.key]
    raise _CannotTravelError(value, f"its time zone is a {_type_name(zone)}; use datetime.timezone or zoneinfo.ZoneInfo(key)")


def _type_name(value: object) -> str:
    kind = type(value)
    if type(kind) is not type:
        # a metaclass of the user's may answer anything, or raise, when it is asked for these two
        names = [type.__dict__["__module__"].__get__(kind), type.__dict__["__qualname__"].__get__(kind)]
        return ".".join(map(str, names))
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _cure(kind: type) -> str:
    rather = "emit plain values or a dataclass"
    if kind.__module__.partition(".")[0] == "numpy":
        rather = "emit value.tolist()" if kind.__name__ == "ndarray" else "emit value.item()"
    elif base := next((base for base in kind.__mro__ if base in PLAIN or base in (list, tuple, dict, set, frozenset)), None):
        rather = f"emit {base.__name__}(value)"
    return f"{rather}, or set pasps.wire.pickle: true"
