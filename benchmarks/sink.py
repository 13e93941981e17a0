"""Where the events of every subject end: counts, marks of time, latency samples, in W2 the count by class, in W3 the last one that came.

One object and one `add` for all subjects, so that what the sink costs is the same in each.
"""

from __future__ import annotations

import time

from benchmarks import records
from benchmarks.options import Options, records_directory
from benchmarks.workloads import Event

_MARK_EVERY = 1_000
_SAMPLES_WANTED = 100_000
# At full speed a latency only shows how deep the buffers are: a few samples are kept, none reported.
_SAMPLE_EVERY_AT_FULL_SPEED = 1_000


class Sink:
    """One sink. Made where it runs, closed there; `close` leaves its record if anything arrived."""

    __slots__ = ("_by_class", "_counted", "_sample_every", "classes", "first", "last", "marks", "received", "samples")

    def __init__(self, options: Options) -> None:
        paced = options.rate * options.seconds
        self.received = 0
        self.first = self.last = 0.0
        self.marks: list[tuple[float, int]] = []
        self.samples: list[tuple[float, float]] = []
        self.classes: dict[int, int] = {}
        self._by_class, self._counted = options.workload == "w2", options.workload == "w3"
        self._sample_every = max(1, int(paced / _SAMPLES_WANTED)) if paced else _SAMPLE_EVERY_AT_FULL_SPEED

    def add(self, event: Event) -> None:
        """Take one event."""
        arrived = self.last = time.monotonic()
        if not self.received % _MARK_EVERY:
            self._mark(arrived)
        self.received += 1
        if self._by_class:
            user_class = event[1]
            self.classes[user_class] = self.classes.get(user_class, 0) + 1
        elif self._counted:
            self.classes[event[1]] = event[2]
        if not event[0] % self._sample_every:
            self.samples.append((event[-1], arrived))

    def _mark(self, arrived: float) -> None:
        self.first = self.first or arrived
        self.marks.append((arrived, self.received))

    def close(self) -> None:
        """Leave the record; a sink that saw nothing leaves none."""
        if not self.received:
            return
        classes = {str(user_class): count for user_class, count in self.classes.items()}
        record = records.SinkRecord(self.received, self.first, self.last, self.marks, self.samples, classes)
        records.write(record, records_directory())
