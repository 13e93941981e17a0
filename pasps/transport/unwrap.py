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

from pasps.errors import ProtocolError
from pasps.transport.classes import Definitions
from pasps.transport.values import MOST_DEPTH, Code

Make = Callable[[list[Any]], Any]


class Unwrapper:
    """Turns extensions into values; one per connection. `ext_hook` is made for msgspec's decoders."""

    def __init__(self, definitions: Definitions, allow_pickle: bool = False) -> None:
        self._definitions = definitions
        self._allow_pickle = allow_pickle
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
        """The value behind one extension.

        Raises:
            ProtocolError: it is none of ours. Other errors too: the bytes may be garbage, `codec` translates them all.
        """
        unwrap = self._unwraps.get(code)
        if unwrap is None:
            raise ProtocolError(f"value with unknown extension code {code}; install the same pasps on every host")
        if self._depth > MOST_DEPTH + 1:
            raise ProtocolError(f"value nested deeper than {MOST_DEPTH} levels")
        self._depth += 1
        try:
            return unwrap(data)
        finally:
            self._depth -= 1

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
        value = make(items)
        for attributes in extra:
            for key, item in attributes.items():
                object.__setattr__(value, key, item)
        return value

    def _unpickled(self, data: memoryview) -> Any:
        if not self._allow_pickle:
            raise ProtocolError("a pickled value came but pasps.wire.pickle is off here; give both workers the same configuration")
        return pickle.loads(data)


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
        return zoneinfo.ZoneInfo(parts[0])
    days, seconds, microseconds, *name = parts
    return dt.timezone(dt.timedelta(days, seconds, microseconds), *name)
