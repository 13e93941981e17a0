"""Where the events of every subject begin: at full speed, or each at the moment it is due."""

from __future__ import annotations

import time
from itertools import cycle
from math import gcd
from typing import Any

from benchmarks import records
from benchmarks.options import Options, records_directory
from benchmarks.workloads import EVENTS_PREPARED, Event, features, prepared

BATCH = 500


class EventSource:
    """Source `part` of `parts`: emits the ids part, part + parts, part + 2 parts, ...

    The last value of an event is CLOCK_MONOTONIC seconds: of emission at full speed; when paced, of the moment it was due,
    so that a source that lags counts as latency.
    """

    def __init__(self, options: Options, part: int = 0, parts: int = 1) -> None:
        values: list[tuple[Any, ...]] = [*(features() if options.workload == "w4" else prepared())]
        period = EVENTS_PREPARED // gcd(EVENTS_PREPARED, parts)
        self._wide = len(values[0]) != 2
        self._values = cycle([values[(part + step * parts) % EVENTS_PREPARED] for step in range(period)])
        self._part, self._parts, self._rate, self._seconds = part, parts, options.rate, options.seconds
        limits = [limit for limit in (options.events, int(options.rate * options.seconds)) if limit]
        self._limit = min(limits, default=0)
        self._next = part
        self._started = 0.0
        self._recorded = False

    def take(self, most: int = BATCH) -> list[Event] | None:
        """Up to `most` events that are due; empty when none is; None at the end, when it has left its record."""
        now = time.monotonic()
        self._started = self._started or now
        until = self._next + most * self._parts
        if self._rate:
            until = min(until, int((now - self._started) * self._rate) + 1)
        if self._limit:
            until = min(until, self._limit)
        if self._over(now):
            self._record(now)
            return None
        ids = range(self._next, until, self._parts)
        self._next += len(ids) * self._parts
        if not self._rate and not self._wide:
            # unpacked by name: twice as fast as by a star, and every subject waits for it
            return [(id, user, text, now) for id, (user, text) in zip(ids, self._values)]  # noqa: B905 - the cycle has no end
        if not self._rate:
            return [(id, *values, now) for id, values in zip(ids, self._values)]  # noqa: B905
        started, rate = self._started, self._rate
        return [(id, *values, started + id / rate) for id, values in zip(ids, self._values)]  # noqa: B905

    def wait_seconds(self) -> float:
        """How long until the next event is due; 0 at full speed."""
        if not self._rate or not self._started:
            return 0.0
        return max(0.0, self._started + self._next / self._rate - time.monotonic())

    def _over(self, now: float) -> bool:
        if self._limit and self._next >= self._limit:
            return True
        return not self._rate and now - self._started >= self._seconds

    def _record(self, now: float) -> None:
        if not self._recorded:
            self._recorded = True
            emitted = (self._next - self._part) // self._parts
            records.write(records.SourceRecord(self._part, self._parts, emitted, self._started, now), records_directory())
