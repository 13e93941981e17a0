"""The directory of one run, by `pasps run` or a driver: what it is, where it answers, and the files that it leaves behind.

`run.json` is the record, `control.sock` the control socket, `metrics.jsonl` and `decisions.jsonl` the course of the run,
`summary.json` its end. Made before the topology starts; one that never ran leaves nothing.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pasps.clock import Clock
from pasps.errors import BrokenError, InvalidError
from pasps.topology.process_identity import started
from pasps.topology.run_list import SOCKET_DIRECTORY_PREFIX, base_directory, remove_old_runs, remove_socket, run_in
from pasps.topology.run_record import FILE_NAME, RunRecord, RunState, host, without_secrets, write_json

_log = logging.getLogger(__name__)

SUMMARY_NAME = "summary.json"
SOCKET_NAME = "control.sock"
PREDICTOR_LOG_NAME = "predictor.log"
_MOST_PATH_BYTES = 100
"""Of a Unix socket; systems take 103 to 107."""
MOST_LOG_BYTES = 64 << 20
"""Of a file of lines, before it becomes the older one."""


@dataclass(frozen=True, slots=True)
class About:
    """What is to run: the topology's name, its file, how many workers, the configuration given, and who decides on replicas."""

    name: str
    file: str
    workers: int
    config: Mapping[str, Any] = field(default_factory=dict)
    policy: str | None = None


