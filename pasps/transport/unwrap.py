"""The other direction of `values`: from extensions back to Python values; called by `codec` with bytes nobody has checked yet."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import pickle
import zoneinfo
from collections.abc import Callable
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec

from pasps.errors import ProtocolError, WireError, shown
from pasps.transport.classes import Definitions
from pasps.transport.values import MOST_DEPTH, Code

Make = Callable[[list[Any]], Any]


_NAMES = {code: name.lower() for name, code in vars(Code).items() if isinstance(code, int)}


class Unusable:
    """Stands for a value that is well-formed but cannot be had in this process, until `codec` takes its row out."""

    __slots__ = ("error",)

    def __init__(self, error: WireError) -> None:
        self.error = error


class Unwrapper:
    """Turns extensions into values; one per connection. `ext_hook` is made for msgspec's decoders.

    `unusable` holds why values became `Unusable`, inner ones first; an extension around one is one itself, so that
    only lists and dicts can hold them.
    """

    def __init__(self, definitions: Definitions, allow_pickle: bool = False) -> None:
        self._definitions = definitions
        self._allow_pickle = allow_pickle
        self.unusable: list[WireError] = []
        self._depth = 0
        self._makes: dict[str, Make] = {}
        self._decode: Callable[[memoryview], Any] = msgspec.msgpack.Decoder(ext_hook=self.ext_hook).decode
        self._unwraps: dict[int, Callable[[memoryview], Any]] = {
            Code.INT: lambda data: int.from_bytes(data, "big", signed=True),
            Code.TEXT: lambda data: str(data, "utf-8", "surrogatepass"),
            Code.TUPLE: lambda data: tuple(self._list(data)),
            Code.SET: lambda data: set(self._list(data)),
            Code.FROZENSET: lambda data: frozenset(self._list(data)),
            Code.PAIRS: self._pairs,
            Code.DATETIME: lambda data: self._timed(dt.datetime, data),
            Code.DATE: lambda data: dt.date.fromisoformat(str(data, "ascii")),
            Code.TIME: lambda data: self._timed(dt.time, data),
            Code.TIMEDELTA: lambda data: dt.timedelta(*self._list(data)),
            Code.DECIMAL: lambda data: Decimal(str(data, "ascii")),
            Code.UUID: lambda data: UUID(bytes=bytes(data)),
            Code.ENUM: self._member,
            Code.DATACLASS: self._instance,
            Code.PICKLE: self._unpickled,
        }

    def ext_hook(self, code: int, data: memoryview) -> Any:
        """The value behind one extension; `Unusable` for one that cannot be made of what came, which code of the user's may decide.

        Raises:
            ProtocolError: it is none of ours.
        """
        unwrap = self._unwraps.get(code)
        if unwrap is None:
            raise ProtocolError(f"value with unknown extension code {code}; install the same pasps on every host")
        if self._depth > MOST_DEPTH + 1:
            raise ProtocolError(f"value nested deeper than {MOST_DEPTH} levels")
        self._depth += 1
        before = len(self.unusable)
        try:
            value = unwrap(data)
        except WireError as error:
            self.unusable.append(error)
        except ProtocolError:
            raise
        except BaseException as error:  # noqa: BLE001 - a key's `__hash__`, a field's `__set__`, a class of another version: costs its row
            self.unusable.append(WireError(_NAMES[code], cure=f"it cannot be made at the other end ({shown(error)})"))
        finally:
            self._depth -= 1
        return value if len(self.unusable) == before else Unusable(self.unusable[before])

    def _list(self, data: memoryview) -> list[Any]:
        items = self._decode(data)
        if type(items) is not list:
            raise ProtocolError(f"wrapped value: expected an array, got {type(items).__name__}")
        return items

    def _timed(self, kind: type[dt.datetime | dt.time], data: memoryview) -> Any:
        if data[0] < 0x80:
            return kind.fromisoformat(str(data, "ascii"))
        text, fold, *zone = self._list(data)
        return kind.fromisoformat(text).replace(fold=fold, tzinfo=_zone(zone))

    def _pairs(self, data: memoryview) -> dict[Any, Any]:
        keys, items = self._list(data)
        return dict(zip(keys, items, strict=True))

    def _member(self, data: memoryview) -> Any:
        name, member, *value = self._list(data)
        cls = self._definitions.resolve(name)
        if not issubclass(cls, enum.Enum):
            raise ProtocolError(f"class {name!r}: expected an enum")
        return cls(*value) if member is None else cls.__members__[member]

    def _instance(self, data: memoryview) -> Any:
        name, items, *extra = self._list(data)
        make = self._makes.get(name)
        if make is None:
            make = self._makes[name] = _maker(self._definitions.resolve(name), name)
        try:
            value = make(items)
            for attributes in extra:
                for key, item in attributes.items():
                    object.__setattr__(value, key, item)
        except BaseException as error:
            raise WireError(name, cure=f"it cannot be made at the other end ({shown(error)}); give all workers the same modules") from error
        return value

    def _unpickled(self, data: memoryview) -> Any:
        if not self._allow_pickle:
            raise ProtocolError("a pickled value came but pasps.wire.pickle is off here; give both workers the same configuration")
        try:
            return pickle.loads(data)
        except BaseException as error:
            raise WireError("pickle", cure=f"it cannot be loaded at the other end ({shown(error)})") from error


def first_unusable(value: Any) -> WireError | None:
    """Why a row, or a list or dict in it, cannot be used; None when it can."""
    if type(value) is Unusable:
        return value.error
    inner = value.values() if type(value) is dict else value if type(value) in (list, tuple) else ()
    return next((error for item in inner if (error := first_unusable(item)) is not None), None)


def _maker(cls: type, name: str) -> Make:
    """Makes instances from the values of their fields, without `__init__`: they were made, and checked, where they came from."""
    if not dataclasses.is_dataclass(cls):
        raise ProtocolError(f"class {name!r}: expected a dataclass")
    names = [field.name for field in dataclasses.fields(cls)]
    new, put = object.__new__, object.__setattr__

    def make(items: list[Any]) -> Any:
        value = new(cls)
        for field, item in zip(names, items, strict=True):
            put(value, field, item)  # not setattr: the class may be frozen
        return value

    return make


def _zone(parts: list[Any]) -> dt.tzinfo | None:
    if not parts:
        return None
    if len(parts) == 1:
        try:
            return zoneinfo.ZoneInfo(parts[0])
        except zoneinfo.ZoneInfoNotFoundError as error:
            raise WireError("zoneinfo.ZoneInfo", cure=f"the other end has no time zone {parts[0]!r}; install tzdata there") from error
    days, seconds, microseconds, *name = parts
    return dt.timezone(dt.timedelta(days, seconds, microseconds), *name)
