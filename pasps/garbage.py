"""How often Python looks for garbage, in processes whose objects come and go by the thousand and hardly ever form circles."""

from __future__ import annotations

import gc
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


@contextmanager
def collected_seldom() -> Iterator[None]:
    """For as long as this lasts."""
    before = gc.get_threshold()
    collect_seldom()
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
