"""A package on a node, unpacked once for all workers of its topology that are there, of whichever executors; workers call it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, LOCK_NB, LOCK_SH, flock
from pathlib import Path

from pasps.cluster.package.unpack import Unpacked, unpack_once
from pasps.errors import BrokenError

_APPLICATIONS = (("", "app-"), ("container_", "application_"))
"""How the names of an executor's directory and of the one above it begin: standalone, where the first is a number; YARN."""
_CODE, _MAKING = "code", "making.lock"


def application_directory(executor: Path) -> Path:
    """What all executors of an application have in common on a node: the directory around theirs, which whoever made it removes with
    the application, however its processes have ended. An executor's own where that is not known, or where others might write.
    """
    executor = executor.resolve()
    around = executor.parent
    for name, above in _APPLICATIONS:
        if around.name.startswith(above) and executor.name.startswith(name) and (name or executor.name.isdecimal()):
            found = around.stat()
            if found.st_uid == os.getuid() and not found.st_mode & 0o022:
                return around
    return executor


@contextmanager
def package_on_node(package: Path, sha256: str, executor: Path) -> Iterator[Unpacked]:
    """The package, unpacked for as long as anybody is in here; `sha256` names it. The last one to leave removes it. Blocks.

    The kernel knows who is left, and who was unpacking: a process that is killed gives its locks up, and what it had not finished is
    never taken for whole.

    Raises:
        PackageError, InvalidError, BrokenError: as `unpack`.
    """
    shared = application_directory(executor) / f"pasps-{sha256[:32]}"
    with _opened(shared.with_suffix(".lock")) as users:
        flock(users, LOCK_SH)
        try:
            yield _unpacked(package, shared)
        finally:
            with suppress(BlockingIOError):
                flock(users, LOCK_EX | LOCK_NB)
                shutil.rmtree(shared, ignore_errors=True)


def _unpacked(package: Path, shared: Path) -> Unpacked:
    try:
        shared.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise BrokenError(f"{shared}: the package cannot be unpacked there: {error.strerror}") from error
    with _opened(shared / _MAKING) as turn:
        flock(turn, LOCK_EX)
        return unpack_once(package, shared / _CODE)


@contextmanager
def _opened(lock: Path) -> Iterator[int]:
    """A lock's file, made if need be. It is never removed while somebody may hold it: a second one of its name would not exclude him."""
    try:
        file = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise BrokenError(f"{lock}: the package cannot be unpacked here: {error.strerror}") from error
    try:
        yield file
    finally:
        os.close(file)
