"""When to try again what failed, and when to give it up, or tell of it. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from heapq import heappop, heappush
from itertools import count
from typing import Generic, TypeVar

from pasps.clock import Clock

_TELL_SECONDS = 30.0

Key = TypeVar("Key", bound=Hashable)


def pause_after(failures: int, first: float = 0.1, longest: float = 5.0) -> float:
    """How long to wait after so many failures in a row; each pause is twice as long as the one before."""
    return min(longest, first * 2.0 ** min(failures - 1, 10))


class Setback:
    """Of a server that does not do what it is asked: the first failure is told, and then one in 30 s, until something went well."""

    def __init__(self) -> None:
        self._failures = 0
        self._until = self._tell_at = 0.0

    def lasts(self, now: float) -> bool:
        """Whether it is too early to try again."""
        return now < self._until

    def over(self) -> None:
        """Something went well."""
        self._failures, self._until = 0, 0.0

    def excuses(self) -> bool:
        """Note a failure that may be tried again at once; False: it is not the first in a row, so it is one for `failed`."""
        if self._failures:
            return False
        self._failures = 1
        return True

    def failed(self, now: float) -> bool:
        """Note a failure, be it one of many that were tried together; True: tell of it."""
        if self.lasts(now):
            return False
        tell = not self._failures or now >= self._tell_at
        if tell:
            self._tell_at = now + _TELL_SECONDS
        self._failures += 1
        self._until = now + pause_after(self._failures)
        return tell


class Tries(Generic[Key]):
    """Of many things that may fail each by itself. After its first failure a key is due at once, for the cause may be a lost worker."""

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
        wait = 0.0 if failures == 1 else pause_after(failures - 1)
        heappush(self._waiting, (self._clock.now() + wait, next(self._order), key))
        return True

    def due(self) -> Key | None:
        """A key whose time has come, the one that waits longest; None: none has. It stays due until `take`."""
        return self._waiting[0][2] if self._waiting and self._waiting[0][0] <= self._clock.now() else None

    def take(self) -> None:
        """What `due` gave is tried now."""
        heappop(self._waiting)

    def each_due(self, most: int) -> Iterator[Key]:
        """Up to `most` keys whose time has come. Each is taken when the next one is asked for: what raises meanwhile stays due."""
        for _ in range(most):
            key = self.due()
            if key is None:
                return
            yield key
            self.take()

    def forget(self, key: Key) -> None:
        """The key is done. One that waits is still told as due."""
        if self._failures:
            self._failures.pop(key, None)
