"""The verbs of a run on the socket in its directory, from the moment it was submitted until its summary is known."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Self

from pasps.cli.stop import StopRequest
from pasps.clock import Clock, Deadline
from pasps.errors import BrokenError
from pasps.topology.control_socket import ControlSocket
from pasps.topology.controller import TopologyController
from pasps.topology.local_cluster import RunningTopology
from pasps.topology.run_directory import RunDirectory
from pasps.topology.topology_verbs import TopologyVerbs

_log = logging.getLogger(__name__)


class Served:
    """A context manager of the main thread. Leaving it gives the answers that are due and removes the socket."""

    verbs: TopologyVerbs

    def __init__(self, running: RunningTopology, directory: RunDirectory, stop: StopRequest, clock: Clock) -> None:
        self._running, self._directory, self._stop, self._clock = running, directory, stop, clock
        self._summary: Future[Mapping[str, Any]] = Future()
        self._socket: ControlSocket

    def tell(self, summary: Mapping[str, Any]) -> None:
        """It is over: whoever asked for the end gets this."""
        self._summary.set_result(summary)

    def __enter__(self) -> Self:
        self._running.on_controller(self._open)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._running.on_controller(lambda _: self._socket.close())

    async def _open(self, master: TopologyController) -> None:
        self.verbs = TopologyVerbs(master, self._directory, self._kill)
        master.restarts.tell = self._directory.note
        try:
            self._socket = await ControlSocket.open(self._directory.socket_path, self.verbs)
        except OSError as inside:
            _log.debug("%s: %s", self._directory.socket_path, inside)
            try:
                self._socket = await ControlSocket.open(self._directory.move_socket(), self.verbs)
            except OSError as error:
                raise BrokenError(f"no control socket can be opened, in {self._directory.path} or elsewhere: {error}") from error

    async def _kill(self, wait: float | None) -> Mapping[str, Any]:
        self._stop.command(None if wait is None else Deadline(self._clock, wait))
        # several may wait, and one that leaves must not take the answer from the others
        return await asyncio.shield(asyncio.wrap_future(self._summary))
