"""What a reader of a broker holds, in numbers and in bytes, and how much more it may ask for. Pure."""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

_MOST, _MOST_BYTES = 1000, 16 << 20
_FIRST_GUESS = 1 << 20

Item = TypeVar("Item")


class Ahead(Generic[Item]):
    """What was read and not taken, in order: 1,000 at most, and about 16 MiB.

    Who uses it holds a lock; only `room` needs none, and is asked by the thread that puts.
    How large the next ones are is known when they are here. So few are asked for at first, and then as many as fit if they are as
    large on the mean as the last ones were.
    """

    def __init__(self) -> None:
        self._items: deque[tuple[Item, int]] = deque()
        self._bytes = 0
        self._came = self._came_bytes = 0
        """Since `room` was asked last."""
        self._guess = float(_FIRST_GUESS)

    def __len__(self) -> int:
        return len(self._items)

    def room(self) -> int:
        """How many to ask for. The guess rises at once with what has come since, and falls by half at most."""
        if self._came:
            self._guess = max(1.0, self._came_bytes / self._came, self._guess / 2)
            self._came = self._came_bytes = 0
        count, size = _MOST - len(self._items), _MOST_BYTES - self._bytes
        return max(1, min(count, int(size / self._guess))) if count > 0 and size > 0 else 0

    def is_low(self) -> bool:
        """Whether it is worth while to ask for more."""
        return len(self._items) <= _MOST // 2 and self._bytes <= _MOST_BYTES // 2

    def put(self, item: Item, size: int) -> None:
        """It was read, and has so many bytes."""
        self._items.append((item, size))
        self._bytes += size
        self._came += 1
        self._came_bytes += size

    def pop(self) -> Item:
        """The next one; there is one."""
        item, size = self._items.popleft()
        self._bytes -= size
        return item


class Tally:
    """How much is somewhere, where one thread puts and another one takes: each writes numbers of its own."""

    def __init__(self) -> None:
        self._put = self._put_bytes = 0
        self._gone = self._gone_bytes = 0

    def put(self, size: int) -> None:
        """One more."""
        self._put += 1
        self._put_bytes += size

    def gone(self, size: int) -> None:
        """One less."""
        self._gone += 1
        self._gone_bytes += size

    def now(self) -> tuple[int, int]:
        """How many are there, and how many bytes."""
        return self._put - self._gone, self._put_bytes - self._gone_bytes
