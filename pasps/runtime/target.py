"""One task seen from the workers that send to it: where it is, and how many more tuples, of how many bytes, it takes."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from itertools import accumulate, chain, islice
from types import MemberDescriptorType
from typing import Any, Protocol

from pasps.errors import Interrupt
from pasps.runtime.batch import Batch, Row

_WEIGHED_AT_FIRST = 32
"""Batches of a target that are all weighed: at the start, and after each one that was heavy."""
_WEIGHED_SELDOM = 32
"""Later one in so many, while all are light: to weigh each would cost a tuple of one number a tenth of its way."""
_MOST_ROWS = 32
"""Rows of such a batch that are looked at."""
_MOST_WEIGHED = 16
"""Items of a container that are weighed; the others are taken to be like them."""
_MOST_WEIGHED_FIRST = 64
"""Of a value itself: the items of a record are not like each other, and one of them may hold a whole page."""


class Door(Protocol):
    """Where a batch leaves the sender: a local task, or the outgoing buffer of a peer."""

    def accept(self, batch: Batch, weight: int = 0) -> None:
        """Take the batch; never blocks, never refuses: the credit was checked before. `weight`: its bytes where they are many."""


class Waiter(Protocol):
    """An executor that holds output back until there is credit again."""

    def wake(self) -> None:
        """Run again soon."""


class Target:
    """Credit of this worker at one task: at most `limit` tuples sent and not yet taken out of the inbox there.

    Of heavy tuples, those above `most_bytes / limit` on average, there are no more than `most_bytes` bytes, or one tuple; the
    others need no second account, since `limit` of them are not more than that. So both together bound what waits there to twice
    `most_bytes`. Tuples are taken in about the order in which they were sent, so who gives credit back need not know bytes.

    `door` None: the task has no live host at the moment, so nothing fits. `here`: it is hosted by this worker.
    """

    __slots__ = (
        "_heavy", "_light", "_until_weighed", "_waiters", "component", "door", "here", "limit", "most_bytes", "outstanding",
        "outstanding_bytes", "task",
    )  # fmt: skip

    def __init__(self, component: str, task: int, limit: int, most_bytes: int = sys.maxsize) -> None:
        self.component = component
        self.task = task
        self.limit = limit
        self.most_bytes = most_bytes
        self.outstanding = 0
        self.outstanding_bytes = 0
        self.door: Door | None = None
        self.here = False
        self._waiters: dict[Waiter, None] = {}  # each once: who waits for any of several comes again and again to one that is stuck
        self._heavy: deque[list[int]] = deque()  # tuples outstanding, in order: how many, and their bytes; empty while all are light
        self._light = _WEIGHED_AT_FIRST - 1  # how many batches more are weighed for sure
        self._until_weighed = 0

    def room(self) -> int:
        """How many tuples may be sent now."""
        if self.door is None or self.outstanding_bytes >= self.most_bytes:
            return 0
        return self.limit - self.outstanding

    def occupancy(self) -> float:
        """How much of what may be sent has been sent, and not taken: from 0 to 1."""
        return 1.0 if self.door is None else min(1.0, self.outstanding / self.limit)

    def send(self, batch: Batch) -> Batch | None:
        """Send what fits; returns the rest, or None."""
        if self.door is None:
            return batch
        if self._until_weighed <= 0:
            if self._weigh(batch.rows):
                return self._send_heavy(batch)
        else:
            self._until_weighed -= 1
        count = len(batch.rows)
        room = self.limit - self.outstanding
        if count <= room:
            # before `accept`, which may give some back at once, for rows that cannot travel: counted after that it would be out for ever
            self.outstanding += count
            # light ones stand in line too while heavy ones are out: credit comes back in tuples, and their order says of which
            if self._heavy:
                self._heavy.append([count, 0])
            self.door.accept(batch)
            return None
        if room <= 0:
            return batch
        self._take(room)
        self.door.accept(batch.part(0, room))
        return batch.part(room, count)

    def _take(self, count: int, size: int = 0) -> None:
        if size and not self._heavy:
            self._heavy.append([self.outstanding, 0])
        self.outstanding += count
        self.outstanding_bytes += size
        if self._heavy:
            self._heavy.append([count, size])

    def _weigh(self, rows: list[Row]) -> bool:
        """Whether these are heavy; decides when to look again."""
        some = rows if self._light or len(rows) <= _MOST_ROWS else rows[:: len(rows) // _MOST_ROWS]
        if weight_of(some) * self.limit > self.most_bytes * len(some):
            self._light = _WEIGHED_AT_FIRST
            return True
        if self._light:
            self._light -= 1
        else:
            self._until_weighed = _WEIGHED_SELDOM
        return False

    def _send_heavy(self, batch: Batch) -> Batch | None:
        """Send as many as fit by both accounts; a tuple that is larger than all that may wait goes when no other is there."""
        assert self.door is not None
        room, free = self.limit - self.outstanding, self.most_bytes - self.outstanding_bytes
        count = size = 0
        for total in accumulate(weight_of([row]) for row in batch.rows):
            if count >= room or (total > free and (count or self.outstanding_bytes)):
                break
            count, size = count + 1, total
        if not count:
            return batch
        self._take(count, size)
        whole = len(batch.rows)
        self.door.accept(batch if count == whole else batch.part(0, count), size)
        return None if count == whole else batch.part(count, whole)

    def release(self, count: int) -> None:
        """The receiver took `count` tuples. A late release from before a crash never makes the account negative."""
        self.outstanding = max(0, self.outstanding - count)
        if self._heavy:
            self._release_heavy(count)
        if self._waiters:
            self.wake_waiters()

    def _release_heavy(self, count: int) -> None:
        while count and self._heavy:
            entry = self._heavy[0]
            size = entry[1] if count >= entry[0] else entry[1] * count // entry[0]
            self.outstanding_bytes -= size
            if count >= entry[0]:
                count -= entry[0]
                self._heavy.popleft()
            else:
                entry[0] -= count
                entry[1] -= size
                count = 0
        if not self.outstanding_bytes:
            # those that are left are light, and need no account
            self._heavy.clear()

    def forget(self) -> None:
        """The host is gone, and all that was outstanding with it."""
        self.outstanding = self.outstanding_bytes = 0
        self._heavy.clear()
        self.wake_waiters()

    def wait(self, waiter: Waiter) -> None:
        """Have it woken, once, when there is room again."""
        self._waiters[waiter] = None

    def wake_waiters(self) -> None:
        """Let everyone who held output back try again."""
        waiting, self._waiters = self._waiters, {}
        for waiter in waiting:
            waiter.wake()


_PLAIN = frozenset({str, bytes, int, float, bool, type(None)})
_all_plain = _PLAIN.issuperset
_sizes = sys.getsizeof
_MOST_DEPTH = 8
_CONTAINERS: tuple[Any, ...] = (dict, list, tuple, set, frozenset)


def weight_of(rows: list[Row]) -> int:
    """About how many bytes these rows take; runs no code of the user's types, and looks at no more of a container than it must."""
    try:
        if _all_plain(map(type, chain.from_iterable(rows))):
            return sum(map(_sizes, chain.from_iterable(rows)))
        return sum(_weight(value, 0) for row in rows for value in row)
    except Interrupt:
        raise
    except BaseException:  # noqa: BLE001 - a metaclass of the user's that cannot be hashed, a dict that changes meanwhile
        return 0


