"""The states of a worker's replicas, driven by activation tables. Pure; the worker asks it what changed and when one may park."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

Key = tuple[str, int]
"""A component and a replica index."""


class ReplicaState(Enum):
    """What a replica may do.

    INACTIVE: placed, connected, initialized; holds no CPU and gets nothing.
    ACTIVE: senders route to it.
    DRAINING: senders stop routing to it; it works off what is queued and what is on the way, and still gets ticks.
    """

    INACTIVE = "INACTIVE"
    ACTIVE = "ACTIVE"
    DRAINING = "DRAINING"


class ReplicaPool:
    """Transitions: INACTIVE -> ACTIVE and DRAINING -> ACTIVE by a table that lists it; ACTIVE -> DRAINING by one that does not;
    DRAINING -> INACTIVE ("parked") when every live worker marked that table and nothing is left in the replica.

    A replica added while the table lists it starts ACTIVE, else INACTIVE.
    """

    def __init__(self) -> None:
        self.states: dict[Key, ReplicaState] = {}
        self._since: dict[Key, int] = {}
        self._placed: set[Key] = set()

    def apply(self, version: int, listed: set[Key], placed: set[Key]) -> tuple[list[Key], list[Key]]:
        """Take a table: `listed` are active by it, `placed` all replicas of this worker. Returns who became active, who drains.

        A replica that is not placed here any more drains if it was active; once it has parked it is `elsewhere`, until `drop`.
        """
        self._placed = placed
        activated, draining = [], []
        for key in placed:
            self.states.setdefault(key, ReplicaState.INACTIVE)
        for key, state in self.states.items():
            wanted = key in listed and key in placed
            if wanted and state is not ReplicaState.ACTIVE:
                activated.append(key)
            elif not wanted and state is ReplicaState.ACTIVE:
                draining.append(key)
                self._since[key] = version
        for key in activated:
            self.states[key] = ReplicaState.ACTIVE
            self._since.pop(key, None)
        for key in draining:
            self.states[key] = ReplicaState.DRAINING
        return activated, draining

    def park(self, marked: int, empty: Callable[[Key], bool]) -> list[tuple[Key, int]]:
        """Park the draining replicas that may: all marks up to their table are in (`marked`), and `empty` says so.

        Returns them with the version of the table that put them out.
        """
        parked = [(key, since) for key, since in self._since.items() if since <= marked and empty(key)]
        for key, _ in parked:
            self.states[key] = ReplicaState.INACTIVE
            del self._since[key]
        return parked

    def elsewhere(self) -> list[Key]:
        """Who is at rest here although the newest table places it elsewhere."""
        return [key for key, state in self.states.items() if state is ReplicaState.INACTIVE and key not in self._placed]

    def draining(self) -> bool:
        """Whether any replica drains."""
        return bool(self._since)

    def drop(self, key: Key) -> None:
        """Forget a replica that lives elsewhere now."""
        self.states.pop(key, None)
        self._since.pop(key, None)
