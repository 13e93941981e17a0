"""Entries that are given up, to a stream of their own; each is acked when it is there. Called by redis_reader."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from pasps.connectors.ahead import Tally
from pasps.connectors.backoff import Setback
from pasps.connectors.read_ahead import Event, written
from pasps.connectors.redis_group import RefusedError
from pasps.connectors.redis_settings import RedisSettings

_MOST = 256


class DeadEntries:
    """`put` and `parting` are called by the spout, everything else by the reader's thread.

    While Redis refuses them (a key that is no stream, a right that is missing) they wait, and are tried after pauses up to 5 s.
    """

    def __init__(self, settings: RedisSettings, group: Any, done: Callable[[str], None], tell: Callable[[str], None]) -> None:
        """`done` hears the id of each that has arrived, `tell` of what went wrong."""
        self._target, self._group, self._done, self._tell = settings.dead_stream, group, done, tell
        self._waiting: deque[tuple[Event, bytes]] = deque()
        self._tally = Tally()
        self._setback = Setback()

    def parting(self) -> tuple[int, int]:
        """How many are not there yet, and their bytes."""
        return self._tally.now()

    def put(self, event: Event, reason: str) -> None:
        """It is to go there."""
        self._tally.put(event.size)
        self._waiting.append((event, written(reason)))

    def send(self, now: float) -> None:
        """Send what waits, some hundred at most.

        Raises:
            AwayError: Redis is away. Whether the first that waits is there is not known, and it is sent again.
        """
        if self._setback.lasts(now):
            return
        try:
            for _ in range(min(_MOST, len(self._waiting))):
                event, reason = self._waiting[0]
                self._group.copy(event.record, self._target, reason)
                self._done(event.record.id)
                self._waiting.popleft()
                self._tally.gone(event.size)
                self._setback.over()
        except RefusedError as error:
            if self._setback.failed(now):
                count, _ = self.parting()
                self._tell(f"{error}; what is given up waits for the stream {self._target!r} ({count} entries now), and is tried again")
