"""From a row to its key, and from a key to what was once computed for it; used by the groupings that hash."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

from pasps.errors import GroupingError
from pasps.groupings.base import Row
from pasps.groupings.hashing import encode

Found = TypeVar("Found")
MOST_KEYS = 32_768
"""In each half of what is remembered; a short key takes some 80 bytes there."""
LONGEST_KEY = 256
"""Bytes of an encoded key that is still remembered, so that the memory is bounded too."""


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
