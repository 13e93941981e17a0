"""Entries that are given up, to a stream of their own; each is acked when it is there. Called by redis_reader."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from pasps.connectors.read_ahead import written
from pasps.connectors.redis_entries import RedisEntry
from pasps.connectors.redis_group import RefusedError
from pasps.connectors.redis_settings import RedisSettings
from pasps.connectors.setbacks import Setback

_MOST = 256


class DeadEntries:
    """`put` and `len` are called by the spout, everything else by the reader's thread.

    While Redis refuses them (a key that is no stream, a right that is missing) they wait, and are tried after pauses up to 5 s.
    """

    def __init__(self, settings: RedisSettings, group: Any, done: Callable[[str], None], tell: Callable[[str], None]) -> None:
        """`done` hears the id of each that has arrived, `tell` of what went wrong."""
        self._target, self._group, self._done, self._tell = settings.dead_stream, group, done, tell
        self._waiting: deque[tuple[RedisEntry, bytes]] = deque()
        self._setback = Setback()

    def __len__(self) -> int:
        """How many are not there yet."""
        return len(self._waiting)

    def put(self, entry: RedisEntry, reason: str) -> None:
        """It is to go there."""
        self._waiting.append((entry, written(reason)))

    def send(self, now: float) -> None:
        """Send what waits, some hundred at most.

        Raises:
            AwayError: Redis is away. Whether the first that waits is there is not known, and it is sent again.
        """
        if self._setback.lasts(now):
            return
        try:
            for _ in range(min(_MOST, len(self._waiting))):
                entry, reason = self._waiting[0]
                self._group.copy(entry, self._target, reason)
                self._done(entry.id)
                self._waiting.popleft()
                self._setback.over()
        except RefusedError as error:
            if self._setback.failed(now):
                self._tell(f"{error}; what is given up waits for the stream {self._target!r} ({len(self)} entries now), and is tried again")
