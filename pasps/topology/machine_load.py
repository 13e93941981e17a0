"""How busy this machine's cores are, whoever uses them."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import replace

import psutil

from pasps.cluster.launch.cores import usable_cores
from pasps.control.monitor import Machine


def machine_of(workers: int, cores_by_host: Mapping[str, int], hosts: Mapping[str, str] | None = None) -> Machine:
    """What workers run on that are on these hosts. How busy other machines are is not known here. `hosts` of workers, if asked for."""
    here = set(cores_by_host) <= {socket.gethostname()}
    machine = machine_now(workers) if here else Machine(workers, sum(cores_by_host.values()))
    return machine if hosts is None else replace(machine, hosts=hosts, host_cores=cores_by_host)


def machine_now(workers: int) -> Machine:
    """The cumulative CPU times of all cores, and what a plan must know of the machine."""
    try:
        times = psutil.cpu_times()
    except (OSError, ValueError, TypeError):  # what psutil lets through of counters that are not there, or others than it knows
        return Machine(workers, usable_cores())
    # only Linux counts waiting for a disk, and guests, which are in what users take already
    everything = sum(times) - sum(getattr(times, name, 0.0) for name in ("guest", "guest_nice"))
    return Machine(workers, usable_cores(), everything - times.idle - getattr(times, "iowait", 0.0), everything)
