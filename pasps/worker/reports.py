"""What a worker reports to its controller: `runtime.Reports` as messages of the control connection."""

from __future__ import annotations

from collections.abc import Callable

from pasps.worker.messages import Applied, Finished, FromWorker, LinkLost, Moved, MoveFailed, Pressed, Problem


class ControlReports:
    """`runtime.Reports` over the control connection."""

    def __init__(self, send: Callable[[FromWorker], None]) -> None:
        self._send = send

    def applied(self, version: int) -> None:
        """See `Reports`."""
        self._send(Applied(version))

    def parked(self, component: str, replica: int, version: int) -> None:
        """See `Reports`. The counters tell a controller which replicas still work."""

    def moved(self, version: int, component: str, task: int) -> None:
        """See `Reports`."""
        self._send(Moved(version, component, task))

    def move_failed(self, version: int, component: str, task: int, attribute: str, reason: str) -> None:
        """See `Reports`."""
        self._send(MoveFailed(version, component, task, attribute, reason))

    def error(self, component: str, task: int, text: str) -> None:
        """See `Reports`."""
        self._send(Problem(component, task, text))

    def link_lost(self, peer: str, incarnation: int) -> None:
        """See `Reports`."""
        self._send(LinkLost(peer, incarnation))

    def pressed(self, component: str) -> None:
        """See `Reports`."""
        self._send(Pressed(component))

    def finished(self, task: int, done: bool) -> None:
        """See `Reports`."""
        self._send(Finished(task, done))
