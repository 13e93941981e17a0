"""Changes that take time: replicas that drain until they may park, tasks that move."""

from __future__ import annotations

from pasps.runtime.hosting import Hosting
from pasps.runtime.parts import Parts
from pasps.runtime.table_keeper import TableKeeper
from pasps.runtime.task_moves import TaskMoves


class Draining:
    """One for each worker; `go_on` must be called after steps while it is `busy`, and whenever a mark came in."""

    def __init__(self, parts: Parts, keeper: TableKeeper, moves: TaskMoves, hosting: Hosting) -> None:
        self._parts = parts
        self._keeper = keeper
        self._moves = moves
        self._hosting = hosting

    def busy(self) -> bool:
        """Whether anything is under way."""
        return self._parts.pool.draining() or bool(self._moves)

    def go_on(self) -> None:
        """Take moves further, park what has drained."""
        table, parts = self._keeper.table, self._parts
        if table is None:
            return
        marked = self.marked()
        self._moves.progress(marked)
        for (component, replica), version in parts.pool.park(marked, self._is_empty):
            self._keeper.lifecycle((component, replica), "deactivate")
            parts.reports.parked(component, replica, version)
            if self._is_elsewhere((component, replica)):
                self._retire(component, replica)

    def marked(self) -> int:
        """The newest table of which every live worker has said that it sends nothing older any more."""
        table = self._keeper.table
        if table is None:
            return 0
        peers = self._parts.peers
        others = [worker for worker in table.workers if worker != self._parts.me]
        return min((peers[worker].marked if worker in peers else 0 for worker in others), default=table.version)

    def _is_empty(self, key: tuple[str, int]) -> bool:
        executor = self._parts.residents.executors[key]
        keyed = self._parts.blueprint.components[key[0]].keyed
        # what is held waits for an instance that could not be started yet
        if not executor.idle() or (keyed and executor.slots) or any(slot.held for slot in executor.slots.values()):
            return False
        if self._is_elsewhere(key) and executor.unfinished():  # its instance ends here, while the topology goes on
            executor.finish()
            return False
        return True

    def _is_elsewhere(self, key: tuple[str, int]) -> bool:
        table = self._keeper.table
        return table is not None and table.components[key[0]].places[key[1]] != self._parts.me

    def _retire(self, component: str, replica: int) -> None:
        """The replica is placed elsewhere now: close what it has here."""
        residents = self._parts.residents
        executor = residents.executors.pop((component, replica))
        self._hosting.close_all(executor)
        executor.stop()
        for slot in list(executor.slots.values()):
            residents.slots.pop((component, slot.task), None)
        self._parts.pool.drop((component, replica))
