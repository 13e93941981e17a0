"""A hash of keys that is the same in every process and every version of Python, which `hash()` is not.

Keys that compare equal hash equal (1, 1.0 and True; the same instant in two time zones), also inside tuples and dataclasses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from struct import pack
from typing import Any
from uuid import UUID
from zlib import crc32

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
_FACTOR = 0x45D9F3B  # an odd constant whose multiples change about half of all bits


def stable_hash(value: object) -> int:
    """32 evenly spread bits for a key.

    Raises:
        TypeError: `value`, or something in it, is of a type that has no stable form; the message names the type.
    """
    return mix(crc32(encode(value)))


def mix(bits: int) -> int:
    """Another 32 bits from 32 bits, one to one: CRCs of similar keys differ in few places, and a modulo would show it."""
    bits = (bits ^ bits >> 16) * _FACTOR & 0xFFFF_FFFF
    bits = (bits ^ bits >> 16) * _FACTOR & 0xFFFF_FFFF
    return bits ^ bits >> 16


def encode(value: object) -> bytes:
    """A key as bytes: a tag for its type, then its value; equal for equal keys and, by the tags and lengths, only for them.

    Raises:
        TypeError: as `stable_hash`.
    """
    known = _EXACT.get(type(value))
    if known is not None:
        return known(value)
    for kind, encoder in _FAMILIES:
        if isinstance(value, kind):
            return encoder(value)
    if is_dataclass(value) and not isinstance(value, type) and value.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        # the module is left out: a class of `__main__` has another one in a worker
        compared = [getattr(value, field.name) for field in fields(value) if field.compare]
        return b"c" + _joined([type(value).__qualname__, *compared])
    if hasattr(value, "__index__"):
        return _of_int(value.__index__())
    raise TypeError(f"{type(value).__module__}.{type(value).__qualname__}")


def _of_int(value: int) -> bytes:
    return b"i" + value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)


def _of_float(value: float) -> bytes:
    if value.is_integer():  # -0.0 becomes 0
        return _of_int(int(value))
    return b"n" if value != value else b"f" + pack("<d", value)


def _of_decimal(value: Decimal) -> bytes:
    if value.is_nan():
        return b"n"
    nearest = float(value)
    if Decimal(nearest) == value:  # infinities too
        return _of_float(nearest)
    over, under = value.as_integer_ratio()
    return _of_int(over) if under == 1 else b"r" + _joined([over, under])


def _of_time(value: time) -> bytes:
    offset = value.utcoffset()
    if offset is None:
        return b"T" + value.isoformat().encode()
    return b"V" + _of_int((datetime.combine(EPOCH, value.replace(tzinfo=UTC)) - offset - EPOCH) // MICROSECOND)


def _of_datetime(value: datetime) -> bytes:
    if value.utcoffset() is None:
        return b"d" + value.isoformat().encode()
    return b"u" + _of_int((value - EPOCH) // MICROSECOND)


def _of_dict(value: dict[Any, Any]) -> bytes:
    pairs = sorted((encode(key), encode(item)) for key, item in value.items())
    return b"m" + _framed([part for pair in pairs for part in pair])


def _joined(values: tuple[Any, ...] | list[Any]) -> bytes:
    return _framed([encode(value) for value in values])


def _framed(parts: list[bytes]) -> bytes:
    return b"".join([len(part).to_bytes(8, "little") + part for part in parts])


_EXACT: dict[type, Callable[[Any], bytes]] = {
    str: lambda value: b"s" + value.encode("utf-8", "surrogatepass"),
    int: _of_int,
    bool: _of_int,
    float: _of_float,
    bytes: lambda value: b"b" + value,
    tuple: lambda value: b"t" + _joined(value),
    type(None): lambda _: b"0",
}
# subclasses, and what is rarer; the first that fits, so an enum counts as its value and a datetime is not a mere date
_FAMILIES: list[tuple[type | tuple[type, ...], Callable[[Any], bytes]]] = [
    (Enum, lambda value: encode(value.value)),
    (str, lambda value: _EXACT[str](str.__str__(value))),
    (int, _of_int),
    (float, _of_float),
    ((bytes, bytearray), lambda value: b"b" + bytes(value)),
    ((tuple, list), _EXACT[tuple]),
    (dict, _of_dict),
    (datetime, _of_datetime),
    (date, lambda value: b"D" + value.isoformat().encode()),
    (time, _of_time),
    (timedelta, lambda value: b"e" + _of_int(value // MICROSECOND)),
    (UUID, lambda value: b"U" + value.bytes),
    (Decimal, _of_decimal),
]
