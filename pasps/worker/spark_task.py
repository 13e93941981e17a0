"""A worker as a task of Spark: prepares the process, goes to the topology's driver, and is a worker until that ends it.

Spark's executor runs `python -m pasps.worker.spark_task` for a task, in the directory where it has put the topology's files.
"""

from __future__ import annotations

import faulthandler
import json
import logging
import os
import select
import stat
import sys
import tempfile
from functools import partial
from pathlib import Path
from threading import Event, Thread

from pasps.cluster.package.unpack import site_packages
from pasps.cluster.store.tokens import SECRET_VARIABLES
from pasps.errors import BrokenError
from pasps.worker.enlisting import enlist
from pasps.worker.package_on_node import package_on_node
from pasps.worker.place import begin_logging
from pasps.worker.process import WorkerProcess, run_worker

LOG_VARIABLE = "PASPS_LOG_DIR"
"""Of each host: the directory for the logs of workers; without it, one of its own below the system's temporary files."""
_MOST_LOG_BYTES = 64 << 20
_PAUSE_SECONDS = 1.0
_ORPHANED = 129
"""The exit status of one whose executor is gone: that of a SIGHUP."""


def main() -> None:
    """Entry point of the process: be the worker of the place that its standard input names, in the executor's directory.

    What it is told (JSON): `package` and `environment` are the names under which Spark has brought them there; `sha256` is that of
    what was submitted.
    """
    told = json.loads(sys.stdin.readline())
    _end_with_executor()
    forget_secrets()
    log_file = write_to_log(told["topology"], told["place"])
    begin_logging(force=True)
    faulthandler.enable(file=2)  # a crash in C says where, in the log
    with package_on_node(Path(told["package"]), told["sha256"], Path()) as unpacked:
        environment = told["environment"]
        brought = [] if environment is None else [str(site_packages(Path(environment).resolve()))]
        sys.path[:] = unpacked.over(sys.path, brought)
        host, port = told["address"]
        try:
            control = enlist((host, port), bytes.fromhex(told["secret"]), told["place"])
        except BrokenError:
            Event().wait(_PAUSE_SECONDS)  # Spark starts the task again at once, for as long as the application lives
            raise
        run_worker(partial(WorkerProcess, control, log_file))
    logging.shutdown()
    sys.stdout.flush()


def _end_with_executor() -> None:
    """When the executor is gone, however that was, nobody reads any more what came from here, and the kernel says so."""
    lifeline = os.dup(2)
    executor = select.poll()
    executor.register(lifeline, 0)

    def watch() -> None:
        executor.poll()
        os._exit(_ORPHANED)

    Thread(target=watch, name="executor", daemon=True).start()


def forget_secrets() -> None:
    """Drop what a Spark that was started with a master's environment hands down; user code has no use for it."""
    for name in SECRET_VARIABLES:
        os.environ.pop(name, None)


def log_directory(topology: str) -> Path:
    """Where the workers of that topology write on this machine. It is made.

    Raises:
        BrokenError: it cannot be, or somebody else may have prepared what is there.
    """
    chosen = os.environ.get(LOG_VARIABLE)
    base = Path(chosen) if chosen else Path(tempfile.gettempdir()) / f"pasps-{os.getuid()}"
    try:
        if not chosen:
            _make_own(base)
        directory = base / "logs" / topology
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise BrokenError(f"the directory for logs in {base} cannot be made: {error.strerror}; set {LOG_VARIABLE} to another") from error
    return directory


def _make_own(directory: Path) -> None:
    """Make a directory where everybody may make some, or see that the one there is only this user's: its name can be guessed."""
    directory.mkdir(exist_ok=True, mode=0o700)
    found = directory.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077:
        what = f"{stat.filemode(found.st_mode)} of user {found.st_uid}"
        cure = f"remove it, or set {LOG_VARIABLE} to another directory"
        raise BrokenError(f"{directory}: expected a directory of user {os.getuid()} that nobody else can enter, got {what}; {cure}")


def write_to_log(topology: str, place: str) -> Path:
    """From now on all that the process writes goes there, behind what its predecessors wrote."""
    path = log_directory(topology) / f"{place}.log"
    try:
        file = _opened(path)
        if os.fstat(file).st_size > _MOST_LOG_BYTES:
            os.close(file)
            path.replace(path.with_suffix(".log.1"))
            file = _opened(path)
    except OSError as error:
        raise BrokenError(f"{path} cannot be written: {error.strerror}; remove it, or set {LOG_VARIABLE} to another directory") from error
    sys.stdout.flush()
    sys.stderr.flush()
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.close(file)
    # whatever Spark made of them, user code prints to the file, a line at a time
    sys.stdout = os.fdopen(os.dup(1), "w", buffering=1)
    sys.stderr = os.fdopen(os.dup(2), "w", buffering=1)
    return path


def _opened(path: Path) -> int:
    # a link that somebody put there must not have another file written
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)


if __name__ == "__main__":
    main()
