"""Bolts that compute: run on the worker's loop, chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable

from pasps.runtime.executor import BoltExecutor, Seat
from pasps.runtime.pace import STEP_SECONDS, Pace, Whole


class InlineExecutor(BoltExecutor):
    """Runs chunks that fit the pace until its time is used up, its inbox is empty, or its output finds no room.

    A chunk that took longer than the flush deadline has its output released at once (`release_output`).
    """

    __slots__ = ("_flush_seconds", "_release_output", "pace")

    def __init__(self, seat: Seat, flush_seconds: float, release_output: Callable[[], None], pace: Pace | Whole) -> None:
        super().__init__(seat)
        self.pace = pace
        self._flush_seconds = flush_seconds
        self._release_output = release_output

    def step(self) -> None:
        """Work for at most about 2 ms or one tuple, whichever is longer; asks for another turn when there is more."""
        emitter, inbox = self.emitter, self.inbox
        if emitter.parked and not emitter.unpark():
            return
        if self._ticks:
            self.run_ticks()
        now, pace, meter = self.clock.now, self.pace, self.meter
        run, settle = self.way.run, self.settler.settle
        start = before = now()
        takes = self.takes()
        while inbox.count and takes and not emitter.parked:
            batch, slot = self.take(pace.size)
            count = len(batch.rows)
            sent = self._sent()
            settle(slot, batch, run(slot, batch))
            meter.ran(batch.edge, count)
            after = now()
            pace.learn(count, after - before, self._sent() - sent)
            if after - before > self._flush_seconds:
                self._release_output()
            before = after
            if after - start > STEP_SECONDS:
                break
        if self._finishes and not (inbox.count and takes):
            self.run_finishes(start + STEP_SECONDS)
        if self._finishes and not emitter.parked:
            self.wake()
        if inbox.count:
            inbox.call()
        elif inbox.dry is not None and takes:
            inbox.dry()

    def _sent(self) -> int:
        return sum(port.copies for port in self.emitter.ports.values())
