"""Says on standard error how far something long is: one line that is written over on a terminal, else a line now and then."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from pasps.cli.words import clock_text
from pasps.clock import Clock, SystemClock

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOOK_SECONDS = 0.5
_LINE_SECONDS = 10.0
_WIDTH = 79


class ProgressLine:
    """What is written, and when; the caller says how far things are. Any thread may call, one at a time."""

    def __init__(self, out: TextIO, clock: Clock, *, quiet: bool = False) -> None:
        self._out, self._clock, self._quiet = out, clock, quiet
        self._over = out.isatty()
        self._doing, self._since, self._written = "", 0.0, 0.0

    def begin(self, doing: str) -> None:
        """Something else is done now."""
        self._doing = doing
        self._since = self._written = self._clock.now()
        self._write(doing)

    def look(self, done: int, tasks: int) -> None:
        """So many of Spark's tasks are done."""
        self.note(f"{done:,} of {tasks:,} tasks" if tasks else "")

    def note(self, how_far: str) -> None:
        """It is so far."""
        now = self._clock.now()
        if not self._doing or (not self._over and now - self._written < _LINE_SECONDS):
            return
        self._written = now
        parts = f", {how_far}" if how_far else ""
        self._write(f"{self._doing}{parts}, {clock_text(now - self._since)}")

    def end(self) -> None:
        """Leave the terminal's line to what comes next."""
        if self._over:
            self._write("")

    def _write(self, text: str) -> None:
        if not self._quiet:
            self._out.write(f"\r{text[:_WIDTH]:{_WIDTH}}\r" if self._over else f"{text}\n")
            self._out.flush()


class SparkProgress:
    """The progress of one command. `told` names what is done; within `following` its tasks are looked at by a thread."""

    def __init__(self, *, quiet: bool) -> None:
        self._line = ProgressLine(sys.stderr, SystemClock(), quiet=quiet)
        self._lock = threading.Lock()
        self._over = threading.Event()

    def told(self, doing: str) -> None:
        """This is done now."""
        with self._lock:
            self._line.begin(doing)

    @contextmanager
    def following(self, session: SparkSession) -> Iterator[None]:
        """Until the end of the block."""
        thread = threading.Thread(target=self._follow, args=(session,), daemon=True, name="progress")
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join(_LOOK_SECONDS)
            self._line.end()

    def _follow(self, session: SparkSession) -> None:
        tracker = session.sparkContext.statusTracker()
        while not self._over.wait(_LOOK_SECONDS):
            try:
                stages = [stage for number in tracker.getActiveStageIds() if (stage := tracker.getStageInfo(number))]
            except Exception:  # noqa: BLE001 - Spark has just gone, which whoever waits for its answer will say
                return
            with self._lock:
                self._line.look(sum(stage.numCompletedTasks for stage in stages), sum(stage.numTasks for stage in stages))
