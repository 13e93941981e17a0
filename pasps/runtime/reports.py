"""What a worker tells its controller, as a protocol: the daemon that holds the control connection implements it."""

from __future__ import annotations

from typing import Protocol


class Reports(Protocol):
    """Never blocks; called on the worker's loop."""

    def applied(self, version: int) -> None:
        """This worker routes by that table, and has marked it to every peer."""

    def parked(self, component: str, replica: int, version: int) -> None:
        """A replica that table `version` put out has worked off everything; it processes nothing until it is activated."""

    def moved(self, version: int, component: str, task: int) -> None:
        """A keyed task has arrived here, with its state or without."""

    def move_failed(self, version: int, component: str, task: int, attribute: str, reason: str) -> None:
        """A keyed task could not be pickled; it stays here and waits for the next table."""

    def error(self, component: str, task: int, text: str) -> None:
        """An exception of user code, already throttled."""

    def link_lost(self, peer: str, incarnation: int) -> None:
        """A connection broke; the peer itself may live."""

    def finished(self, task: int, done: bool) -> None:
        """A spout task has raised EndOfInput (or, not done any more, has something to replay)."""
