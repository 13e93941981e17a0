"""All runs that this user's `pasps run` has left or has now: `BASE/runs`, an entry for each; a link where --run-dir was given."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pasps.daemons.run_record import RunRecord, RunState, read_record
from pasps.errors import InvalidError

_log = logging.getLogger(__name__)

MOST_FINISHED = 20
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


def remove_old_runs(base: Path, keep: int = MOST_FINISHED) -> None:
    """Remove finished runs but the newest `keep`. Of those in directories that somebody chose only the link goes."""
    finished = [run for run in known_runs(base) if run.state.over]
    for run in finished[: max(0, len(finished) - keep)]:
        if run.entry.is_symlink():
            with suppress(OSError):
                run.entry.unlink()
            continue
        if run.record.chosen:
            continue
        remove_socket(run.record.socket)
        shutil.rmtree(run.entry, ignore_errors=True)
    for entry in _entries(base):
        if entry.is_symlink() and not entry.exists():
            with suppress(OSError):
                entry.unlink()


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
