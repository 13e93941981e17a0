"""Processes that outlive whoever starts them: started in sessions of their own, found by a mark in their environment, ended for sure.

All that descends from a marked process is marked too: executors, drivers, and what user code starts there.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event

import psutil

from pasps.clock import Clock, Deadline
from pasps.topology.process_identity import started

MARK = "PASPS_CLUSTER_HOME"
"""The environment variable that every process of a cluster has; its value is the cluster's home."""
LOOK_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class ProcessRef:
    """One process, and no later one with its number: `process` is `process_identity.started(pid)`."""

    pid: int
    process: str

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return started(self.pid) == self.process

    @property
    def gone(self) -> bool:
        """Whether nothing of it is left: of one that was killed, other threads may hold its ports for a moment longer."""
        return not self.alive and _threads(self.pid) <= 1

    def send(self, number: int) -> None:
        """Send it a signal; nothing happens when it is gone or is somebody else's."""
        with suppress(ProcessLookupError, PermissionError):
            if sys.platform != "linux":
                if self.alive:
                    os.kill(self.pid, number)
                return
            # the descriptor stands for what has the number now; so between the look and the signal nobody can take its place, as
            # somebody can with psutil, which looks and then signals the number
            descriptor = os.pidfd_open(self.pid)
            try:
                if self.alive:
                    signal.pidfd_send_signal(descriptor, number)
            finally:
                os.close(descriptor)


class Children:
    """Starts detached processes. They are still children of this process, so it has to take note of their end: `reap` does."""

    def __init__(self) -> None:
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self, command: Sequence[str], environment: Mapping[str, str], directory: Path, log: Path) -> ProcessRef:
        """Start it in `directory`, with its output appended to `log`; returns at once.

        Raises:
            OSError: it could not be started.
        """
        with open(os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600), "ab") as output:
            process = subprocess.Popen(
                command,
                env=environment,
                cwd=directory,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._processes.append(process)
        # one that has ended already has no identity left, and an empty one is never alive
        return ProcessRef(process.pid, started(process.pid) or "")

    def reap(self) -> None:
        """Take note of those that ended; does not block."""
        self._processes = [process for process in self._processes if process.poll() is None]

    def exit_code(self, pid: int) -> int | None:
        """How one ended that this process has started and has not reaped yet."""
        return next((process.poll() for process in self._processes if process.pid == pid), None)

    def forget(self) -> None:
        """They go on without this process, which will not be told of their end: for the last moment of a command."""
        for process in self._processes:
            # otherwise Python would warn that a child still runs
            process.returncode = 0
        self._processes = []


def marked(home: Path, *told: str) -> list[ProcessRef]:
    """Every process of this user that belongs to the cluster of that home, except this one; of those the ones that were given these
    variables (`NAME=value`) too."""
    wanted = dict(one.split("=", 1) for one in (f"{MARK}={home}", *told)).items()
    # the environment of another user's process, and of one that is over, is None
    pids = [process.pid for process in psutil.process_iter(["environ"]) if wanted <= (process.info["environ"] or {}).items()]
    found = ((pid, started(pid)) for pid in pids if pid != os.getpid())
    return [ProcessRef(pid, process) for pid, process in found if process is not None]


def end(targets: Iterable[ProcessRef], clock: Clock, grace_seconds: float) -> None:
    """SIGTERM, and SIGKILL after that time; back when they are gone, or a moment after SIGKILL."""
    left = list(targets)
    for number in (signal.SIGTERM, signal.SIGKILL):
        for target in left:
            target.send(number)
        left = wait_gone(left, Deadline(clock, grace_seconds))


def wait_gone(targets: Iterable[ProcessRef], deadline: Deadline) -> list[ProcessRef]:
    """Wait until nothing of them is left; those of which something is when the time is over."""
    pause = Event()
    while (targets := [target for target in targets if not target.gone]) and not deadline.expired():
        pause.wait(LOOK_SECONDS)
    return list(targets)


def _threads(pid: int) -> int:
    """How many a process has that has ended for its parent; elsewhere than on Linux nobody tells."""
    # what has the number now may be another one, and then runs
    with suppress(psutil.Error):
        return psutil.Process(pid).num_threads() if started(pid) is None else 0
    return 0
