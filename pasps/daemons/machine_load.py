"""How busy this machine's cores are, whoever uses them. Reads the kernel's counters; elsewhere than on Linux it knows nothing."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path

from pasps.cluster.launcher import usable_cores
from pasps.control.monitor import Machine

_COUNTERS = Path("/proc/stat")
_IDLE = (3, 4)  # idle, and waiting for a disk


def machine_of(workers: int, cores_by_host: Mapping[str, int]) -> Machine:
    """What workers run on that are on these hosts. How busy other machines are is not known here."""
    if set(cores_by_host) <= {socket.gethostname()}:
        return machine_now(workers)
    return Machine(workers, sum(cores_by_host.values()))


def machine_now(workers: int) -> Machine:
    """The cumulative CPU times of all cores, and what a plan must know of the machine."""
    try:
        times = [float(number) for number in _COUNTERS.read_text(encoding="ascii").split("\n", 1)[0].split()[1:9]]
        idle = sum(times[index] for index in _IDLE)
    except (OSError, ValueError, IndexError):
        return Machine(workers, usable_cores())
    return Machine(workers, usable_cores(), sum(times) - idle, sum(times))
