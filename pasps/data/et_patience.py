"""Takes back a call of user code that is never over, where nothing else can: the call keeps the thread that would have to end it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pasps.errors import Interrupt

SetAlarm = Callable[[float], object]
"""From now on a call has so many seconds; a call that swallows the first interruption is interrupted again after as many."""
_LEAST_SECONDS = 0.001
"""Zero would turn the alarm off."""


class GivenUp(Interrupt):
    """Raised in the call. No Exception, so that neither user code nor the runtime takes it for an error of an event."""


@contextmanager
def alarm(in_call: Callable[[], bool]) -> Iterator[SetAlarm]:
    """Interrupts what runs on the main thread, when its time is over and `in_call` says that it is user code.

    A call into C that looks at no signals is not interrupted. Elsewhere than on the main thread, and without SIGALRM, nothing is.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGALRM"):
        yield lambda seconds: None
        return

    def ring(number: int, frame: object) -> None:
        if in_call():
            raise GivenUp

    def set_alarm(seconds: float) -> None:
        again = max(_LEAST_SECONDS, seconds)
        signal.setitimer(signal.ITIMER_REAL, again, again)

    handler = signal.signal(signal.SIGALRM, ring)
    others = signal.setitimer(signal.ITIMER_REAL, 0)
    try:
        yield set_alarm
    finally:
        signal.setitimer(signal.ITIMER_REAL, *others)
        signal.signal(signal.SIGALRM, handler)
