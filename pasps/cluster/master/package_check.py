"""Looks at a package that came in: its own words first, then what its code says, in a process that must be done in time."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import msgspec

from pasps.cluster.master.child import ChildResult, run_child
from pasps.cluster.master.failures import RefusedPackageError
from pasps.cluster.package.layout import SUBMISSION
from pasps.cluster.store.submission import Submission, encoded, submission_of
from pasps.cluster.store.tokens import SECRET_VARIABLES
from pasps.errors import BrokenError

CHECK_SECONDS = 60.0
MOST_CHECKS = 2
"""At once; each imports somebody's code."""
MOST_SUBMISSION_BYTES = 256 << 10
"""It is kept in the store, which takes a megabyte."""
_PROGRAM = (sys.executable, "-m", "pasps.cluster.master.check_package")


@dataclass(frozen=True, slots=True)
class Checked:
    """A package whose topology can be made. `components` is as the check printed it."""

    name: str
    workers: int | None
    components: Mapping[str, Mapping[str, Any]]


class Check(Protocol):
    """Looks at a package, with a directory for what it writes; `submission` is what counts instead of what the package says of itself.

    Raises:
        RefusedPackageError: it cannot run so.
        BrokenError: it could not be checked.
    """

    async def __call__(self, package: Path, scratch: Path, submission: Submission | None = None) -> Checked:
        """See the class."""


class FewAtOnce:
    """A check that waits while too many others are done."""

    def __init__(self, check: Check) -> None:
        self._check = check
        self._free = asyncio.Semaphore(MOST_CHECKS)

    async def __call__(self, package: Path, scratch: Path, submission: Submission | None = None) -> Checked:
        """See Check."""
        async with self._free:
            return await self._check(package, scratch, submission)


def submission_in(package: Path) -> Submission:
    """What the package says of itself; no code of it is run.

    Raises:
        InvalidError: it is no package, or one of another version.
    """
    try:
        with zipfile.ZipFile(package) as archive:
            size = archive.getinfo(SUBMISSION).file_size
            if size > MOST_SUBMISSION_BYTES:
                text = f"{SUBMISSION}: expected at most {MOST_SUBMISSION_BYTES:,} bytes, got {size:,}; shorten the options"
                raise RefusedPackageError("package", text)
            return submission_of(archive.read(SUBMISSION), SUBMISSION)
    except KeyError as error:
        raise RefusedPackageError("package", f"expected {SUBMISSION} in it; make it with `pasps submit`") from error
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, OSError, EOFError) as error:
        raise RefusedPackageError("package", f"expected a package as `pasps submit` makes them: {error}; submit it again") from error


async def check_package(package: Path, scratch: Path, submission: Submission | None = None, seconds: float = CHECK_SECONDS) -> Checked:
    """Import its code and make its topology, as `Check` says, in a process of its own that has none of the master's secrets.

    Raises:
        RefusedPackageError: in the words of the check.
        BrokenError: the check itself failed.
    """
    root = str(Path(__file__).parents[3])
    given = {key: value for key, value in os.environ.items() if key not in SECRET_VARIABLES}
    given["PYTHONPATH"] = os.pathsep.join(filter(None, [root, given.get("PYTHONPATH", "")]))
    try:
        with tempfile.TemporaryDirectory(dir=scratch, ignore_cleanup_errors=True) as directory:
            words = [*_PROGRAM, str(package), *_instead(submission, Path(directory))]
            result = await run_child(words, seconds, {**given, "TMPDIR": directory})
    except OSError as error:
        raise BrokenError(f"the package cannot be checked: {error.strerror}") from error
    if result.code is None:
        text = f"its topology was not made within {seconds:g} s; do what takes long in `initialize`, not when the file is imported"
        raise RefusedPackageError("file", text)
    return _told(result)


def _instead(submission: Submission | None, directory: Path) -> list[str]:
    """The words of the command that make a submission count."""
    if submission is None:
        return []
    file = directory / SUBMISSION
    file.write_bytes(encoded(submission))
    return ["--submission", str(file)]


def _told(result: ChildResult) -> Checked:
    try:
        told = msgspec.json.decode(result.output.splitlines()[-1])
        if told["ok"]:
            return Checked(told["name"], told["workers"], told["components"])
        kind, text = str(told["kind"]), str(told["text"])
    except (IndexError, msgspec.DecodeError, KeyError, TypeError) as error:
        said = (result.errors.strip().splitlines() or ["it said nothing"])[-1][:500]
        text = f"the process that imported its code ended with code {result.code} and without an answer; its last words: {said}"
        raise RefusedPackageError("broken", text) from error
    raise RefusedPackageError(kind, text)
