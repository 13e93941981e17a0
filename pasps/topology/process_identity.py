"""Which process a number means: process ids are used again, the moment at which one was started is not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

# What one process writes down, another compares, weeks later. psutil's create_time is of no use for that: on Linux it is counted from
# a boot time that moves whenever the clock is set, elsewhere it is corrected by what the clock was when the reader was started.
_PROC = Path("/proc")
_STARTED_FIELD = 19
"""Of /proc/PID/stat, counted from the state, which is the first after the name in parentheses."""
_OVER = ("Z", "X", "x")


def started(pid: int) -> str | None:
    """When the process was started, in the machine's own words: of one id, equal for the same process only. None: it is over."""
    return _linux(pid) if sys.platform == "linux" else _from_ps(pid)


def _linux(pid: int) -> str | None:
    try:
        stat = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
        boot = (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None
    # the name may hold spaces and parentheses
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in _OVER else f"{boot}/{fields[_STARTED_FIELD]}"


def _from_ps(pid: int) -> str | None:
    environment = {"PATH": "/bin:/usr/bin", "LC_ALL": "C", "TZ": "UTC"}
    said = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False, env=environment
    ).stdout.split(maxsplit=1)
    return None if len(said) < 2 or said[0].startswith(_OVER) else said[1].strip()
