"""What ends a run from outside. Ctrl-C and SIGTERM: the first one asks for a drain, the next one ends it. `pasps kill` asks too."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self

from pasps.clock import Clock, Deadline, SystemClock

SIGNALS = (signal.SIGINT, signal.SIGTERM)
_ONE_SIGNAL_SECONDS = 0.2
"""The same signal so soon again is the same request: `timeout` sends it to its child, and then to the whole group."""


class EndNow(BaseException):
    """Raised on the main thread, wherever it is, by the signal that ends the run."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(number)


class StopRequest:
    """States: STARTING (a signal ends at once) -> RUNNING (a signal asks) -> ASKED (a signal ends at once) -> ENDING (signals do nothing).

    A context manager, for the main thread; `command` may be called from any.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._asked_at = 0.0
        self.asked: int | None = None
        """The signal that asked for the drain."""
        self.commanded = False
        """Whether another terminal asked for it."""
        self._drain_by: Deadline | None = None
        self._gentle = False
        self._ending = False
        self._before: dict[int, Any] = {}

    def be_gentle(self) -> None:
        """From now on there is something to drain."""
        self._gentle = True

    def command(self, drain_by: Deadline | None) -> None:
        """Another terminal asks for the end. Of several times for the drain the shortest counts, also while it is under way."""
        now, before = _left(drain_by), _left(self._drain_by)
        if now is not None and (before is None or now < before):
            self._drain_by = drain_by
        self.commanded = True

    def drain_by(self, seconds: float) -> Deadline:
        """When the drain is to be over: as another terminal said, else so many seconds after this was asked for the first time."""
        if self._drain_by is None:
            self._drain_by = Deadline(self._clock, seconds)
        return self._drain_by

    def ignore(self) -> None:
        """From now on the run is ended anyway."""
        self._ending = True

    def on_signal(self, number: int, _: FrameType | None = None) -> None:
        """The signal handler."""
        if self._ending:
            return
        if self._gentle and self.asked is None and not self.commanded:
            self.asked, self._asked_at = number, self._clock.now()
            return
        if number == self.asked and self._clock.now() - self._asked_at < _ONE_SIGNAL_SECONDS:
            return
        self._ending = True
        raise EndNow(number)

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self.on_signal) for number in SIGNALS}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)


def _left(deadline: Deadline | None) -> float | None:
    return None if deadline is None else deadline.remaining()


def ignore_signals() -> None:
    """For the last moments of the process, whose exit code stands."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def signals_blocked() -> Iterator[None]:
    """Threads and processes that start here do not get these signals: Ctrl-C, and `timeout`, go to the whole process group,
    and a worker that dies of them could not be drained."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
