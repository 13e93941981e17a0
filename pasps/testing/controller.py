"""The controller's part in a step run: tables, one change at a time; repair and fence after a loss. Decides nothing by itself.

Called by `StepRun` between steps; reads the journal, and gives tables to workers through their mailboxes.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from pasps.activation import ActivationTable, brought_home, left_where_it_was, moves, with_worker, without_worker
from pasps.errors import BrokenError
from pasps.runtime.tables import Positions
from pasps.runtime.worker import Worker
from pasps.testing.journal import Journal, Report

_log = logging.getLogger(__name__)

Change = Callable[[ActivationTable], ActivationTable]
"""Makes table n+1 of table n."""


@dataclass
class _Awaited:
    """A keyed task on its way: the table that sent it, and the worker that it left (None: it is dead)."""

    version: int
    source: str | None


class StepController:
    """Publishes a change only when every worker routes by the newest table and no task is on its way; a repair at once."""

    def __init__(self, first: ActivationTable, workers: dict[str, Worker], journal: Journal, positions: Callable[[], Positions]) -> None:
        self.table = first
        self.mail: dict[str, deque[tuple[ActivationTable, Positions]]] = {}
        self.history = [first]
        self._home = first.components
        self._unmovable: set[tuple[str, int]] = set()
        self.repaired = True
        """Whether every loss has been followed by its fence."""
        self._workers = workers
        self._journal = journal
        self._positions = positions
        self._routed: dict[str, int] = {}
        self._awaited: dict[tuple[str, int], _Awaited] = {}
        self._fences: list[int] = []
        self._changes: deque[Change] = deque()

    # ---- what the run asks for

    def request(self, change: Change) -> None:
        """Publish `change` as soon as everything before it has settled."""
        self._changes.append(change)

    def publish(self, table: ActivationTable) -> None:
        """Put a table into the mailbox of every live worker."""
        for move in moves(self.table, table):
            self._awaited[move.component, move.task] = _Awaited(table.version, move.source)
        self.table = table
        self.history.append(table)
        for worker in table.workers:
            self.mail.setdefault(worker, deque()).append((table, self._positions()))

    def refuse_unmovable(self, table: ActivationTable) -> None:
        """Raise UnmovableError when `table` would move an instance that cannot; nothing is changed by asking."""
        for move in moves(self.table, table):
            worker = self._workers.get(move.source or "")
            slot = worker.residents.slots.get((move.component, move.task)) if worker is not None else None
            error = worker.hosting.unmovable(slot) if worker is not None and slot is not None else None
            if error is not None:
                raise error

    def note_unmovable(self) -> None:
        """Try whether each keyed instance can be moved; see `refuse_unmovable`. What could not at the start is not brought home."""
        for worker in self._workers.values():
            for (component, task), slot in worker.residents.slots.items():
                if worker.blueprint.components[component].keyed and worker.hosting.unmovable(slot) is not None:
                    self._unmovable.add((component, task))

    def deliver(self, worker: str) -> bool:
        """Let a worker apply the next table in its mailbox; False when it has none."""
        waiting = self.mail.get(worker)
        if not waiting:
            return False
        table, positions = waiting.popleft()
        self._workers[worker].apply(table, positions)
        return True

    def lost(self, worker: str) -> None:
        """A worker died: repair."""
        self.mail.pop(worker, None)
        self._routed.pop(worker, None)
        coming = {key: a for key, a in self._awaited.items() if self.table.components[key[0]].worker_of(key[1]) == worker}
        for key in coming:
            del self._awaited[key]
        for awaited in self._awaited.values():
            awaited.source = None if awaited.source == worker else awaited.source
        self.publish(without_worker(self.table, worker, {key: a.source for key, a in coming.items() if a.source is not None}))
        self._fences.append(self.table.version)
        self.repaired = False

    def refresh(self) -> None:
        """A link was made anew: publish the same table again, so that everyone marks it, and fail what was under way."""
        self.publish(self.table.following())
        self._fences.append(self.table.version)
        self.repaired = False

    def came(self, worker: str, incarnation: int) -> None:
        """A worker is there again, and gets its replicas again, one bolt after the other."""
        self.mail[worker] = deque()
        self.publish(with_worker(self.table, worker, incarnation))
        for name, plan in self._workers[worker].blueprint.components.items():
            if not plan.is_spout:
                self.request(partial(self._brought_home, name))

    def _brought_home(self, component: str, table: ActivationTable) -> ActivationTable:
        try:
            wanted = brought_home(table, self._home, component) or table
        except BrokenError as error:  # all have died since
            _log.warning("component %s stays where it is: %s", component, error)
            return table
        for move in moves(table, wanted):
            if move.source is not None and (move.component, move.task) in self._unmovable:
                _log.warning("component %s stays where it is: task %d cannot move", component, move.task)
                return table
        return wanted

    # ---- going on

    def settled(self) -> bool:
        """Whether every live worker routes by the newest table and every task has arrived."""
        return not (self._awaited or self._changes or self._fences or any(self.mail.values())) and self._all_route(self.table.version)

    def advance(self) -> None:
        """Read the reports, and do what they allow."""
        for report in self._journal.unread():
            if report.worker not in self._workers:
                continue
            if report.kind == "applied":
                self._routed[report.worker] = max(report.version, self._routed.get(report.worker, 0))
            elif report.kind == "moved":
                self._moved(report)
            elif report.kind == "move_failed":
                self._take_back(report)
        ready = [version for version in self._fences if self._all_route(version)]
        if ready:
            self._fences = [version for version in self._fences if version not in ready]
            for worker in self._workers.values():
                worker.fence()
            self.repaired = not self._fences
        if self._changes and not self._awaited and not self._fences and self._all_route(self.table.version):
            table = self._changes.popleft()(self.table)
            if table is not self.table:
                self.publish(table)

    def _all_route(self, version: int) -> bool:
        return all(self._routed.get(worker, 0) >= version for worker in self.table.workers)

    def _moved(self, report: Report) -> None:
        key = (report.component, report.index)
        awaited = self._awaited.get(key)
        if awaited is not None and report.version >= awaited.version:
            del self._awaited[key]

    def _take_back(self, report: Report) -> None:
        """The task cannot leave: table n+1 has it where it was, unless that has died, or a newer table has sent it elsewhere."""
        awaited = self._awaited.get((report.component, report.index))
        if awaited is None or report.version < awaited.version or awaited.source is None:
            return
        self.publish(left_where_it_was(self.table, report.component, report.index, awaited.source))
