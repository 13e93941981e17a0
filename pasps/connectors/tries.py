"""When what failed is tried again, and when that is given up. Pure."""

from __future__ import annotations

from collections.abc import Hashable
from heapq import heappop, heappush
from itertools import count
from typing import Generic, TypeVar

from pasps.clock import Clock

_FIRST_WAIT, _LONGEST_WAIT = 0.1, 5.0

Key = TypeVar("Key", bound=Hashable)


class Tries(Generic[Key]):
    """After its first failure a key is due at once, for the cause may be a lost worker; then after pauses that double, up to 5 s."""

    def __init__(self, clock: Clock, most: int | None) -> None:
        """`most`: how often a key may fail; None: without an end."""
        self._clock = clock
        self._most = most
        self._failures: dict[Key, int] = {}
        self._waiting: list[tuple[float, int, Key]] = []
        self._order = count()

    def __len__(self) -> int:
        """How many wait for another try."""
        return len(self._waiting)

    def failed(self, key: Key) -> bool:
        """Note a failure; False: that was the last try, and the key is forgotten."""
        failures = self._failures.get(key, 0) + 1
        if self._most is not None and failures >= self._most:
            self._failures.pop(key, None)
            return False
        self._failures[key] = failures
        wait = 0.0 if failures == 1 else min(_LONGEST_WAIT, _FIRST_WAIT * 2.0 ** min(failures - 2, 10))
        heappush(self._waiting, (self._clock.now() + wait, next(self._order), key))
        return True

    def due(self) -> Key | None:
        """A key whose time has come, the one that waits longest; None: none has. It stays due until `take`."""
        return self._waiting[0][2] if self._waiting and self._waiting[0][0] <= self._clock.now() else None

    def take(self) -> None:
        """What `due` gave is tried now."""
        heappop(self._waiting)

    def forget(self, key: Key) -> None:
        """The key is done. One that waits is still told as due."""
        if self._failures:
            self._failures.pop(key, None)
