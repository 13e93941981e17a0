"""One task's member of a consumer group of a Redis stream: reads ahead, acks what is done, takes over what the dead left."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Any

from pasps.clock import Clock
from pasps.connectors.backoff import Setback
from pasps.connectors.read_ahead import LEAVE_SECONDS, DeadLetters, Event, Reader
from pasps.connectors.redis_client import (
    FIRST,
    AwayError,
    NoGroupError,
    RedisEntry,
    RedisSettings,
    RefusedError,
    place_of,
    share_of,
)

_log = logging.getLogger(__name__)

_MOST_ACKS, _MOST_BATCHES = 1000, 20
_MOST_DEAD = 256
_LOOK_SECONDS = 0.5


class RedisReader(Reader):
    """Reads up to 1,000 entries and 16 MiB ahead of the spout.

    States: AWAY (at first, and after an error: tried again after pauses up to 5 s), OWN (reads what this member was given before
    and has not acked, which is all that a dead task of the same name left), NEW (reads on). An entry that it holds already is
    passed over wherever it comes up again: so an answer that was lost on the way, or a Redis that forgot its last second, loses
    nothing.
    """

    dead_key = "redis.dead.stream"

    def __init__(self, settings: RedisSettings, clock: Clock, group: Any, wait_seconds: float = 0.1) -> None:
        """`group` is a `RedisGroup`; a step waits `wait_seconds` for entries or for room."""
        super().__init__(f"{settings.where} reads Redis", wait_seconds)
        self._settings, self._clock, self._group = settings, clock, group
        self._acks: deque[str] = deque()
        if settings.dead_stream is not None:
            self._dead = DeadEntries(settings.dead_stream, group, clock, self.done, self.tell)
        self._sending: list[str] = []
        self._held: set[str] = set()
        """Everything that was read and is not acked. The thread's own, like all that follows."""
        self._joined = False
        self._last = ""
        """The highest id that was seen, from the one on that the group had given out last when this task joined; "": it has not."""
        self._after: str | None = FIRST
        """How far the entries of state OWN are read; None: all of them."""
        self._unread = 0
        self._share: int | None = None
        """This task's part of the lag as it was told last, less what this task was given since: over all tasks that adds up."""
        self._claim_after = FIRST
        self._look_at = self._hold_at = self._claim_at = 0.0
        self._setback = Setback()
        self._ended = False

    # ---- on the thread

    def step(self) -> None:
        """Ack what is done, and read what there is room for."""
        now = self._clock.now()
        if self._setback.lasts(now):
            self.over.wait(self._wait_seconds)
            return
        try:
            if not self._joined:
                self._join()
            self._send()
            self._keep_in_touch(now)
            self._read()
            self._setback.over()
        except AwayError as error:
            self._away(error, now)

    def _join(self) -> None:
        start = self._start()
        if self._group.join(start) and self._last:
            self.tell(
                f"Redis: the group {self._settings.group!r} of stream {self._settings.stream!r} was gone, and reads on after {start}; "
                "what a member had that died meanwhile is lost"
            )
            self._last = start
        elif not self._last:
            self._last = self._group.given()
        self._unread = max(0, self._group.pending() - len(self._held))
        self._after, self._claim_after = FIRST, FIRST
        self._look_at = 0.0
        self._joined = True

    def _start(self) -> str:
        """Where a group that is missing begins: after what was seen here, unless the stream is another one now.

        `redis.start` says it for the first time alone: what came while a group was gone is never passed over.
        """
        if not self._last:
            return self._settings.start
        newest = self._group.newest()
        return FIRST if newest is None or place_of(newest) < place_of(self._last) else self._last

    def _send(self) -> None:
        """What could not be sent is kept for the next time."""
        if self._dead is not None:
            self._dead.send()
        for _ in range(_MOST_BATCHES):
            while self._acks and len(self._sending) < _MOST_ACKS:
                self._sending.append(self._acks.popleft())
            if not self._sending:
                break
            self._group.ack(self._sending)
            self._held.difference_update(self._sending)
            self._sending = []

    def _keep_in_touch(self, now: float) -> None:
        """Ask for the lag; show that this member lives before its entries seem abandoned; take over what others left."""
        if now >= self._look_at:
            self._look_at = now + _LOOK_SECONDS
            lag = self._group.lag()
            self._share = None if lag is None else share_of(lag, self._settings.index, self._settings.tasks)
        if now >= self._hold_at:
            held = list(self._held)
            for start in range(0, len(held), _MOST_ACKS):
                self._group.hold(held[start : start + _MOST_ACKS])
            self._hold_at = now + self._settings.claim_seconds / 3
        most = self._ahead.room()
        if now >= self._claim_at and most:
            self._claim_after, entries, deleted = self._group.claim(self._settings.claim_seconds, self._claim_after, most)
            self._keep(entries, deleted)
            if self._claim_after == FIRST:
                self._claim_at = now + self._settings.claim_seconds / 2

    def _read(self) -> None:
        most = self._ahead.room()
        if not most:
            self._wait_for_room()
        elif self._after is None:
            entries = self._group.fresh(most, self._wait_seconds)
            if self._share is not None:
                self._share -= len(entries)
            self._keep(entries)
        else:
            entries = self._group.own(self._after, most)
            self._unread = max(0, self._unread - self._keep(entries)) if entries else 0
            self._after = entries[-1].id if entries else None

    def _keep(self, entries: list[RedisEntry], deleted: int = 0) -> int:
        """Those that are new here; returns how many that are."""
        gone = [entry.id for entry in entries if not entry.fields and entry.id not in self._held]
        new = [entry for entry in entries if entry.fields and entry.id not in self._held]
        if gone:
            self._group.ack(gone)
        if gone or deleted:
            self.tell(
                f"Redis: {len(gone) + deleted} entries of stream {self._settings.stream!r} were deleted while they were pending, and "
                "are lost; trim the stream less (MAXLEN, MINID), or not before what is pending"
            )
        self._held.update(entry.id for entry in new)
        for entry in entries:
            if place_of(entry.id) > place_of(self._last):
                self._last = entry.id
        with self._lock:
            for entry in new:
                self._ahead.put(Event(None, entry, entry.seconds, entry.size), entry.size)
        return len(new) + len(gone)

    def _away(self, error: AwayError, now: float) -> None:
        self._joined, self._share = False, None
        self._group.close()
        if isinstance(error, NoGroupError) and self._setback.excuses():
            return  # it is made anew at once; a second time in a row waits
        if self._setback.failed(now):
            self.tell(f"{error}; it is tried again")

    def end(self) -> None:
        """Ack what is done. What is not stays with this member's name, for whoever bears it next.

        Also when Redis was away until now: a member needs not join to ack, and where the group is gone nothing is left to ack.
        """
        try:
            while self._joined or self._acks or self._sending:
                self._send()
                if not self._acks:
                    break
        except AwayError as error:
            self._tell_not_acked(str(error), "could not be acked")
        self._group.close()
        self._ended = True

    def _tell_not_acked(self, why: str, what: str) -> None:
        count = len(self._sending) + len(self._acks)
        if count:
            done = f"{count} entries of stream {self._settings.stream!r} that are done"
            text = f"{why}; {done} {what}, and come again at the next start"
            _log.warning("%s: %s", self._settings.where, text)
            self.tell(text)

    # ---- on the spout's loop

    def owns(self, event: Event) -> bool:
        """Always: an entry that somebody else took over is done by whoever acks it first."""
        return True

    def done(self, event: Event) -> None:
        """It is acked with the next ones."""
        self._acks.append(event.record.id)

    def backlog(self) -> int | None:
        """This task's share of what was given to nobody, and what it was given and has not taken."""
        share = self._share
        return None if share is None else max(0, share + len(self._ahead) + self._unread)

    def close(self, seconds: float = LEAVE_SECONDS) -> None:
        """As every reader. A Redis that says nothing holds the thread for longer than there is; then it is told from here."""
        super().close(seconds)
        if not self._ended:
            self._tell_not_acked("Redis has not answered for too long", "are not acked as far as is known")


class DeadEntries(DeadLetters):
    """An entry that is given up is copied to another stream. That may be refused: a key that is no stream, a right that is missing."""

    def __init__(self, stream: str, group: Any, clock: Clock, done: Callable[[Event], None], tell: Callable[[str], None]) -> None:
        super().__init__(stream, done, tell)
        self._group, self._clock = group, clock

    def send(self) -> None:
        """Send what waits, some hundred at most.

        Raises:
            AwayError: Redis is away. Whether the first that waits is there is not known, and it is sent again.
        """
        now = self._clock.now()
        if self._setback.lasts(now):
            return
        try:
            for _ in range(min(_MOST_DEAD, len(self._waiting))):
                letter = self._waiting[0]
                self._group.copy(letter.event.record, self.target, letter.reason)
                self._finish(self._waiting.popleft())
                self._setback.over()
        except RefusedError as error:
            if self._setback.failed(now):
                count, _ = self.parting()
                self._tell(f"{error}; what is given up waits for the stream {self.target!r} ({count} entries now), and is tried again")
