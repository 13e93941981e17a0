"""How many cores a process may use; in a file of its own, since workers ask too, and need nothing else of this room's launchers."""

from __future__ import annotations

import os


def usable_cores() -> int:
    """Cores of this machine that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1
