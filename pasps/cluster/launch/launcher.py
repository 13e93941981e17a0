"""How worker processes come to be. `LocalLauncher` starts them on this machine, as children of the calling process."""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import psutil

from pasps.cluster.store.tokens import SECRET_VARIABLES
from pasps.cores import usable_cores

_log = logging.getLogger(__name__)


UNTOLD = 256
"""In place of an exit status that nobody can tell."""


class WorkerHandle(Protocol):
    """One started worker."""

    @property
    def pid(self) -> int:
        """Its process."""

    @property
    def where(self) -> tuple[str, ...]:
        """Its machine, as that calls itself, and if need be a part of it that may be lost alone."""

    @property
    def cores(self) -> int:
        """How many of its machine's cores it may use."""

    @property
    def control(self) -> socket.socket:
        """This end of its control connection; its end of file means that the process is gone."""

    def kill(self) -> None:
        """End it at once. Does nothing when it is gone."""

    def reap(self) -> int | None:
        """Its exit status, once it is gone, negative: the signal that ended it; None before. Never blocks.

        One that cannot be asked counts as gone, with `UNTOLD`.
        """

    def cpu_seconds(self) -> float | None:
        """How long it has computed so far; None when that cannot be seen from here."""

    def oom_kills(self) -> int | None:
        """How many processes of its machine the kernel has ended for want of memory so far; None when that cannot be seen from here."""


class Launcher(Protocol):
    """Starts workers.

    `sys_path` is what they are to search for modules, nothing: as they do; `bind` the interface on which they listen for each
    other, nothing: the one by which they reached their master.
    """

    @property
    def sys_path(self) -> list[str]:
        """Modules are searched for there."""

    @property
    def bind(self) -> str:
        """An address of the worker's machine, or a network that has one of them."""

    async def launch(self, worker: str) -> WorkerHandle:
        """Start one; back when its process is there, however long it takes to find a place for it.

        Raises:
            OSError, BrokenError: it cannot be started.
        """


@dataclass(frozen=True)
class _LocalWorker:
    process: subprocess.Popen[bytes]
    control: socket.socket
    where: tuple[str, ...]
    cores: int

    @property
    def pid(self) -> int:
        return self.process.pid

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)

    def reap(self) -> int | None:
        return self.process.poll()

    def cpu_seconds(self) -> float | None:
        try:
            times = psutil.Process(self.pid).cpu_times()
        except psutil.Error:  # it is gone
            return None
        return times.user + times.system

    def oom_kills(self) -> int | None:
        try:  # psutil has no counter of it
            counters = Path("/proc/vmstat").read_text(encoding="ascii")
        except OSError:  # this is not Linux
            return None
        return next((int(line.split()[1]) for line in counters.splitlines() if line.startswith("oom_kill ")), None)


class LocalLauncher:
    """Workers as child processes that hold one end of a socket pair: no name in the file system, nothing left behind.

    A worker ends when its end of the pair is closed, so it does not outlive its parent, however that ends.
    """

    def __init__(self, module: str) -> None:
        """`module` is run as `python -m module FD`."""
        self.bind = "127.0.0.1"
        self._module = module

    @property
    def sys_path(self) -> list[str]:
        """Where this process finds modules now."""
        return list(sys.path)

    async def launch(self, worker: str) -> WorkerHandle:
        """See `Launcher`; returns at once, since starting a process takes a millisecond."""
        return self._launched(worker)

    def _launched(self, worker: str) -> WorkerHandle:
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-m", self._module, str(theirs.fileno())]
        # the worker must find this package wherever the parent found it, installed or not
        root = str(Path(__file__).parents[3])
        paths = [root, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        kept = {name: value for name, value in os.environ.items() if name not in SECRET_VARIABLES}
        environment = {**kept, "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths))}
        try:
            process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=environment, stdin=subprocess.DEVNULL)
        finally:
            theirs.close()
        _log.debug("worker %s started as process %d", worker, process.pid)
        return _LocalWorker(process, ours, (socket.gethostname(),), usable_cores())
