"""The directory of one master: its lock, its token, packages on their way in, and the directories of the drivers it started.

`lock`, `token`, `incoming/`, `packages/`, `topologies/NAME/` of all drivers of a name, with `driver-EPOCH.log` of each.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from collections.abc import Collection
from pathlib import Path
from types import TracebackType
from typing import Self

from pasps.errors import BusyError, InvalidError

KEPT_OUTPUTS = 20
"""Of one topology, what so many drivers wrote is kept."""


class Home:
    """A context manager; while entered, no other master uses the directory. Drivers that run go on in it.

    Raises:
        BusyError: another master uses it (on entering).
        InvalidError: it cannot be used (on entering).
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self._lock = -1

    @property
    def incoming(self) -> Path:
        """Files in it are of one request, and nobody's after a restart."""
        return self.path / "incoming"

    @property
    def packages(self) -> Path:
        """Where packages are kept when no shared location was given."""
        return self.path / "packages"

    def driver(self, name: str) -> Path:
        """The directory of a topology's drivers."""
        return self._topologies / name

    @property
    def _topologies(self) -> Path:
        return self.path / "topologies"

    def driver_output(self, name: str, epoch: int) -> Path:
        """What it wrote on its standard output and error."""
        return self.driver(name) / f"driver-{epoch}.log"

    def waiting_output(self) -> Path:
        """What a driver writes that has no topology yet; it is moved when it gets one, and nobody's after a restart."""
        return self.incoming / f"driver-{secrets.token_hex(8)}.log"

    def make_driver(self, name: str) -> Path:
        """Make its directory; of what its drivers wrote, only the newest is kept.

        Raises:
            OSError: it cannot be made.
        """
        directory = self.driver(name)
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        outputs = sorted(directory.glob("driver-*.log"), key=lambda path: path.stat().st_mtime)
        for old in outputs[: -KEPT_OUTPUTS + 1]:
            old.unlink(missing_ok=True)
        return directory

    def set_aside(self, names: Collection[str]) -> Path:
        """Take the directories of all other topologies away, which is done at once; returns what is to be removed then."""
        aside = self.incoming / f"old-{secrets.token_hex(8)}"
        aside.mkdir()
        for directory in self._topologies.iterdir():
            if directory.name not in names:
                directory.replace(aside / directory.name)
        return aside

    def set_packages_aside(self, name: str) -> Path:
        """The same with what drivers of a topology have unpacked, and could not remove; what they wrote stays."""
        aside = self.incoming / f"old-{secrets.token_hex(8)}"
        aside.mkdir()
        for directory in self.driver(name).glob("package-*"):
            directory.replace(aside / directory.name)
        return aside

    def token(self) -> str:
        """This master's own secret, made the first time; only its user can read the file.

        Raises:
            InvalidError: the file cannot be used.
        """
        path = self.token_path
        try:
            file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except FileExistsError:
            found = path.read_text(encoding="ascii", errors="replace").strip()
            if not found:
                raise InvalidError(f"{path}: expected a token, the file is empty; remove it") from None
            return found
        with os.fdopen(file, "w", encoding="ascii") as out:
            out.write(token := secrets.token_urlsafe(32))
        return token

    @property
    def token_path(self) -> Path:
        """Where `token` keeps it."""
        return self.path / "token"

    def __enter__(self) -> Self:
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = os.open(self.path / "lock", os.O_CREAT | os.O_RDWR, 0o600)
        except OSError as error:
            raise InvalidError(f"--home {self.path}: cannot be used: {error.strerror}; give another directory") from error
        try:
            # goes with this process, however it ends; drivers do not inherit the descriptor
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._lock)
            raise BusyError(f"--home {self.path}: another master uses it; give each its own") from error
        shutil.rmtree(self.incoming, ignore_errors=True)
        for directory in (self.incoming, self.packages, self._topologies):
            directory.mkdir(exist_ok=True, mode=0o700)
            directory.chmod(0o700)  # it may have been there, for others too
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        os.close(self._lock)
