"""Where packages are kept so that every driver and node can read them: a directory, or a location of a Hadoop file system.

Each submission has a file of its own, which only its owner can read, never written again. Of what the store names only what `keep`
can have returned is read or removed. Bound to an event loop, which nothing here blocks.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

from pasps.cluster.master.child import ChildResult, run_child
from pasps.errors import BrokenError, InvalidError

_log = logging.getLogger(__name__)

_FOR_OWNER = ("-D", "fs.permissions.umask-mode=077")
HADOOP_SECONDS = 120.0
"""A Java runtime must start, and hundreds of megabytes travel."""


class Packages(Protocol):
    """A place for packages."""

    async def keep(self, package: Path, name: str, sha256: str) -> str:
        """Keep a copy; returns its path or URI. Whole or not at all.

        Raises:
            BrokenError: it could not be written.
        """

    async def remove(self, package: str) -> None:
        """Remove one that `keep` returned; nothing happens when it is gone, and what is none or cannot be removed is only logged."""

    async def local(self, package: str) -> str:
        """A path of this machine where one can be read.

        Raises:
            BrokenError: it cannot be fetched, or is not below this place.
        """


def open_packages(location: str | None, home: Path) -> Packages:
    """The place that `--packages` names; without it, `home`, which only this machine reads, and which must exist.

    Raises:
        InvalidError: it cannot be used.
    """
    if location is None:
        return DirectoryPackages(home)
    scheme = urlsplit(location).scheme
    if scheme in ("", "file"):
        path = Path(unquote(urlsplit(location).path) if scheme else location)
        if not path.is_absolute():
            raise InvalidError(f"--packages {location}: expected an absolute path, gs://BUCKET/PATH or hdfs://HOST/PATH")
        return DirectoryPackages(path)
    command = shutil.which("hadoop")
    if command is None:
        raise InvalidError(
            f"--packages {location}: writing there needs the command `hadoop`, which is not on the PATH; "
            "start the master on a node of the cluster that has it, or give a path that all nodes share"
        )
    return HadoopPackages(location.rstrip("/"), command, home)


class DirectoryPackages:
    """A directory of this machine, or one that all machines share."""

    def __init__(self, directory: Path) -> None:
        try:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise InvalidError(f"--packages {directory}: cannot be made: {error.strerror}; give another location") from error
        if not os.access(directory, os.W_OK | os.X_OK):
            raise InvalidError(f"--packages {directory}: cannot be written by this user; give another location")
        self._directory = directory

    async def keep(self, package: Path, name: str, sha256: str) -> str:
        """See Packages."""
        target = self._directory / _file_name(name, sha256)
        try:
            await asyncio.to_thread(_copy, package, target)
        except OSError as error:
            raise BrokenError(f"the package cannot be kept in {self._directory}: {error.strerror or error}") from error
        return str(target)

    async def remove(self, package: str) -> None:
        """See Packages."""
        try:
            await asyncio.to_thread(Path(await self.local(package)).unlink, missing_ok=True)
        except BrokenError as error:
            _log.warning("not removed: %s", error)
        except OSError as error:
            _log.warning("package %s cannot be removed: %s", package, error.strerror)

    async def local(self, package: str) -> str:
        """See Packages."""
        if Path(package).parent != self._directory or not _is_file_name(Path(package).name):
            raise _elsewhere(package, str(self._directory))
        return package


class HadoopPackages:
    """A location that the machine's `hadoop fs` command reads and writes, such as gs:// or hdfs://; `cache` is a local directory."""

    def __init__(self, location: str, command: str, cache: Path) -> None:
        self._location, self._command, self._cache = location, command, cache
        self._made = False

    async def keep(self, package: Path, name: str, sha256: str) -> str:
        """See Packages."""
        target = f"{self._location}/{_file_name(name, sha256)}"
        if not self._made:
            await self._do(f"{self._location} cannot be made", "-mkdir", "-p", self._location)
            self._made = True
        # it shows a file under its name only when it is whole
        await self._do(f"the package cannot be kept in {self._location}", "-put", str(package), target)
        with suppress(OSError):  # then it is fetched
            await asyncio.to_thread(_copy, package, self._cached(target))
        return target

    async def remove(self, package: str) -> None:
        """See Packages."""
        try:
            self._cached(package).unlink(missing_ok=True)
            await self._do(f"package {package} cannot be removed", "-rm", "-f", "-skipTrash", package)
        except BrokenError as error:
            _log.warning("%s", error)

    async def local(self, package: str) -> str:
        """See Packages."""
        target = self._cached(package)
        if not target.exists():
            scratch = target.with_name(f".{target.name}.part")
            await self._do(f"package {package} cannot be read", "-get", "-f", package, str(scratch))
            scratch.replace(target)
        return str(target)

    def _cached(self, package: str) -> Path:
        location, _, name = package.rpartition("/")
        if location != self._location or not _is_file_name(name):
            raise _elsewhere(package, self._location)
        return self._cache / name

    async def _do(self, failure: str, *words: str) -> None:
        try:
            result = await run_child([self._command, "fs", *_FOR_OWNER, *words], HADOOP_SECONDS)
        except OSError as error:
            raise BrokenError(f"{failure}: {self._command}: {error.strerror}") from error
        if result.code != 0:
            raise BrokenError(f"{failure}: {_why(result)}")


def _why(result: ChildResult) -> str:
    if result.code is None:
        return f"`hadoop fs` was not done after {HADOOP_SECONDS:g} s"
    said = (result.errors.strip() or result.output.strip()).splitlines()
    return said[-1][:500] if said else f"`hadoop fs` ended with code {result.code}"


def _file_name(name: str, sha256: str) -> str:
    # two submissions of the same bytes must not share a file: one of them may be refused and removed
    return f"{name}-{sha256[:16]}-{secrets.token_hex(4)}.zip"


def _is_file_name(name: str) -> bool:
    return name.endswith(".zip") and not name.startswith(".")


def _elsewhere(package: str, location: str) -> BrokenError:
    cure = "start the masters with the --packages that it was submitted under, or kill it and submit it again"
    return BrokenError(f"package {package!r} is not among the packages in {location}, so it is not used; {cure}")


def _copy(source: Path, target: Path) -> None:
    scratch = target.with_name(f".{target.name}.part")
    try:
        with source.open("rb") as given, open(os.open(scratch, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "wb") as out:
            shutil.copyfileobj(given, out, 1 << 20)
            out.flush()
            os.fsync(out.fileno())
        scratch.replace(target)
    except OSError:
        scratch.unlink(missing_ok=True)
        raise
