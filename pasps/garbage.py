"""How often Python looks for garbage, in processes whose objects come and go by the thousand and hardly ever form circles."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_THRESHOLDS = (10_000, 10, 10)
"""Python's own 700 costs workers up to 3% of their time, and who decides about a thousand bolts half of it. But where code of the
user's makes circles, a parsed document for each tuple, so many objects wait with all that they hold: no more than that."""


def collect_seldom() -> None:
    """From now on, for as long as the process lives; what is there already is left alone."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)


_lock = threading.Lock()
_usual: tuple[int, int, int] | None = None
_wanted = 0


@contextmanager
def collected_seldom() -> Iterator[None]:
    """For as long as this lasts; several may overlap, and the last to end puts things back."""
    global _usual, _wanted  # noqa: PLW0603 - the collector is the process's own
    with _lock:
        if not _wanted:
            _usual = gc.get_threshold()
        _wanted += 1
        collect_seldom()
    try:
        yield
    finally:
        with _lock:
            _wanted -= 1
            if not _wanted and _usual is not None:
                gc.set_threshold(*_usual)
                gc.unfreeze()
