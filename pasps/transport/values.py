"""Users' values on the wire: what MessagePack has goes as it is, anything else of a field as one pickle for all rows.

The runtime calls `RowWrapper` when it puts rows into an outgoing buffer; `Unwrapper` is the other direction, called by `codec`.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import io
import pickle
import zoneinfo
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import chain
from types import MemberDescriptorType, NoneType
from typing import Any

import cloudpickle
import msgspec
from msgspec.msgpack import Ext

from pasps.errors import Interrupt, ProtocolError, WireError, shown
from pasps.transport.classes import SAFE, ClassBook, Definitions
from pasps.transport.messages import Row


class Code:
    """Extension codes; the two ends of a connection must agree on them and on what is behind each.

    `COLUMN` stands in the first row for all rows of its field, and in the others is nothing. What is in it cannot fail for one row
    when it is loaded, or stands for itself as `Unusable` then. `VALUE` is one row's, `ANY` whatever cloudpickle takes.
    """

    VALUE = 1
    COLUMN = 2
    ANY = 3


PLAIN = frozenset({str, int, float, bool, NoneType, bytes})
_CONTAINERS = (list, tuple, dict, set, frozenset)
_ZONES = (NoneType, dt.timezone, zoneinfo.ZoneInfo)
_all_plain = PLAIN.issuperset
_encode = msgspec.msgpack.Encoder().encode
_from_rows = chain.from_iterable


class _CannotTravelError(Exception):
    """Inside this file only: becomes a WireError where the field is known."""

    def __init__(self, value: object, cure: str) -> None:
        super().__init__(_type_name(value), cure)
        self.type_name, self.cure = _type_name(value), cure


class _AloneError(Exception):
    """Inside this file only: a value that must be able to fail alone when it is loaded."""


class RowWrapper:
    """Makes rows ready for the wire; one per worker, not thread-safe. Never blocks.

    What it returns holds nothing that may still change, so that a user who goes on changing a list does not change what is sent.
    """

    def __init__(self, allow_pickle: bool = False, most_frame_bytes: int = 2**31 - 1) -> None:
        self.classes = ClassBook(most_frame_bytes)
        self._allow_pickle = allow_pickle
        self._pickler = _Pickler(self.classes)
        self._own = Unwrapper(Definitions(self.classes))

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
            wired: Iterable[Any] | None
            for column in zip(*rows, strict=True):
                done = []
                wired = column if _all_plain(map(type, column)) else self._whole(column)
                if wired is None:
                    for value in column:
                        done.append(self._value(value))
                    wired = done
                columns.append(wired)
        except Interrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - code of the user's types runs here, and none of it may cost more than its tuple
            index = min(len(columns), len(rows[0]) - 1)
            field = fields[index] if index < len(fields) else str(index)
            row = min(len(done), len(rows) - 1)
            kind, cause = _type_name(rows[row][index]), error.__cause__
            if isinstance(error, _CannotTravelError):
                kind, cure = error.type_name, error.cure
            elif isinstance(error, RecursionError):
                cure = "it is nested too deep, or contains itself; emit a flatter value"
            else:
                cure, cause = f"it cannot be pickled ({shown(error)})", error
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

    def unrolled(self, rows: list[Row]) -> list[Row]:
        """What `wire_rows` gave, with a pickle of its own for each value of a column, so that the rows can be cut."""
        columns: list[Iterable[Any]] = []
        for column in zip(*rows, strict=True):
            first = column[0]
            whole = type(first) is Ext and first.code == Code.COLUMN
            columns.append(map(self._again, self._own.ext_hook(first.code, first.data)) if whole else column)
        return list(zip(*columns, strict=True)) if columns else rows

    def _again(self, value: Any) -> Any:
        try:
            return self._value(value)
        except Interrupt:
            raise
        except BaseException:  # noqa: BLE001 - it could be pickled before; nothing is what the other end refuses
            return Ext(Code.VALUE, b"")

    def _whole(self, column: tuple[Any, ...]) -> list[Any] | None:
        """One pickle for all, which takes a third of the time; None where each row has to have its own."""
        try:
            return [Ext(Code.COLUMN, self._pickled(list(column), alone=False)), *[None] * (len(column) - 1)]
        except Interrupt:
            raise
        except BaseException:  # noqa: BLE001 - looked at value by value, which says whose it is
            return None

    def _value(self, value: Any) -> Any:
        if type(value) in PLAIN:
            return value
        try:
            return Ext(Code.VALUE, self._pickled(value, alone=True))
        except _CannotTravelError:
            if not self._allow_pickle:
                raise
        return Ext(Code.ANY, _AnyPickler(self.classes).pickled(value, alone=True))

    def _pickled(self, value: Any, *, alone: bool) -> bytes:
        try:
            return self._pickler.pickled(value, alone)
        except BaseException:
            self._pickler = _Pickler(self.classes)  # one that raised is left in the middle
            raise


def _made(how: str, *parts: Any) -> Any:
    """Stands in pickles for `Unwrapper.made`."""
    raise LookupError(how, parts)


class _Apart(pickle.Pickler):
    """Takes apart what is neither plain nor a plain container: `Unwrapper.made` makes it again, and says if it cannot."""

    def __init__(self, classes: ClassBook, buffers: Callable[[Any], Any] | None = None) -> None:
        self._buffer = io.BytesIO()
        super().__init__(self._buffer, pickle.HIGHEST_PROTOCOL, buffer_callback=buffers)
        self._classes = classes
        self._alone = False
        self._begun: set[int] = set()

    def pickled(self, value: Any, alone: bool) -> bytes:
        """The pickle; `alone`: of one row."""
        self._alone = alone
        self._buffer.seek(0)
        self._buffer.truncate()
        self.clear_memo()
        self._begun.clear()
        pickle.Pickler.dump(self, value)
        return self._buffer.getvalue()

    def reducer_override(self, value: Any) -> Any:
        """How to pickle a value; see `pickle.Pickler`."""
        kind: Any = type(value)
        if kind in SAFE:
            return self._timed(value) if kind is dt.datetime or kind is dt.time else NotImplemented
        if value is _made:
            return NotImplemented
        if issubclass(kind, type) and (value in SAFE or _is_named(value)):
            return self._class(value)
        if not _is_named(kind):
            return self._foreign(value)
        if not (self._alone or _is_tame(kind)):
            raise _AloneError
        if kind is zoneinfo.ZoneInfo:
            return _made, ("call", kind, value.key)
        if isinstance(value, enum.Enum):
            # by name: its value need not be one that can be pickled; a combination of flags has no name, but a number
            known = value.name in kind.__members__
            return _made, ("member", kind, value.name) if known else ("call", kind, value.value)
        if id(value) in self._begun:  # it would come back twice, and half full; what is done is not asked for again
            raise _CannotTravelError(value, "it contains itself; emit a value that does not")
        self._begun.add(id(value))
        attributes, slots = getattr(value, "__dict__", {}), _slots_of(kind)
        if slots:
            attributes = attributes | {key: item for key in slots if (item := getattr(value, key, _made)) is not _made}
        return _made, ("instance", kind, attributes)

    @staticmethod
    def _timed(value: dt.datetime | dt.time) -> Any:
        zone = type(value.tzinfo)
        if zone not in _ZONES or (isinstance(value.tzinfo, zoneinfo.ZoneInfo) and value.tzinfo.key is None):
            name = _type_name(value.tzinfo)
            raise _CannotTravelError(value, f"its time zone is a {name}; use datetime.timezone or zoneinfo.ZoneInfo(key)")
        # which the other end may not have
        return (_made, ("call", type(value), *value.__reduce_ex__(4)[1])) if zone is zoneinfo.ZoneInfo else NotImplemented

    def _class(self, cls: type) -> Any:
        if cls in SAFE:
            return NotImplemented
        try:
            name = self._classes.name_of(cls)
        except Interrupt:
            raise
        except BaseException as error:
            raise _CannotTravelError(cls, f"move its class into a module that every worker can import ({shown(error)})") from error
        return NotImplemented if name is None else (_made, ("class", name))

    def _foreign(self, value: Any) -> Any:
        """Of any other type."""
        raise NotImplementedError


class _Pickler(_Apart):
    """What may travel whatever the configuration."""

    def __init__(self, classes: ClassBook) -> None:
        super().__init__(classes, self._foreign)  # without asking, a buffer would be written as bytes

    def _foreign(self, value: Any) -> Any:
        raise _CannotTravelError(value, _cure(type(value)))


class _AnyPickler(_Apart, cloudpickle.Pickler):  # type: ignore[misc] # it has no types
    """What cloudpickle takes, too."""

    def _foreign(self, value: Any) -> Any:
        return cloudpickle.Pickler.reducer_override(self, value)


@lru_cache(maxsize=1024)
def _is_named(kind: type) -> bool:
    """Whether instances travel by the name of their class: enums and dataclasses, but none that is also a dict or an exception."""
    if kind is zoneinfo.ZoneInfo or issubclass(kind, enum.Enum):
        return True
    try:
        object.__new__(kind)
    except TypeError:
        return False
    return dataclasses.is_dataclass(kind)


@lru_cache(maxsize=1024)
def _is_tame(kind: type) -> bool:
    """Whether no code of the user's runs when an instance is put into a set, or made the key of a dictionary."""
    codes = [getattr(method, "__code__", None) for method in (kind.__hash__, kind.__eq__)]
    return all(code is None or code.co_filename in ("<string>", enum.__file__) for code in codes)  # a dataclass's are made from text


