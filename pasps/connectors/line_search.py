"""What the keys `lines.*` say, which files a pattern matches that can be followed, and where one went that was renamed."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pasps.api.keys import Keys
from pasps.errors import ConfigError, InvalidError

_KEYS = (
    "lines.path",
    "lines.start",
    "lines.follow",
    "lines.bytes",
    "lines.max.bytes",
    "lines.pending",
    "lines.tries",
    "lines.scan.seconds",
    "lines.rotated.seconds",
)
_COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".Z", ".zip")
_LOOKS = 3
"""A file that is renamed while its directory is looked through may be missed."""
_NO_FILE = "no file matches; waiting for one"

Key = tuple[int, int]
"""Device and inode, which a file keeps when it is renamed."""


@dataclass(frozen=True, slots=True)
class LineSettings:
    """Which files, from where, and the bounds; `path` is absolute."""

    path: str
    from_end: bool
    follow: bool
    as_bytes: bool
    most_bytes: int
    most_pending: int
    most_tries: int | None
    scan_seconds: float
    rotated_seconds: float


def settings_of(conf: Mapping[str, Any], where: str) -> LineSettings:
    """The settings in `conf`; other keys are left alone.

    Raises:
        ConfigError: a key is missing, wrong or misspelled.
    """
    keys = Keys(conf, _KEYS, where, "lines.")
    path = os.path.abspath(os.path.expanduser(keys.needed("lines.path", "the path of a file, or a pattern such as '/var/log/app*.log'")))
    from_end = keys.choice("lines.start", ("beginning", "end")) == "end"
    follow = keys.flag("lines.follow", True)
    if from_end and not follow:
        raise ConfigError(
            "lines.start", "is 'end', while 'lines.follow' is false: nothing would be read", where=where, cure="set one of them"
        )
    return LineSettings(
        path,
        from_end,
        follow,
        keys.flag("lines.bytes", False),
        keys.whole("lines.max.bytes", 1 << 20, 1, 1 << 26),
        keys.whole("lines.pending", 10_000),
        keys.whole_or_none("lines.tries"),
        keys.seconds("lines.scan.seconds", 1.0),
        keys.seconds("lines.rotated.seconds", 60.0),
    )


@dataclass(slots=True)
class Found:
    """A file, with every path that leads to it."""

    size: int
    changed_ns: int
    paths: list[str] = field(default_factory=list)


class PathProblems:
    """Tells each problem of a path once, until it is another problem or none."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._told: dict[str, str] = {}

    def tell(self, path: str, problem: str) -> None:
        """Something is wrong with it."""
        if self._told.get(path) != problem:
            self._told[path] = problem
            self._report(f"{path!r}: {problem}")

    def well(self, path: str, problem: str | None = None) -> None:
        """Nothing is wrong with it any more; or it has no longer this problem."""
        if problem is None or self._told.get(path) == problem:
            self._told.pop(path, None)

    def keep(self, paths: set[str]) -> None:
        """Forget all others."""
        self._told = {path: problem for path, problem in self._told.items() if path in paths}


class LineSearch:
    """Looks at directories; never opens a file."""

    def __init__(self, pattern: str, mine: Callable[[int], bool], problems: PathProblems) -> None:
        """`mine` says by the inode which of the files that match are this task's."""
        self._pattern = pattern
        self._mine = mine
        self._problems = problems

    def check(self, where: str, follow: bool) -> None:
        """Refuse what can never be followed.

        Raises:
            InvalidError: the path is no regular file, or compressed; or there is none, and none is waited for.
        """
        path, paths = self._pattern, self._matches()
        if not paths and not follow:
            raise InvalidError(f"{where}: no file matches {path!r}, and 'lines.follow' is false; check 'lines.path'")
        if paths != [path]:
            return
        try:
            mode = os.stat(path).st_mode
        except OSError:
            return  # it is reported when it is looked for
        if stat.S_ISDIR(mode):
            raise InvalidError(f"{where}: {path!r} is a directory; write a pattern: {os.path.join(path, '*.log')!r}")
        if (problem := _problem(path, mode)) is not None:
            raise InvalidError(f"{where}: {path!r} is {problem}")

    def found(self) -> dict[Key, Found]:
        """The files that are there now."""
        paths, found = self._matches(), dict[Key, Found]()
        self._problems.keep({*paths, self._pattern})
        if paths:
            self._problems.well(self._pattern, _NO_FILE)
        else:
            self._problems.tell(self._pattern, _NO_FILE)
        for path in paths:
            try:
                info = os.stat(path)
            except OSError as error:
                self._problems.tell(path, f"{error.strerror}; trying again")
                continue
            if stat.S_ISDIR(info.st_mode) or not self._mine(info.st_ino):
                continue
            problem = _problem(path, info.st_mode)
            if problem is None:
                found.setdefault((info.st_dev, info.st_ino), Found(info.st_size, info.st_mtime_ns)).paths.append(path)
            else:
                self._problems.tell(path, f"{problem}; left out")
        return found

    def _matches(self) -> list[str]:
        if os.path.lexists(self._pattern):
            return [self._pattern]
        return sorted(glob.iglob(self._pattern, recursive=True))


def find_inode(directory: str, inode: int) -> tuple[Key, Found] | None:
    """The file with this inode in a directory, where rotation leaves what it renames; None: there is none, as far as can be told."""
    for _ in range(_LOOKS):
        try:
            with os.scandir(directory) as entries:
                # that entry first; some file systems number entries otherwise than files, so it may be any
                listed = sorted(entries, key=lambda entry: entry.inode() != inode)
        except OSError:
            return None
        for entry in listed:
            try:
                info = entry.stat(follow_symlinks=False)
            except OSError:
                continue  # it was renamed or removed since
            if info.st_ino == inode and stat.S_ISREG(info.st_mode):
                return (info.st_dev, inode), Found(info.st_size, info.st_mtime_ns, [entry.path])
    return None


def _problem(path: str, mode: int) -> str | None:
    if not stat.S_ISREG(mode):
        return "no regular file but a pipe or a device, which cannot be read again"
    return "compressed, which cannot be followed: unpack it" if path.endswith(_COMPRESSED) else None