class LineFile:
    """`name.jsonl`, and `name.1.jsonl` with what was written before that one was full; older lines are dropped.

    What is written is in the file at once, and survives the death of its writer. For one thread at a time. Nothing raises: when the
    disk is full a warning is logged once, and lines are dropped whole.
    """

    def __init__(self, path: Path, most_bytes: int = MOST_LOG_BYTES) -> None:
        self.path = path
        self.dropped = 0
        """Lines that could not be written."""
        self._most = most_bytes
        self._file: int | None = None
        self._size = 0
        self._closed = False

    def write(self, line: bytes) -> None:
        """Append a line, given without its end; nothing happens after `close`."""
        if self._closed:
            return
        try:
            self._append(line + b"\n")
        except OSError as error:
            if not self.dropped:
                _log.warning("%s: lines are lost: %s", self.path, error)
            self.dropped += 1

    def close(self) -> None:
        """No more lines. More calls do nothing."""
        self._closed = True
        self._shut()

    def _append(self, line: bytes) -> None:
        if self._file is not None and self._size and self._size + len(line) > self._most:
            self._shut()
            self.path.replace(self.path.with_suffix(f".1{self.path.suffix}"))
        if self._file is None:
            self._file = os.open(self.path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
            self._size = os.fstat(self._file).st_size
        try:
            written = os.write(self._file, line)
            if written != len(line):
                raise OSError(f"{written} of {len(line)} bytes were written")
        except OSError:
            # no half line before the next one
            os.ftruncate(self._file, self._size)
            raise
        self._size += len(line)

    def _shut(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            with suppress(OSError):
                os.close(file)


class RunDirectory:
    """Made by `create`. A context manager: leaving it ends the run's record, or removes what was made when it never ran.

    `enter`, `note`, `finish` and lines do not raise when the disk is full or gone: a run does not end for that; a warning is logged.
    May be used from several threads, a `LineFile` from one.
    """

    def __init__(self, path: Path, record: RunRecord, clock: Clock, *, made: bool) -> None:
        self.path = path
        self.record = record
        self._clock = clock
        self._made = made
        self._link: Path | None = None
        self._lines: dict[str, LineFile] = {}
        self._lock = threading.Lock()

    @classmethod
    def create(
        cls, about: About, clock: Clock, chosen: str | None = None, base: Path | None = None, *, listed: bool = True
    ) -> RunDirectory:
        """Make it in the base directory, or take exactly `chosen`; also removes the oldest finished runs of the base directory.

        Not `listed`: one that is chosen is found by its directory only.

        Raises:
            InvalidError: `chosen` is no directory, or is not empty; nothing in it was touched.
            BrokenError: it cannot be made or written to.
        """
        base = base_directory() if base is None else base
        now = clock.wall()
        usual = base / "runs" / f"{about.name}-{datetime.fromtimestamp(now):%Y%m%d-%H%M%S}-{os.getpid()}"
        remove_old_runs(base, now)
        path = usual if chosen is None else Path(os.path.abspath(chosen))
        try:
            path, made = (_make(usual), True) if chosen is None else (path, _take(path))
            # claims it: of two that chose the same empty directory one gets further
            os.close(os.open(path / FILE_NAME, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            record = replace(_record(about, path, now), chosen=chosen is not None)
            write_json(path / FILE_NAME, record)
        except FileExistsError as error:
            raise InvalidError(f"--run-dir {path}: somebody else has just begun to use it; give another directory") from error
        except OSError as error:
            cure = "give another one with --run-dir, or another place for all with PASPS_HOME"
            raise BrokenError(f"the run directory {path} cannot be made: {error.strerror or error}; {cure}") from error
        directory = cls(path, record, clock, made=made)
        if chosen is not None and listed:
            directory._register(usual)
        return directory

    @property
    def state(self) -> RunState:
        """Where the run is."""
        return self.record.state

    @property
    def socket_path(self) -> str:
        """Where the control socket belongs."""
        return self.record.socket

    def enter(self, state: RunState) -> None:
        """The run is in that state from now on. A run that drains or has ended does not go back."""
        with self._lock:
            if self.record.state in (RunState.DRAINING, RunState.ENDED) and state is not RunState.ENDED:
                return
            self._write(replace(self.record, state=state, ended=self._clock.wall() if state is RunState.ENDED else None))

    def note(self, detail: str) -> None:
        """What else is to be known of its state from now on, as long as the run is not over."""
        with self._lock:
            if self.record.state is not RunState.ENDED and self.record.detail != detail:
                self._write(replace(self.record, detail=detail))

    def move_socket(self) -> str:
        """A place for the control socket outside, for file systems that take none; written down with it. Returns the path."""
        with self._lock:
            self._write(replace(self.record, socket=_outside()))
            return self.record.socket

    def lines(self, name: str) -> LineFile:
        """The file of that name in it, made with its first line; closed with the directory."""
        if name not in self._lines:
            self._lines[name] = LineFile(self.path / name)
        return self._lines[name]

    def finish(self, summary: Mapping[str, Any]) -> None:
        """The run is over, and this is how."""
        try:
            write_json(self.path / SUMMARY_NAME, summary)
        except OSError as error:
            _log.warning("%s cannot be written: %s", self.path / SUMMARY_NAME, error)
        self.enter(RunState.ENDED)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for lines in self._lines.values():
            lines.close()
        remove_socket(self.record.socket)
        if self.state is RunState.STARTING:
            self._discard()
        elif self.state is not RunState.ENDED:
            self.enter(RunState.ENDED)

    def _write(self, record: RunRecord) -> None:
        self.record = record
        try:
            write_json(self.path / FILE_NAME, record)
        except OSError as error:
            _log.warning("%s cannot be written, so other terminals do not see that the run is %s: %s", self.path, record.state, error)

    def _register(self, entry: Path) -> None:
        """Let a chosen directory be found by the topology's name too."""
        try:
            entry.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            entry.symlink_to(self.path, target_is_directory=True)
            self._link = entry
        except OSError as error:
            _log.warning("the run can be found by its directory only: %s: %s", entry, error)

    def _discard(self) -> None:
        """It never ran: leave nothing of ours."""
        if self._link is not None:
            with suppress(OSError):
                self._link.unlink()
        if self._made:
            shutil.rmtree(self.path, ignore_errors=True)
            return
        for name in (FILE_NAME, PREDICTOR_LOG_NAME, *self._lines):
            with suppress(OSError):
                (self.path / name).unlink()


def _make(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    for number in count(2):
        try:
            path.mkdir(mode=0o700)
        except FileExistsError:
            path = path.with_name(f"{path.name.partition('+')[0]}+{number}")
        else:
            break
    return path


def _take(path: Path) -> bool:
    """Whether the chosen directory had to be made.

    Raises:
        InvalidError: it is no directory, or not empty.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=0o700)
    except FileExistsError:
        if not path.is_dir():
            raise InvalidError(f"--run-dir {path}: expected a directory, this is a file") from None
        if any(path.iterdir()):
            raise InvalidError(f"--run-dir {path}: {_occupant(path)}") from None
        path.chmod(0o700)
        return False
    return True


def _occupant(path: Path) -> str:
    """Why a directory that is not empty cannot be taken."""
    try:
        run = run_in(path)
    except InvalidError:
        return "it is not empty; give an empty directory or a new one"
    if run.state.over:
        return f"it holds what a run of {run.record.name!r} left, which is never replaced; give a new directory, or remove this one"
    return f"topology {run.record.name!r} runs in it (process {run.record.pid}); give another directory"


def _record(about: About, path: Path, now: float) -> RunRecord:
    inside = str(path / SOCKET_NAME)
    return RunRecord(
        name=about.name,
        file=os.path.abspath(about.file),
        pid=os.getpid(),
        process=started(os.getpid()) or "",
        host=host(),
        started=now,
        workers=about.workers,
        socket=inside if len(os.fsencode(inside)) <= _MOST_PATH_BYTES else _outside(),
        config=without_secrets(about.config),
        policy=about.policy,
    )


def _outside() -> str:
    """A path for a socket in a new directory of our own, short enough."""
    usual = len(os.fsencode(tempfile.gettempdir())) <= _MOST_PATH_BYTES // 2
    return os.path.join(tempfile.mkdtemp(prefix=SOCKET_DIRECTORY_PREFIX, dir=None if usual else "/tmp"), SOCKET_NAME)
