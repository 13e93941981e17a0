"""Cumulative counters of one executor: added to once a batch, read by the cut."""

from __future__ import annotations


class Meter:
    """Plain numbers; only the worker's loop writes them."""

    __slots__ = ("acked", "errors", "executed", "failed", "held_back", "replayed", "seconds")

    def __init__(self) -> None:
        self.executed: dict[int, int] = {}
        self.seconds = 0.0
        self.acked = 0
        self.failed = 0
        self.errors = 0
        self.replayed = 0
        self.held_back = 0

    def ran(self, edge: int, count: int) -> None:
        """`count` tuples of `edge` were executed."""
        self.executed[edge] = self.executed.get(edge, 0) + count
