"""Credit for tuples that died with a worker, or with a connection, is given up: nobody would ever give it back."""

from __future__ import annotations

from pasps.activation import ActivationTable
from pasps.runtime.replica_pool import Key
from pasps.runtime.target import Target


class LostCredit:
    """Of one worker. Gives up too much rather than too little: an inbox may for once hold more than its window."""

    def __init__(self, targets: dict[str, list[Target]]) -> None:
        self._targets = targets
        self._was_on: dict[Key, set[str]] = {}  # where a target was before, while there is still credit out

    def change(self, old: ActivationTable, table: ActivationTable, lost: list[str]) -> None:
        """Workers are lost between two tables: with them what was sent to them, also before a task or replica went elsewhere."""
        for name, routing in old.components.items():
            for task in range(routing.pool):
                target, before = self._targets[name][task], routing.worker_of(task)
                places = self._was_on.pop((name, task), set())
                if not places.isdisjoint(lost) or before in lost:
                    target.forget()
                if before != table.components[name].worker_of(task):
                    places.add(before)
                if target.outstanding and places:
                    self._was_on[name, task] = places

    def reconnect(self, table: ActivationTable, worker: str) -> None:
        """A connection was made anew: what the one before had taken may have been lost with it."""
        for name, routing in table.components.items():
            for task in range(routing.pool):
                # also for a task that went elsewhere while the connection was down: what was given to it then failed at once
                if routing.worker_of(task) == worker or worker in self._was_on.get((name, task), ()):
                    self._targets[name][task].forget()
