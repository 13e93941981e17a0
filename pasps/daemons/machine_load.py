"""How busy this machine's cores are, whoever uses them. Reads the kernel's counters; elsewhere than on Linux it knows nothing."""

from __future__ import annotations

import os
from pathlib import Path

from pasps.control.monitor import Machine

_COUNTERS = Path("/proc/stat")
_IDLE = (3, 4)  # idle, and waiting for a disk


def cores() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def machine_now(workers: int) -> Machine:
    """The cumulative CPU times of all cores, and what a plan must know of the machine."""
    try:
        times = [float(number) for number in _COUNTERS.read_text(encoding="ascii").split("\n", 1)[0].split()[1:9]]
        idle = sum(times[index] for index in _IDLE)
    except (OSError, ValueError, IndexError):
        return Machine(workers, cores())
    return Machine(workers, cores(), sum(times) - idle, sum(times))
