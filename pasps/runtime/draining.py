"""Changes that take time: replicas that drain until they may park, tasks that move."""

from __future__ import annotations

from pasps.runtime.executor import BoltExecutor
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
        self._still: dict[tuple[str, int], tuple[int, float]] = {}
        """By draining replica: what it had executed, and since when that is so."""
        self._leaving = False
        """Whether a replica at rest, which lives elsewhere now, has still to say its last or to get rid of it."""

    def busy(self) -> bool:
        """Whether anything is under way."""
        return self._parts.pool.draining() or bool(self._moves) or self._leaving

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
            self._keeper.share_out()
        self._leaving = False
        for component, replica in parts.pool.elsewhere():
            key = (component, replica)
            if self._has_keyed_tasks(key):  # its moves come first
                continue
            executor = parts.residents.executors[key]
            if self._finishes(executor) or executor.emitter.parked:
                self._leaving = True
            else:
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
        # what is held waits for an instance that could not be started yet
        if self._has_keyed_tasks(key) or any(slot.held for slot in executor.slots.values()) or not executor.quiet():
            return False
        if executor.kept() and not self._forgot(key, executor):
            return False
        return not (self._is_elsewhere(key) and self._finishes(executor))

    def _is_elsewhere(self, key: tuple[str, int]) -> bool:
        table = self._keeper.table
        return table is not None and table.components[key[0]].places[key[1]] != self._parts.me

    @staticmethod
    def _finishes(executor: BoltExecutor) -> bool:
        """Whether its instances, which end here while the topology goes on, have still to say their last."""
        if executor.unfinished():
            executor.finish()
        return executor.finishing() > 0

    def _has_keyed_tasks(self, key: tuple[str, int]) -> bool:
        return self._parts.blueprint.components[key[0]].keyed and bool(self._parts.residents.executors[key].slots)

    def _forgot(self, key: tuple[str, int], executor: BoltExecutor) -> bool:
        """Whether what it keeps has failed at its spouts: two time-outs after its last tuple, nothing of it can be acked any more."""
        parts = self._parts
        executed, now = sum(executor.meter.executed.values()), parts.clock.now()
        before, since = self._still.get(key, (-1, now))
        if before != executed:
            self._still[key] = (executed, now)
            return False
        return parts.settings.timeouts_enabled and now - since >= 2 * parts.settings.message_timeout_seconds

    def _retire(self, component: str, replica: int) -> None:
        """The replica is placed elsewhere now: close what it has here."""
        executor = self._parts.residents.retire((component, replica), self._parts.me)
        self._hosting.close_all(executor)
        executor.stop()
        self._still.pop((component, replica), None)
        self._parts.pool.drop((component, replica))
        self._keeper.share_out()
