"""Ctrl-C, and a test's time-out by SIGALRM, in a step run: they end the run, and are not taken for what user code raised."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from pasps.errors import Interrupt

_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGALRM") if hasattr(signal, name)]


class Interrupted(Interrupt, KeyboardInterrupt):
    """A signal's handler raised: `error` is what. A KeyboardInterrupt, because asyncio lets only such ones out of a task."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


@contextmanager
def let_interrupts_through() -> Iterator[None]:
    """While it lasts, what handlers of signals raise gets out of every step of user code, as `Interrupted`."""
    if threading.current_thread() is not threading.main_thread():
        yield  # no handler runs on any other
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}

    def handle(number: int, frame: FrameType | None) -> None:
        handler = before[number]
        if not callable(handler):  # it could not have been caught here
            return
        try:
            handler(number, frame)
        except BaseException as error:
            raise Interrupted(error) from error

    caught = [number for number, handler in before.items() if callable(handler)]
    for number in caught:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number in caught:
            if signal.getsignal(number) is handle:  # else user code has put another one there
                signal.signal(number, before[number])
