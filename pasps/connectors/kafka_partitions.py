"""The partitions that one task has now: how far each is emitted, done and committed. Pure; who uses it holds a lock."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Key = tuple[str, int]
"""Topic and number of a partition."""
Headers = tuple[tuple[str, bytes | None], ...]
NO_HEADERS: Headers = ()


@dataclass(frozen=True, slots=True)
class KafkaRecord:
    """A message as `values` gets it. `seconds`: when the producer or the broker says that it came, since the epoch."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    seconds: float | None = None
    headers: Headers = NO_HEADERS

    @property
    def size(self) -> int:
        """Bytes of the key, the value and the headers."""
        headers = sum(len(name) + len(value or b"") for name, value in self.headers)
        return len(self.key or b"") + len(self.value or b"") + headers

    def __str__(self) -> str:
        return f"message {self.offset} of {self.topic}[{self.partition}]"


@dataclass(eq=False, slots=True)
class Partition:
    """One partition for as long as it is assigned to this task; assigned again, it is a new one.

    Everything before `low` is done: its messages are acked, or put aside, or it has none there (a compacted topic, the marks of
    transactions). That is what may be committed.
    """

    key: Key
    position: int | None = None
    """The first offset that is not taken; None until the first message has come, or the end was met."""
    committed: int | None = None
    """What the broker has confirmed to this task."""
    first: int = 0
    """The first offset that was read here."""
    end: int | None = None
    begins: int | None = None
    """Where it will begin, while no message has come: good enough for the lag, never committed."""
    _open: dict[int, None] = field(default_factory=dict)
    """Offsets that are taken and not done, in order."""

    @property
    def low(self) -> int | None:
        """The first offset that is not done."""
        return next(iter(self._open), self.position)

    @property
    def uncommitted(self) -> tuple[int, int] | None:
        """The offsets, from and to, that are done and that nobody knows of but this task; None: there are none."""
        low, known = self.low, self.first if self.committed is None else self.committed
        return None if low is None or low <= known else (known, low)

    @property
    def lag(self) -> int | None:
        """Offsets between what is taken and the end."""
        position = self.begins if self.position is None else self.position
        return None if position is None or self.end is None else max(0, self.end - position)

    def arrived(self, offset: int) -> None:
        """A message was read, and waits."""
        if self.position is None:
            self.position = self.first = offset

    def take(self, offset: int) -> None:
        """A message is emitted, as far as anybody knows."""
        self._open[offset] = None
        self.position = offset + 1

    def reach(self, offset: int) -> None:
        """There is nothing before `offset` that was not taken: the end was met there."""
        if self.position is None:
            self.first = offset
        self.position = self.end = offset

    def done(self, offset: int) -> None:
        """A message is acked or put aside."""
        self._open.pop(offset, None)

    def may_begin(self, offset: int) -> None:
        """Somebody says that the group reads on there."""
        self.begins = max(0, offset)

    def met(self, end: int) -> None:
        """Somebody says that it goes on at least until `end`."""
        self.end = end if self.end is None else max(self.end, end)


class Partitions:
    """All that are assigned, by topic and number."""

    def __init__(self) -> None:
        self.owned: dict[Key, Partition] = {}
        self.assigned = False
        """Whether the group has said what this task has, be it nothing."""

    def assign(self, keys: list[Key]) -> None:
        """These are this task's from now on."""
        self.assigned = True
        for key in keys:
            self.owned[key] = Partition(key)

    def revoke(self, keys: list[Key]) -> None:
        """These are somebody else's from now on; what was in flight is forgotten, and comes again there."""
        for key in keys:
            self.owned.pop(key, None)
        self.assigned = bool(self.owned)

    def owns(self, partition: Any) -> bool:
        """Whether it is still this task's."""
        return self.owned.get(partition.key) is partition

    def to_commit(self) -> list[tuple[Key, int]]:
        """What may be committed and is not: also where a partition begins, so that a restart finds it again."""
        lows = ((key, partition.low, partition.committed) for key, partition in self.owned.items())
        return [(key, low) for key, low, committed in lows if low is not None and low != committed]

    def committed(self, key: Key, offset: int) -> None:
        """The broker has it."""
        if key in self.owned:
            self.owned[key].committed = offset

    def backlog(self) -> int | None:
        """Over all partitions; None while the group or one of them has not said."""
        lags = [partition.lag for partition in self.owned.values()]
        return sum(lag for lag in lags if lag is not None) if self.assigned and None not in lags else None
