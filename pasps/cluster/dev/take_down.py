"""Ends a development cluster: its topologies through the master, then every process that carries its mark."""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

from pasps.clock import Clock, Deadline
from pasps.cluster.dev.ports import HOST
from pasps.cluster.dev.processes import LOOK_SECONDS, ProcessRef, marked
from pasps.cluster.master.client import ClusterAddress, MasterClient
from pasps.errors import BrokenError, PaspsError
from pasps.topology.verbs import Kill, arguments_of

_log = logging.getLogger(__name__)

KILL_SECONDS = 10.0
"""What the topologies' ends may take."""
GRACE_SECONDS = 4.0
END_SECONDS = 20.0


def kill_topologies(port: int, token: str) -> list[str]:
    """Have the master on that port kill every topology without draining it; the names of those it did. Blocks, never fails."""
    master = MasterClient(ClusterAddress(f"http://{HOST}:{port}", token, "the development cluster"))
    try:
        names = [view.name for view in master.topologies()]
    except PaspsError as error:
        _log.info("the master does not say which topologies run, so they are ended with their processes: %s", error)
        return []
    if not names:
        return []
    with ThreadPoolExecutor(len(names)) as threads:
        killed = threads.map(lambda name: _kill(master, name), names)
        return [name for name, done in zip(names, killed, strict=True) if done]


def end_marked(home: Path, known: Iterable[ProcessRef], clock: Clock, reap: Callable[[], None]) -> int:
    """End every process of that cluster, those that come meanwhile too; how many there were. Blocks until they are gone.

    Each gets SIGTERM, and SIGKILL some seconds later. `known` are looked at too, should one have lost its mark.

    Raises:
        BrokenError: some are there still.
    """
    deadline, pause = Deadline(clock, END_SECONDS), Event()
    asked: dict[ProcessRef, Deadline] = {}
    known = list(known)
    while True:
        left = {*marked(home), *(process for process in (*known, *asked) if not process.gone)}
        reap()  # after the look: of those that it found gone, none may be left for its parent to take note of
        if not left:
            return len(asked)
        if deadline.expired():
            raise BrokenError(f"processes {', '.join(str(process.pid) for process in sorted_refs(left))} do not end; end them by hand")
        for process in left:
            if process not in asked:
                process.send(signal.SIGTERM)
                asked[process] = Deadline(clock, GRACE_SECONDS)
            elif asked[process].expired():
                process.send(signal.SIGKILL)
        pause.wait(LOOK_SECONDS)


def sorted_refs(processes: Iterable[ProcessRef]) -> list[ProcessRef]:
    """By number."""
    return sorted(processes, key=lambda process: process.pid)


def _kill(master: MasterClient, name: str) -> bool:
    try:
        master.call(name, Kill.name, arguments_of(Kill(wait=0)), KILL_SECONDS)
    except PaspsError as error:
        _log.info("topology %s was not killed by the master: %s", name, error)
        return False
    return True
