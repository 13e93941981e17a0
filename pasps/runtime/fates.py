"""What becomes of a spout task's tracked tuples: the ledger, who is told, how long it took. Owned by the spout executor."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from operator import itemgetter
from typing import Any

from pasps.clock import Clock
from pasps.errors import InvalidError
from pasps.ids import IdSource
from pasps.metrics import Histogram
from pasps.runtime.ack_ledger import AckLedger, Entry, ReplayTracker
from pasps.runtime.meter import Meter

_TUP_ID, _EMITTED = itemgetter(0), itemgetter(1)


class Fates:
    """Calls `ack` and `fail` of the spout, each where the spout has one; what they raise is reported, and the others are told."""

    __slots__ = ("_clock", "_ids", "_meter", "_owner", "_report", "due_at", "histogram", "ledger", "on_ack", "on_fail", "replays")

    def __init__(self, owner: int, clock: Clock, ids: IdSource, meter: Meter, report: Callable[[BaseException], None]) -> None:
        self.ledger = AckLedger()
        self.replays = ReplayTracker()
        self.histogram = Histogram()
        self.on_ack: Callable[[Any], None] | None = None
        self.on_fail: Callable[[Any], None] | None = None
        self.due_at: Callable[[Any], float | None] | None = None
        self._owner = owner
        self._clock = clock
        self._ids = ids
        self._meter = meter
        self._report = report

    def track(self, tup_ids: list[Any], untracked: int) -> list[int]:
        """Roots for these tuples, pending from now on; 0 for the `untracked` ones, whose id is None."""
        roots = self._ids.roots(len(tup_ids), self._owner)
        if not untracked:
            self.ledger.add(roots, tup_ids, self._clock.now())
            return roots
        roots = [root if tup_id is not None else 0 for root, tup_id in zip(roots, tup_ids, strict=True)]
        tracked = [(root, tup_id) for root, tup_id in zip(roots, tup_ids, strict=True) if root]
        self.ledger.add([root for root, _ in tracked], [tup_id for _, tup_id in tracked], self._clock.now())
        return roots

    def count_replays(self, tup_ids: list[Any]) -> None:
        """These were emitted: how many of them again."""
        self._meter.replayed += self.replays.count(tup_ids)

    def settle(self, roots: list[int], deltas: list[int] | None) -> bool:
        """Acks for these roots; True when any tuple was done with them."""
        done = self.ledger.ack(roots, deltas)
        if not done:
            return False
        if self.due_at is not None:
            self._measure_from_due(self.due_at, done)
        else:
            now = self._clock.now()
            # tuples of one emission share their time, so a batch has few of them
            for emitted, count in Counter(map(_EMITTED, done)).items():
                self.histogram.add(now - emitted, count)
        self.tell_acked(done if self.on_ack is None else list(map(_TUP_ID, done)))
        return True

    def _measure_from_due(self, due_at: Callable[[Any], float | None], done: list[Entry]) -> None:
        """Before the spout hears of the acks, since it may forget the tuples then."""
        now, wall = self._clock.now(), self._clock.wall()
        for tup_id, emitted in done:
            seconds = now - emitted
            try:
                due = due_at(tup_id)
                if due is not None:
                    if not math.isfinite(due):
                        raise InvalidError(f"due_at({tup_id!r}): expected seconds since the epoch or None, got {due!r}")
                    seconds = max(0.0, wall - due)
            except Exception as error:  # noqa: BLE001 - the step's door: reported, this tuple counts from its emission
                self._report(error)
            self.histogram.add(seconds)

    def tell_acked(self, tup_ids: list[Any]) -> None:
        """These are done."""
        self._meter.acked += len(tup_ids)
        if self.on_ack is not None:
            self._tell(self.on_ack, tup_ids)

    def tell_failed(self, entries: list[Entry]) -> None:
        """These will not be done; what is emitted with their ids from now on is a replay."""
        tup_ids = list(map(_TUP_ID, entries))
        self._meter.failed += len(tup_ids)
        self.replays.failed(tup_ids)
        if self.on_fail is not None:
            self._tell(self.on_fail, tup_ids)

    def _tell(self, hook: Callable[[Any], None], tup_ids: list[Any]) -> None:
        for tup_id in tup_ids:
            try:
                hook(tup_id)
            except Exception as error:  # noqa: BLE001 - the step's door: reported, the others are still told
                self._report(error)
