"""`python -m predictor_service.fork_server FD PARENT [ARTIFACTS]`: loads libraries and artifacts once, then forks on demand.

A process is so there in milliseconds, with libraries loaded and warm and their memory shared. This process has a single thread,
which is what makes forking it safe; `fit_process` starts it and sets the environment that keeps it so. Why no library's pool does
this: docs/decisions/0039.

Ends when the server closes its end of the control socket, and takes its children with it.
"""

from __future__ import annotations

import ctypes
import gc
import logging
import math
import os
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from predictor_service import fit_loop
from predictor_service.forecast import forecast
from predictor_service.registry import builtin_models
from predictor_service.trained.artifacts import Artifacts

_WARM_UP_SECONDS = 120
_PR_SET_PDEATHSIG = 1

_log = logging.getLogger(__name__)


def main(arguments: Sequence[str]) -> None:
    """Warm up, then fork until the control socket is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the server's to answer
    descriptor, server = map(int, arguments[:2])
    _end_with(server)
    control = socket.socket(fileno=descriptor)
    warm_up()
    fit_loop.load_artifacts(Artifacts(Path(arguments[2]) if arguments[2:] else None))
    gc.collect()
    gc.freeze()  # no collection writes to pages that are shared with the children
    _signal_at_parents_end(0)  # from now on it sees the server's end, and can end its children first
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel forgets a child that has ended: nobody asks how
    try:
        while (asked := _next_request(control)) is not None:
            niceness, connection = asked
            # closed before the next fork: its child would have it too, and the end of this one would not be seen
            with connection:
                _fork(control, connection, niceness)
    finally:
        _end_children()


def warm_up() -> None:
    """Fit every built-in model once: loads the libraries, and fills what they keep after their first call."""
    signal.alarm(_WARM_UP_SECONDS)
    samples = [10.0 + 5.0 * math.sin(step / 3) for step in range(30)]
    for model in builtin_models().values():
        try:
            forecast(model, samples, 3, 1.0)
        except Exception as error:  # noqa: BLE001 - a library is missing or broken: its model says so when it is asked
            _log.warning("model %r does not work: %s", model.name, error)
    signal.alarm(0)


def _next_request(control: socket.socket) -> tuple[int, socket.socket] | None:
    """Blocks; the niceness and the socket of the next process to fork, None when the server is gone."""
    try:
        niceness, descriptors, _, _ = socket.recv_fds(control, 1, 1)
    except ConnectionError:
        return None
    return (niceness[0], socket.socket(fileno=descriptors[0])) if niceness and descriptors else None


def _fork(control: socket.socket, connection: socket.socket, niceness: int) -> None:
    """Where the system has no room for a child, the server sees that its socket is closed."""
    forker = os.getpid()
    try:
        child = os.fork()
    except OSError as error:
        _log.warning("cannot fork: %s", error)
        return
    if child:
        return
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        control.close()
        _end_with(forker)
        os.nice(niceness)
        fit_loop.serve(connection)
    except OSError:
        pass  # the server is gone
    except Exception:  # noqa: BLE001 - the process's main: logged, the server replaces it
        _log.exception("a process that fits ends")
    finally:
        os._exit(0)


def _end_with(parent: int) -> None:
    """Have the kernel end this process when its parent ends; it ends at once when that has happened."""
    _signal_at_parents_end(signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def _signal_at_parents_end(number: int) -> None:
    """Linux sends it even in the middle of a fit; elsewhere this does nothing."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number)


def _end_children() -> None:
    for child in psutil.Process().children():
        with suppress(psutil.NoSuchProcess):
            child.kill()
    with suppress(ChildProcessError):
        os.waitpid(-1, 0)  # as SIGCHLD is ignored, until there is none left


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s")
    logging.getLogger("predictor_service.registry").setLevel(logging.ERROR)  # the server has said what it left out
    main(sys.argv[1:])
    os._exit(0)  # taking the libraries down in order would take a tenth of a second
