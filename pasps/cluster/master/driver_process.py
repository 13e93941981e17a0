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

from pasps.clock import Clock, Deadline, SystemClock
from pasps.cluster.driver.options import Orders, Secrets, Wait, secrets_for, waiting_words
from pasps.cluster.master.decide import OwnDriver
from pasps.cluster.master.home import Home
from pasps.cluster.master.settings import Settings
from pasps.cluster.store.tokens import PREDICTOR_VARIABLE, SECRET_VARIABLES

_log = logging.getLogger(__name__)

DRIVER_PROGRAM = (sys.executable, "-m", "pasps.cluster.driver")
NOT_MADE_CODE = 127
"""Stands for the exit code of a process that could not be made."""
_TAIL_BYTES = 2000
MOST_WAITING = 2
"""So many drivers are got ready at once, as many as packages are checked; the others are started when their package is accepted."""
REST_SECONDS = 5.0
"""So long after the start of a driver the one for the next submission is begun: until then the topology has better use for processors."""
MOST_REST_SECONDS = 300.0
"""And that long at most after the start of one that was kept ready and ended by itself, as others had before it."""
WAIT_SECONDS = 10.0
"""So long after its package was accepted a driver waits to be the one that is started."""


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


class Prepared(Protocol):
    """A process that may become a driver."""

    def keep_for(self, name: str) -> None:
        """The next driver of that topology is to be this one."""

    def drop(self) -> None:
        """It is not needed, and ends; nothing happens when it has become a driver."""


class Drivers(Protocol):
    """The drivers that this master started, the newest of each topology."""

    def prepare(self) -> Prepared:
        """Begin a process that may become a driver, and gets ready meanwhile; it knows nothing of any topology. When none can be made
        now, the driver is simply started later."""

    def have_ready(self) -> None:
        """Let one wait for the next submission, if this master is to; called now and then while it leads."""

    def start(self, name: str, epoch: int, package: str) -> None:
        """Start one; a process that cannot be made counts as one that ended at once."""

    def own(self, name: str) -> OwnDriver | None:
        """The newest that this master started for that name."""

    def forget(self, name: str) -> None:
        """Its topology is over."""

    def reap(self) -> None:
        """Let go of those that ended and that nobody asks for any more, and of those that waited too long for a topology."""

    def close(self) -> None:
        """This master ends, or leads no more, and its drivers go on: only those go that have no topology yet."""

    async def clear(self, name: str) -> None:
        """Remove what drivers of a topology that is over have unpacked; what they wrote stays."""

    async def keep_only(self, names: Collection[str]) -> None:
        """Remove what drivers of all other topologies left."""

    def last_words(self, name: str, epoch: int) -> str:
        """The end of what it wrote; for people."""


