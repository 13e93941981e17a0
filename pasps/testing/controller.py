"""The controller's part in a step run: what a live one publishes and when, by the same `Tables`; repair, and fence after a loss.

Decides nothing by itself. Called by `StepRun` between steps; reads the journal, and gives tables to workers through their mailboxes.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from pasps.activation import ActivationTable, brought_home, with_worker
from pasps.control.publisher import Change, Tables
from pasps.errors import PaspsError, UnmovableError
from pasps.runtime.tables import Positions
from pasps.runtime.worker import Worker
from pasps.testing.journal import Journal

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class RequestedChange:
    """A change that waits for its turn, is under way as table `version`, or is over; `error` says why it was not made."""

    make: Change
    version: int = 0
    error: PaspsError | None = None


class StepController:
    """One change at a time, a repair at once."""

    def __init__(self, first: ActivationTable, workers: dict[str, Worker], journal: Journal, positions: Callable[[], Positions]) -> None:
        self.mail: dict[str, deque[tuple[ActivationTable, Positions]]] = {}
        self.repaired = True
        """Whether every loss has been followed by its fence."""
        self._unmovable: dict[tuple[str, int], UnmovableError] = {}
        self._tables = Tables(first, self._post, self._unmovable)
        self._home = first.components
        self._workers = workers
        self._journal = journal
        self._positions = positions
        self._fences: list[int] = []
        self._requests: deque[RequestedChange] = deque()
        self._under_way: RequestedChange | None = None

    @property
    def table(self) -> ActivationTable:
        """The newest."""
        return self._tables.table

    def _post(self, worker: str, table: ActivationTable) -> None:
        self.mail.setdefault(worker, deque()).append((table, self._positions()))

    # ---- what the run asks for

    def request(self, make: Change) -> RequestedChange:
        """Publish a change as soon as everything before it is over."""
        self._requests.append(RequestedChange(make))
        return self._requests[-1]

    def note_unmovable(self) -> None:
        """Try whether each keyed instance can be moved. What could not at the start is never sent to another worker."""
        for worker in self._workers.values():
            for key, slot in worker.residents.slots.items():
                error = worker.hosting.unmovable(slot) if worker.blueprint.components[slot.component].keyed else None
                if error is not None:
                    self._unmovable[key] = error

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
        version = self._tables.lose(worker)
        if version is not None:
            self._fence(version)

    def refresh(self) -> None:
        """A link was made anew: publish the same table again, so that everyone marks it, and fail what was under way."""
        self._fence(self._tables.refresh())

    def _fence(self, version: int) -> None:
        self._fences.append(version)
        self.repaired = False

    def came(self, worker: str, incarnation: int) -> None:
        """A worker is there again, and gets its replicas again, one bolt after the other."""
        self._tables.publish(with_worker(self.table, worker, incarnation))  # at once: a live controller lets it wait for its turn
        for name, plan in self._workers[worker].blueprint.components.items():
            if not plan.is_spout:
                self.request(partial(brought_home, home=self._home, component=name))

    # ---- going on

    def settled(self) -> bool:
        """Whether every live worker routes by the newest table, every task has arrived, and nothing else is to come."""
        waiting = self._requests or self._under_way or self._fences or any(self.mail.values())
        return not waiting and self._tables.over(self.table.version)

    def advance(self) -> None:
        """Read the reports, and do what they allow."""
        for report in self._journal.unread():
            if report.worker not in self._workers:
                continue
            if report.kind == "applied":
                self._tables.applied(report.worker, report.version)
            elif report.kind == "moved":
                self._tables.moved(report.component, report.index, report.version)
            elif report.kind == "move_failed":
                attribute, _, reason = report.text.partition(": ")
                self._tables.move_failed(report.version, UnmovableError(report.component, report.index, attribute, reason))
        ready = [version for version in self._fences if self._tables.confirmed(version)]
        if ready:
            self._fences = [version for version in self._fences if version not in ready]
            for worker in self._workers.values():
                worker.fence()
            self.repaired = not self._fences
        if self._under_way is not None and self._tables.over(self._under_way.version):
            self._end(self._under_way, self._tables.failure(self._under_way.version))
            self._under_way = None
        if self._under_way is None and self._requests:
            self._begin(self._requests.popleft())

    def _begin(self, request: RequestedChange) -> None:
        try:
            wanted = self._tables.wanted(request.make)
        except PaspsError as error:
            self._end(request, error)
            return
        if wanted is not None:
            request.version = self._tables.publish(wanted)
            self._under_way = request

    def _end(self, request: RequestedChange, error: PaspsError | None) -> None:
        request.error = error
        if error is not None:
            _log.warning("a change was not made, or not as a whole: %s", error)
