"""Drivers as processes: started so that they outlive the master, and told apart by their epoch."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import msgspec

from pasps.cluster.tokens import PREDICTOR_VARIABLE, SECRET_VARIABLES
from pasps.daemons.driver.options import Secrets, secrets_for
from pasps.daemons.master.decide import OwnDriver
from pasps.daemons.master.home import Home
from pasps.daemons.master.settings import Settings

_log = logging.getLogger(__name__)

DRIVER_PROGRAM = (sys.executable, "-m", "pasps.daemons.driver")
NOT_MADE_CODE = 127
"""Stands for the exit code of a process that could not be made."""
_TAIL_BYTES = 2000


def driver_command(settings: Settings, name: str, epoch: int, package: str, directory: Path) -> list[str]:
    """The words after the driver's program; secrets are not among them."""
    words = ["--topology", name, "--epoch", str(epoch), "--zookeeper", settings.zookeeper, "--spark", settings.spark]
    words += ["--package", package, "--home", str(directory), "--bind", settings.bind]
    if settings.advertise is not None:
        words += ["--advertise", settings.advertise]
    if settings.predictor is not None:
        words += ["--predictor", settings.predictor]
    return words


def environment() -> dict[str, str]:
    """This process's own, without its secrets, and with this package to be found wherever it was found here, installed or not."""
    root = str(Path(__file__).parents[3])
    paths = [root, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    kept = {name: value for name, value in os.environ.items() if name not in SECRET_VARIABLES}
    return {**kept, "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths))}


class Drivers(Protocol):
    """The drivers that this master started, the newest of each topology."""

    def start(self, name: str, epoch: int, package: str) -> None:
        """Start one; a process that cannot be made counts as one that ended at once."""

    def own(self, name: str) -> OwnDriver | None:
        """The newest that this master started for that name."""

    def forget(self, name: str) -> None:
        """Its topology is over."""

    def reap(self) -> None:
        """Let go of those that ended and that nobody asks for any more."""

    async def clear(self, name: str) -> None:
        """Remove what drivers of a topology that is over have unpacked; what they wrote stays."""

    async def keep_only(self, names: Collection[str]) -> None:
        """Remove what drivers of all other topologies left."""

    def last_words(self, name: str, epoch: int) -> str:
        """The end of what it wrote; for people."""


class DriverProcesses:
    """The drivers that this master started, the newest of each topology. They end by themselves, never by it."""

    def __init__(self, settings: Settings, home: Home, token: str, program: Sequence[str] = DRIVER_PROGRAM) -> None:
        self._settings, self._home, self._token, self._program = settings, home, token, tuple(program)
        self._processes: dict[str, tuple[int, subprocess.Popen[bytes] | None]] = {}
        self._replaced: list[subprocess.Popen[bytes]] = []

    def start(self, name: str, epoch: int, package: str) -> None:
        """See Drivers."""
        _, before = self._processes.get(name, (0, None))
        if before is not None:
            self._replaced.append(before)
        try:
            process = self._make(name, epoch, package)
            _log.info("topology %s: driver %d is process %d", name, epoch, process.pid)
        except OSError as error:
            process = None
            _log.error("topology %s: driver %d cannot be started: %s", name, epoch, error)
        self._processes[name] = (epoch, process)

    def own(self, name: str) -> OwnDriver | None:
        """See Drivers."""
        if name not in self._processes:
            return None
        epoch, process = self._processes[name]
        return OwnDriver(epoch, process.poll() if process is not None else NOT_MADE_CODE)

    def forget(self, name: str) -> None:
        """See Drivers."""
        _, process = self._processes.pop(name, (0, None))
        if process is not None:
            self._replaced.append(process)

    def reap(self) -> None:
        """See Drivers."""
        self._replaced = [process for process in self._replaced if process.poll() is None]

    async def clear(self, name: str) -> None:
        """See Drivers."""
        await self._remove(lambda: self._home.set_packages_aside(name))

    async def keep_only(self, names: Collection[str]) -> None:
        """See Drivers."""
        await self._remove(lambda: self._home.set_aside({*names, *self._processes}))

    async def _remove(self, set_aside: Callable[[], Path]) -> None:
        try:
            await asyncio.to_thread(shutil.rmtree, set_aside())
        except OSError as error:
            _log.warning("old directories cannot be removed: %s", error)

    def last_words(self, name: str, epoch: int) -> str:
        """See Drivers."""
        path = self._home.driver_output(name, epoch)
        try:
            said = path.read_bytes()[-_TAIL_BYTES:].decode(errors="replace").strip()
        except OSError as error:
            return f"{path}: {error.strerror}"
        return f"{said} ({path})" if said else f"it wrote nothing ({path})"

    def _make(self, name: str, epoch: int, package: str) -> subprocess.Popen[bytes]:
        directory = self._home.make_driver(name)
        command = [*self._program, *driver_command(self._settings, name, epoch, package, directory)]
        output = os.open(self._home.driver_output(name, epoch), os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                env=environment(),
                cwd=directory,
                start_new_session=True,
            )
        finally:
            os.close(output)
        assert process.stdin is not None
        with suppress(BrokenPipeError), process.stdin as told:  # that it has ended already is seen soon enough
            told.write(msgspec.json.encode(self._secrets(name, epoch)))  # less than a pipe takes, so it does not wait
        return process

    def _secrets(self, name: str, epoch: int) -> Secrets:
        settings = self._settings
        signing = settings.signing_key or self._token
        return secrets_for(name, epoch, self._token, signing, settings.zookeeper_auth, os.environ.get(PREDICTOR_VARIABLE))
