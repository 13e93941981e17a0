"""How busy this machine's cores are, whoever uses them. Reads the kernel's counters; elsewhere than on Linux it knows nothing."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pasps.cluster.launch.launcher import usable_cores
from pasps.control.monitor import Machine

_COUNTERS = Path("/proc/stat")
_IDLE = (3, 4)  # idle, and waiting for a disk


def machine_of(workers: int, cores_by_host: Mapping[str, int], hosts: Mapping[str, str] | None = None) -> Machine:
    """What workers run on that are on these hosts. How busy other machines are is not known here. `hosts` of workers, if asked for."""
    here = set(cores_by_host) <= {socket.gethostname()}
    machine = machine_now(workers) if here else Machine(workers, sum(cores_by_host.values()))
    return machine if hosts is None else replace(machine, hosts=hosts, host_cores=cores_by_host)


def machine_now(workers: int) -> Machine:
    """The cumulative CPU times of all cores, and what a plan must know of the machine."""
    try:
        times = [float(number) for number in _COUNTERS.read_text(encoding="ascii").split("\n", 1)[0].split()[1:9]]
        idle = sum(times[index] for index in _IDLE)
    except (OSError, ValueError, IndexError):
        return Machine(workers, usable_cores())
    return Machine(workers, usable_cores(), sum(times) - idle, sum(times))