@lru_cache(maxsize=1024)
def _slots_of(kind: type) -> list[str]:
    return [key for base in kind.__mro__ for key, found in vars(base).items() if type(found) is MemberDescriptorType]


def mended(rows: list[Row]) -> list[Row]:
    """Wired rows whose plain values are pickled too where MessagePack cannot hold them: large integers, text with lone surrogates."""
    return [tuple([value if _fits(value) else Ext(Code.VALUE, pickle.dumps(value)) for value in row]) for row in rows]


def _fits(value: Any) -> bool:
    try:
        _encode(value)
    except (OverflowError, UnicodeEncodeError):
        return False
    return True


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
    elif base := next((base for base in kind.__mro__ if base in PLAIN or base in _CONTAINERS), None):
        rather = f"emit {base.__name__}(value)"
    return f"{rather}, or set pasps.wire.pickle: true"


# ---- the other direction, with bytes nobody has checked yet


class Unusable:
    """Stands for a value that is well-formed but cannot be had in this process, until `codec` takes its row out."""

    __slots__ = ("error",)

    def __init__(self, error: WireError) -> None:
        self.error = error


class Column(list[Any]):
    """All values of a field, in the place of the first."""


class Unwrapper:
    """Turns extensions into values; one per connection. `ext_hook` is made for msgspec's decoder.

    `columns` counts those it made, `unusable` is what it could not make; who takes both out of the rows sets them back.
    """

    def __init__(self, definitions: Definitions, allow_pickle: bool = False) -> None:
        self._definitions = definitions
        self._allow_pickle = allow_pickle
        self.columns = 0
        self.unusable: list[Unusable] = []

    def ext_hook(self, code: int, data: memoryview) -> Any:
        """The values behind one extension, among them an `Unusable` for each that cannot be made of what came.

        Raises:
            ProtocolError: it is none of ours.
        """
        if code == Code.ANY and not self._allow_pickle:
            raise ProtocolError("a pickled value came but pasps.wire.pickle is off here; give both workers the same configuration")
        if code not in (Code.VALUE, Code.COLUMN, Code.ANY):
            raise ProtocolError(f"value with unknown extension code {code}; install the same pasps on every host")
        before = len(self.unusable)
        try:
            found = _Unpickler(data, self, anything=code == Code.ANY).load()
            if code == Code.COLUMN:
                self.columns += 1
                return Column(found)
        except ProtocolError:
            raise
        except Interrupt:
            raise
        except BaseException as error:
            if code == Code.COLUMN:
                raise ProtocolError(f"a column of values cannot be read: {shown(error)}") from error
            return self._fail(error)
        return found if len(self.unusable) == before else self.unusable[before]

    def _fail(self, error: BaseException) -> Unusable:
        """What code of the user's may have decided: a `__set__`, a key's `__hash__`, a class of another version."""
        cure = f"it cannot be made at the other end ({shown(error)}); give all workers the same modules"
        self.unusable.append(Unusable(error if isinstance(error, WireError) else WireError("pickle", cure=cure)))
        return self.unusable[-1]

    def find_class(self, module: str, name: str) -> Any:
        """What a pickle names; `Unusable` for a class that cannot be had here."""
        if module == __name__ and name == _made.__name__:
            return self.made
        try:
            return self._definitions.find(module, name)
        except WireError as error:
            return self._fail(error)

    def made(self, how: str, found: Any, *parts: Any) -> Any:
        """A value as `_Pickler` took it apart: a class, or something of the class `found`."""
        try:
            if how == "class":
                return self._definitions.resolve(found)
            if self.unusable and (unusable := first_unusable([found, *parts])):
                return unusable
            if how == "member":
                return found.__members__[parts[0]]
            if how == "call":
                return found(*parts)
            value = object.__new__(found)
            for key, item in parts[0].items():
                object.__setattr__(value, key, item)  # not setattr: the class may be frozen
            return value
        except ProtocolError:
            raise
        except Interrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - the user's class decides
            return self._fail(error)


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: memoryview, unwrapper: Unwrapper, *, anything: bool) -> None:
        super().__init__(io.BytesIO(data))
        self._unwrapper = unwrapper
        self._anything = anything

    def find_class(self, module: str, name: str) -> Any:
        if self._anything and name != _made.__name__:
            return super().find_class(module, name)
        return self._unwrapper.find_class(module, name)


def first_unusable(value: Any) -> Unusable | None:
    """What is unusable in a row; None when it can be used."""
    pending, seen = [value], set[int]()
    while pending:
        part = pending.pop()
        if type(part) is Unusable:
            return part
        # by identity: a class of the user's may be one that is equal to anything
        if id(part) not in seen and any(type(part) is kind for kind in _CONTAINERS):
            seen.add(id(part))
            pending += chain(part, part.values()) if type(part) is dict else part
    return None


def spread(rows: list[Row]) -> tuple[list[Row], int]:
    """Decoded rows with their parts of the columns in them, and how many of those there were; raises ValueError when they do not fit."""
    columns = [column[0] if type(column[0]) is Column else column for column in zip(*rows, strict=True)]
    count = sum(type(column) is Column for column in columns)
    if any(len(column) != len(rows) for column in columns):
        raise ValueError(f"expected {len(rows)} values for each field, got {[len(column) for column in columns]}")
    return list(zip(*columns, strict=True)) if count else rows, count