def _weight(value: Any, depth: int) -> int:
    kind = type(value)
    if kind in _PLAIN:
        return _sizes(value)
    if depth > _MOST_DEPTH:
        return 0
    for base in _CONTAINERS:
        if issubclass(kind, base):
            # the base's own methods: a subclass may have others in their place, and those are code of the user's
            if base is dict:
                return _shared(dict.keys(value), depth) + _shared(dict.values(value), depth)
            return _shared(value if kind is base else list(base.__iter__(value)), depth)
    for text in (str, bytes):
        if issubclass(kind, text):
            return text.__len__(value)
    if kind is bytearray or kind.__module__ == "numpy":
        return int(getattr(value, "nbytes", 0)) or len(value)
    weight = _shared(_in_slots(value, kind), depth)
    try:
        attributes = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return weight + kind.__basicsize__  # `object.__sizeof__` reads as a length what is none: of a generator it is a billion gigabytes
    return weight + (_shared(attributes.values(), depth) if type(attributes) is dict else 0)


def _in_slots(value: Any, kind: type) -> list[Any]:
    """What an object keeps in slots and not in its `__dict__`."""
    found = []
    for own in map(vars, kind.__mro__[:-1]):
        for descriptor in own.values() if "__slots__" in own else ():
            if type(descriptor) is MemberDescriptorType:
                with suppress(AttributeError):  # nothing was put there
                    found.append(descriptor.__get__(value))
    return found


def _shared(items: Any, depth: int) -> int:
    """The weight of all items, by some of them."""
    count = len(items)
    if not count:
        return 0
    some: Iterable[Any] = items
    most = _MOST_WEIGHED if depth else _MOST_WEIGHED_FIRST
    if count > most:
        some = items[:: count // most] if type(items) in (list, tuple) else islice(items, most)
    weights = [_weight(item, depth + 1) for item in some]
    return sum(weights) * count // len(weights)
