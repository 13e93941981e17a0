"""Groupings by key, fields and partial key: which tasks a key belongs to, the same in every process and version of Python.

`encode` makes bytes of a key, equal for keys that compare equal (1, 1.0 and True; the same instant in two time zones), also
inside tuples and dataclasses; `hash()` promises neither. What was computed for a key is remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import partial
from operator import itemgetter
from struct import pack
from typing import Any, Generic, TypeVar
from uuid import UUID
from weakref import WeakValueDictionary
from zlib import crc32

from pasps.api.splitting import Pick, Row, TargetView
from pasps.errors import GroupingError
from pasps.groupings.picks import by_target

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
_FACTOR = 0x45D9F3B  # an odd constant whose multiples change about half of all bits
_GOLDEN = 0x9E3779B97F4A7C15
"""2^64 over the golden ratio: multiples of it are spread as evenly as can be, however few of them there are."""
_SECOND = 0x9E37_79B9  # makes the second hash of a key independent of its first
Found = TypeVar("Found")
MOST_KEYS = 32_768
"""In each half of what is remembered; a short key takes some 80 bytes there."""
LONGEST_KEY = 256
"""Bytes of an encoded key that is still remembered, so that the memory is bounded too."""


def mix(bits: int) -> int:
    """Another 32 bits from 32 bits, one to one: CRCs of similar keys differ in few places, and a modulo would show it."""
    bits = (bits ^ bits >> 16) * _FACTOR & 0xFFFF_FFFF
    bits = (bits ^ bits >> 16) * _FACTOR & 0xFFFF_FFFF
    return bits ^ bits >> 16


def encode(value: object) -> bytes:
    """A key as bytes: a tag for its type, then its value; equal for equal keys and, by the tags and lengths, only for them.

    Raises:
        TypeError: `value`, or something in it, is of a type that has no stable form; the message names the type.
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


class KeyCache(dict[Any, Found], Generic[Found]):
    """What `compute` made of a key's bytes, remembered for hashable keys.

    In two halves: a full one becomes the older half, in place of the last. So keys that come again stay, and of a stream whose
    keys are all different no more is kept than of any other.
    """

    def __init__(self, compute: Callable[[bytes], Found]) -> None:
        super().__init__()
        self.compute = compute
        self._older: dict[Any, Found] = {}

    def __missing__(self, key: Any) -> Found:
        found = self._older.get(key)
        if found is None:
            encoded = encode(key)
            found = self.compute(encoded)
            if len(encoded) > LONGEST_KEY:
                return found
        if len(self) >= MOST_KEYS:
            self._older = dict(self)
            self.clear()
        self[key] = found
        return found


# senders of one edge in one process share what they know of its keys; a cache lives as long as one of them does
_shared: WeakValueDictionary[tuple[Any, ...], KeyCache[Any]] = WeakValueDictionary()


class KeyReader(Generic[Found]):
    """Reads the key fields of rows and looks them up."""

    def __init__(self, component: str, stream: str, fields: tuple[str, ...], names: tuple[str, ...]) -> None:
        missing = [name for name in names if name not in fields]
        if missing or not names:
            raise GroupingError(
                f"component {component!r}, stream {stream!r}: no key field {missing!r} among its fields {', '.join(fields)!r}; "
                "group by fields that the stream declares"
            )
        self._edge = (component, stream, names)
        self._key = itemgetter(*(fields.index(name) for name in names))

    def cache(self, tasks: int, compute: Callable[[int, bytes], Found]) -> KeyCache[Found]:
        """The cache of `compute(tasks, key)` for this edge; `compute` must depend on nothing else."""
        shared = (*self._edge, tasks, compute)
        cache: KeyCache[Found] | None = _shared.get(shared)
        if cache is None:
            cache = _shared[shared] = KeyCache(partial(compute, tasks))
        return cache

    def find(self, rows: Sequence[Row], cache: KeyCache[Found]) -> list[Found]:
        """What the cache has or computes for the key of each row.

        Raises:
            GroupingError: a key has no stable hash; nothing was chosen for any row.
        """
        try:
            if len(rows) == 1:
                return [cache[self._key(rows[0])]]
            return list(map(cache.__getitem__, map(self._key, rows)))
        except TypeError:  # a key that cannot be remembered, such as a list, or not even be hashed
            return [self._find_one(self._key(row), cache) for row in rows]

    def _find_one(self, key: Any, cache: KeyCache[Found]) -> Found:
        names = self._edge[2]
        try:
            return cache.compute(encode(key))
        except TypeError:
            parts = (key,) if len(names) == 1 else key
            for name, part in zip(names, parts, strict=True):
                self._check(name, part)
            raise

    def _check(self, name: str, part: Any) -> None:
        try:
            encode(part)
        except TypeError as error:
            component, stream, _ = self._edge
            raise GroupingError(
                f"component {component!r}, stream {stream!r}, field {name!r}: "
                f"a key of type {error} has no hash that is the same in every process; "
                "group by a str, bytes, number, date, tuple or frozen dataclass made from it"
            ) from None


def task_of(tasks: int, encoded: bytes) -> int:
    """The task of a key, among `tasks`.

    Whole numbers go by the golden ratio: ten class numbers on two tasks are five on each, where a hash may give seven and three.
    """
    if encoded[:1] == b"i":
        return ((int.from_bytes(encoded[1:], "little", signed=True) * _GOLDEN & 0xFFFF_FFFF_FFFF_FFFF) * tasks) >> 64
    return mix(crc32(encoded)) % tasks


class FieldsSplitter:
    """The task depends on the key and the size of the pool alone, so that no (de)activation moves a key to another task."""

    fan: int | None = 1

    def __init__(self, component: str, stream: str, fields: tuple[str, ...], names: tuple[str, ...]) -> None:
        self._reader: KeyReader[int] = KeyReader(component, stream, fields, names)
        self._cache = self._reader.cache(1, task_of)

    def refresh(self, view: TargetView) -> None:
        self._cache = self._reader.cache(view.tasks, task_of)

    def split(self, rows: Sequence[Row]) -> list[tuple[int, Pick]]:
        return by_target(self._reader.find(rows, self._cache))


def candidates(tasks: int, encoded: bytes) -> tuple[int, int]:
    """The two tasks of a key, different ones when there is more than one."""
    checksum = crc32(encoded)
    first = mix(checksum) % tasks
    if tasks == 1:
        return 0, 0
    step = 1 + mix(checksum ^ _SECOND) % (tasks - 1)
    return first, (first + step) % tasks


class PartialKeySplitter:
    """The counts are this sender's own and of all its keys together, as in Storm; equal counts go to the key's first task."""

    fan: int | None = 1

    def __init__(self, component: str, stream: str, fields: tuple[str, ...], names: tuple[str, ...]) -> None:
        self._reader: KeyReader[tuple[int, int]] = KeyReader(component, stream, fields, names)
        self._cache = self._reader.cache(1, candidates)
        self._given: list[int] = []

    def refresh(self, view: TargetView) -> None:
        if view.tasks != len(self._given):
            self._given = [0] * view.tasks
            self._cache = self._reader.cache(view.tasks, candidates)

    def split(self, rows: Sequence[Row]) -> list[tuple[int, Pick]]:
        given = self._given
        targets = []
        for first, second in self._reader.find(rows, self._cache):
            target = first if given[first] <= given[second] else second
            given[target] += 1
            targets.append(target)
        return by_target(targets)