class DriverProcesses:
    """The drivers that this master started, the newest of each topology. They end by themselves, never by it."""

    def __init__(
        self, settings: Settings, home: Home, key: str, program: Sequence[str] = DRIVER_PROGRAM, clock: Clock | None = None
    ) -> None:
        self._settings, self._home, self._key, self._program = settings, home, key, tuple(program)
        self._clock = clock or SystemClock()
        self._waiting: list[_Waiting] = []
        self._ready: _Waiting | None = None
        self._rest = Deadline(self._clock, REST_SECONDS)
        self._pause = REST_SECONDS
        self._processes: dict[str, tuple[int, subprocess.Popen[bytes] | None]] = {}
        self._replaced: list[subprocess.Popen[bytes]] = []

    def prepare(self) -> Prepared:
        """See Drivers."""
        ready, self._ready = self._ready, None
        if ready is not None and ready.lives:
            self._pause = REST_SECONDS
            return ready
        if ready is not None:  # it would be counted among those that wait
            self._lose(ready)
        self._part_with_those_that_wait_no_more()
        return self._begin(warm=False) if len(self._waiting) < MOST_WAITING else _Waiting(self._clock)

    def have_ready(self) -> None:
        """See Drivers."""
        if not self._settings.ready or self.lives_ready or not self._rest.expired():
            return
        if self._ready is not None:
            self._lose(self._ready)
        self._rest = Deadline(self._clock, self._pause)
        self._ready = self._begin(warm=True)

    @property
    def lives_ready(self) -> bool:
        """Whether one waits for the next submission."""
        return self._ready is not None and self._ready.lives

    def _lose(self, ready: _Waiting) -> None:
        """One that was kept ready has ended by itself. If that is the way of them all, they are tried less and less often."""
        self._pause = min(2 * self._pause, MOST_REST_SECONDS)
        if ready.process is not None:
            said = ""
            with suppress(OSError):
                said = _end_of(ready.output)
            _log.warning("the driver that was kept ready has ended with status %s: %s", ready.process.poll(), said or "it wrote nothing")
        ready.drop()

    def _begin(self, *, warm: bool) -> _Waiting:
        waiting, output = _Waiting(self._clock), self._home.waiting_output()
        words = waiting_words(Wait(self._settings.spark, warm), output)
        try:
            waiting.begin(self._popen([*self._program, *words], output, self._home.path), output)
        except OSError as error:
            _log.warning("no driver is got ready: %s", error)
        else:
            self._waiting.append(waiting)
        return waiting

    def start(self, name: str, epoch: int, package: str) -> None:
        """See Drivers."""
        self._rest = Deadline(self._clock, REST_SECONDS)
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
        for waiting in self._waiting:
            waiting.drop_when_late()
        self._part_with_those_that_wait_no_more()
        self._replaced = [process for process in self._replaced if process.poll() is None]

    def close(self) -> None:
        """See Drivers."""
        self._ready = None
        for waiting in self._waiting:
            waiting.drop()

    async def clear(self, name: str) -> None:
        """See Drivers."""
        await self._remove(lambda: self._home.set_packages_aside(name))

    async def keep_only(self, names: Collection[str]) -> None:
        """See Drivers."""
        await self._remove(lambda: self._home.set_aside({*names, *self._processes}))

    def _part_with_those_that_wait_no_more(self) -> None:
        self._replaced += [one.process for one in self._waiting if not one.waits and one.process is not None and not one.is_taken]
        self._waiting = [one for one in self._waiting if one.waits]

    async def _remove(self, set_aside: Callable[[], Path]) -> None:
        try:
            await asyncio.to_thread(shutil.rmtree, set_aside())
        except OSError as error:
            _log.warning("old directories cannot be removed: %s", error)

    def last_words(self, name: str, epoch: int) -> str:
        """See Drivers."""
        path = self._home.driver_output(name, epoch)
        try:
            said = _end_of(path)
        except OSError as error:
            return f"{path}: {error.strerror}"
        return f"{said} ({path})" if said else f"it wrote nothing ({path})"

    def _make(self, name: str, epoch: int, package: str) -> subprocess.Popen[bytes]:
        directory, output = self._home.make_driver(name), self._home.driver_output(name, epoch)
        words, secrets = driver_command(self._settings, name, epoch, package, directory), self._secrets(name, epoch)
        for waiting in self._waiting:
            if waiting.name == name and (ready := waiting.take(Orders(tuple(words), secrets), output)) is not None:
                return ready
        process = self._popen([*self._program, *words], output, directory)
        with suppress(BrokenPipeError):  # that it has ended already is seen soon enough
            _tell(process, secrets)
        return process

    def _popen(self, command: Sequence[str], output: Path, directory: Path) -> subprocess.Popen[bytes]:
        """It is to be told something on its standard input."""
        file = os.open(output, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        try:
            # in a session of its own, so that what ends this master, as Ctrl-C at its terminal, does not end what it started
            return subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=file, stderr=file, env=environment(), cwd=directory, start_new_session=True
            )
        finally:
            os.close(file)

    def _secrets(self, name: str, epoch: int) -> Secrets:
        return secrets_for(name, epoch, self._key, self._settings.zookeeper_auth, os.environ.get(PREDICTOR_VARIABLE))


class _Waiting:
    """States: made -> `begin`: it gets ready -> kept for a name -> taken, or dropped. A master that dies drops it too: its input ends."""

    def __init__(self, clock: Clock) -> None:
        self.name: str | None = None
        self.process: subprocess.Popen[bytes] | None = None
        self.is_taken = False
        self._clock = clock
        self.output: Path
        self._late: Deadline | None = None

    @property
    def waits(self) -> bool:
        """Whether it can still be told what to do."""
        return self.process is not None and self.process.stdin is not None and not self.process.stdin.closed

    @property
    def lives(self) -> bool:
        """Whether it can, and would hear it."""
        return self.waits and self.process is not None and self.process.poll() is None

    def begin(self, process: subprocess.Popen[bytes], output: Path) -> None:
        self.process, self.output = process, output

    def keep_for(self, name: str) -> None:
        """See Prepared."""
        self.name, self._late = name, Deadline(self._clock, WAIT_SECONDS)

    def take(self, orders: Orders, output: Path) -> subprocess.Popen[bytes] | None:
        """Make it a driver, which writes there; None when it cannot be one any more."""
        if self.process is None or not self.lives:
            self.drop()
            return None
        try:
            self.output.replace(output)
            _tell(self.process, orders)
        except OSError as error:
            _log.warning("the driver that was ready for %s is not: %s", self.name, error)
            self.drop()
            return None
        self.is_taken = True
        return self.process

    def drop(self) -> None:
        """See Prepared."""
        if self.waits and self.process is not None and self.process.stdin is not None:
            with suppress(OSError):
                self.process.stdin.close()
            with suppress(OSError):
                self.output.unlink(missing_ok=True)

    def drop_when_late(self) -> None:
        """When nobody started it though its package was accepted: another master leads by now, say."""
        if self._late is not None and self._late.expired():
            self.drop()


def _end_of(output: Path) -> str:
    return output.read_bytes()[-_TAIL_BYTES:].decode(errors="replace").strip()


def _tell(process: subprocess.Popen[bytes], told: Secrets | Orders) -> None:
    """All that it is ever told.

    Raises:
        BrokenPipeError: it has ended.
    """
    assert process.stdin is not None
    with process.stdin as stdin:
        stdin.write(msgspec.json.encode(told))  # less than a pipe takes, so it does not wait
