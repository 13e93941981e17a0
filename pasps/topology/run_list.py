"""All runs that this user has or had here: `BASE/runs`, an entry for each, a link where --run-dir was given."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pasps.errors import InvalidError
from pasps.topology.run_record import RunRecord, RunState, read_record

_log = logging.getLogger(__name__)

MOST_DAYS = 30.0
MOST_BYTES = 2 << 30
MOST_RUNS = 1000
"""What of finished runs is kept by itself; a log of a run has 64 MiB at most, and each run four of them."""
KEPT_NAME = "kept"
"""A file in the directory of a run that is kept however old it is."""
_DAY = 86_400.0
SOCKET_DIRECTORY_PREFIX = "pasps-"


@dataclass(frozen=True, slots=True)
class KnownRun:
    """One run: its directory, its record, and its state at the moment of the look. `entry` is what `BASE/runs` holds of it."""

    directory: Path
    record: RunRecord
    state: RunState
    entry: Path


def base_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """Where runs are kept: `$PASPS_HOME`, else `$XDG_STATE_HOME/pasps`, else `~/.local/state/pasps`."""
    if given := environment.get("PASPS_HOME"):
        return Path(os.path.abspath(given))
    state = environment.get("XDG_STATE_HOME", "")
    # the XDG specification has relative paths ignored
    return Path(state if os.path.isabs(state) else os.path.expanduser("~/.local/state")) / "pasps"


def run_in(directory: Path) -> KnownRun:
    """The run of a directory.

    Raises:
        InvalidError: it is no run directory.
    """
    record = read_record(directory)
    return KnownRun(Path(os.path.realpath(directory)), record, record.state_now(), directory)


def known_runs(base: Path) -> list[KnownRun]:
    """All runs, the oldest first; what cannot be read as one is left out. Reads files alone, so it never waits for a run."""
    found: dict[Path, KnownRun] = {}
    for entry in _entries(base):
        try:
            run = run_in(entry)
        except InvalidError as error:
            _log.debug("%s", error)
            continue
        found.setdefault(run.directory, run)
    return sorted(found.values(), key=lambda run: run.record.started)


def remove_old_runs(base: Path, now: float, most_days: float = MOST_DAYS, most_bytes: int = MOST_BYTES, most_runs: int = MOST_RUNS) -> None:
    """Remove finished runs that are old, or before which newer ones take so much already; not those that are kept.

    Of those in directories that somebody chose only the link goes.
    """
    taken = 0
    finished = [run for run in known_runs(base) if run.state.over and not is_kept(run)]
    for newer, run in enumerate(reversed(finished)):
        size, touched = contents(run.directory)
        if now - touched > most_days * _DAY or taken > most_bytes or newer >= most_runs:
            remove_run(run)
        elif not run.record.chosen:
            taken += size
    for entry in _entries(base):
        if entry.is_symlink() and not entry.exists():
            with suppress(OSError):
                entry.unlink()


def contents(directory: Path) -> tuple[int, float]:
    """How many bytes are in it, and when something in it was written last."""
    size, touched = 0, 0.0
    for path in directory.rglob("*"):
        with suppress(OSError):
            about = path.lstat()
            if not path.is_dir():
                size, touched = size + about.st_size, max(touched, about.st_mtime)
    return size, touched


def is_kept(run: KnownRun) -> bool:
    """Whether somebody wants it kept, however old it is."""
    return (run.directory / KEPT_NAME).exists()


def keep_run(run: KnownRun) -> None:
    """Never remove it by itself. Not in its record, which its process writes while it runs.

    Raises:
        OSError: its directory cannot be written.
    """
    (run.directory / KEPT_NAME).touch(0o600)


def release_run(run: KnownRun) -> None:
    """Let it go with the others when it is old.

    Raises:
        OSError: its directory cannot be written.
    """
    (run.directory / KEPT_NAME).unlink(missing_ok=True)


def remove_run(run: KnownRun) -> bool:
    """Remove one that is over; False: its directory was chosen by somebody, so it stays, and is not listed any more."""
    if run.entry.is_symlink():
        with suppress(OSError):
            run.entry.unlink()
        return False
    if run.record.chosen:
        return False
    remove_socket(run.record.socket)
    shutil.rmtree(run.entry, ignore_errors=True)
    return True


def remove_socket(path: str) -> None:
    """Remove a control socket, and the directory that was made for it alone where its path was too long."""
    with suppress(OSError):
        os.unlink(path)
    parent = os.path.dirname(path)
    if os.path.basename(parent).startswith(SOCKET_DIRECTORY_PREFIX):
        with suppress(OSError):
            os.rmdir(parent)


def _entries(base: Path) -> list[Path]:
    try:
        return sorted((base / "runs").iterdir())
    except OSError:
        return []
