"""`python -m predictor_service.fork_server FD PARENT [ARTIFACTS]`: loads libraries and artifacts once, then forks on demand.

A process is so there in milliseconds, with libraries loaded and warm and their memory shared. This process has a single thread,
which is what makes forking it safe; `fit_process` starts it and sets the environment that keeps it so.

Ends when the server closes its end of the control socket, and takes its children with it.
"""

from __future__ import annotations

import gc
import logging
import math
import os
import signal
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from predictor_service import fit_loop, parent
from predictor_service.forecast import forecast
from predictor_service.registry import builtin_models
from predictor_service.trained.artifacts import Artifacts

_WARM_UP_SECONDS = 120

_log = logging.getLogger(__name__)


def main(arguments: Sequence[str]) -> None:
    """Warm up, then fork until the control socket is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the server's to answer
    descriptor, server = map(int, arguments[:2])
    parent.end_with(server)
    control = socket.socket(fileno=descriptor)
    warm_up()
    fit_loop.load_artifacts(Artifacts(Path(arguments[2]) if arguments[2:] else None))
    gc.collect()
    gc.freeze()  # no collection writes to pages that are shared with the children
    parent.end_by_itself()  # from now on it sees the server's end, and can end its children first
    children: set[int] = set()
    signal.signal(signal.SIGCHLD, lambda number, frame: _reap(children))
    try:
        while (asked := _next_request(control)) is not None:
            niceness, connection = asked
            with connection, _no_child_is_reaped():
                if child := _fork(control, connection, niceness):
                    children.add(child)
    finally:
        _end(children)


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


def _fork(control: socket.socket, connection: socket.socket, niceness: int) -> int:
    """The child's id; 0 when the system has no room for one: the server sees that its socket is closed."""
    forker = os.getpid()
    try:
        child = os.fork()
    except OSError as error:
        _log.warning("cannot fork: %s", error)
        return 0
    if child:
        return child
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
        control.close()
        parent.end_with(forker)
        os.nice(niceness)
        fit_loop.serve(connection)
    except OSError:
        pass  # the server is gone
    except Exception:  # noqa: BLE001 - the process's main: logged, the server replaces it
        _log.exception("a process that fits ends")
    finally:
        os._exit(0)


@contextmanager
def _no_child_is_reaped() -> Iterator[None]:
    """A child that ends before its id is noted must be reaped after that."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])


def _reap(children: set[int]) -> None:
    for child in list(children):
        if os.waitpid(child, os.WNOHANG)[0]:
            children.discard(child)


def _end(children: set[int]) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _reap(children)
    for child in children:
        os.kill(child, signal.SIGKILL)
    for child in children:
        os.waitpid(child, 0)


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s")
    logging.getLogger("predictor_service.registry").setLevel(logging.ERROR)  # the server has said what it left out
    main(sys.argv[1:])
    os._exit(0)  # taking the libraries down in order would take a tenth of a second
