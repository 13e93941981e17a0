"""Which topologies there are, and how they are called."""

from __future__ import annotations

WORKLOADS = ("w1", "w2")
BOLTS = ("functions", "classes")
WORKERS = (1, 2, 3, 4)


def topology_name(workload: str, bolts: str, workers: int) -> str:
    """By which it is chosen from the file."""
    return f"{workload}-{bolts}-{workers}"
