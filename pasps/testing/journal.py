"""What the workers of a step run reported, in one list; implements `runtime.reports.Reports` for each of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

ReportKind = Literal["applied", "parked", "moved", "move_failed", "error", "link_lost", "pressed", "finished"]


@dataclass(frozen=True, slots=True)
class Report:
    """One report. `index` is a replica (parked), a task index (moved, move_failed) or a task id (error, finished).

    `text` is an error's text, the attribute and reason of a move that failed, or the peer of a lost link.
    """

    worker: str
    kind: ReportKind
    version: int = 0
    component: str = ""
    index: int = 0
    text: str = ""


class Journal:
    """All reports, in order. `unread` gives each one once."""

    def __init__(self) -> None:
        self.reports: list[Report] = []
        self._read = 0

    def add(self, report: Report) -> None:
        """Append."""
        self.reports.append(report)

    def unread(self) -> Iterator[Report]:
        """What was added since the last call, and while this one goes on."""
        while self._read < len(self.reports):
            self._read += 1
            yield self.reports[self._read - 1]

    def of(self, kind: ReportKind) -> list[Report]:
        """All of one kind."""
        return [report for report in self.reports if report.kind == kind]


class WorkerReports:
    """The reports of one worker."""

    def __init__(self, worker: str, journal: Journal) -> None:
        self._worker = worker
        self._add = journal.add

    def applied(self, version: int) -> None:
        """See `Reports`."""
        self._add(Report(self._worker, "applied", version))

    def parked(self, component: str, replica: int, version: int) -> None:
        """See `Reports`."""
        self._add(Report(self._worker, "parked", version, component, replica))

    def moved(self, version: int, component: str, task: int) -> None:
        """See `Reports`."""
        self._add(Report(self._worker, "moved", version, component, task))

    def move_failed(self, version: int, component: str, task: int, attribute: str, reason: str) -> None:
        """See `Reports`."""
        self._add(Report(self._worker, "move_failed", version, component, task, f"{attribute}: {reason}"))

    def error(self, component: str, task: int, text: str) -> None:
        """See `Reports`."""
        self._add(Report(self._worker, "error", component=component, index=task, text=text))

    def link_lost(self, peer: str, incarnation: int) -> None:
        """See `Reports`."""
        self._add(Report(self._worker, "link_lost", incarnation, text=peer))

    def pressed(self, component: str) -> None:
        """See `Reports`."""
        self._add(Report(self._worker, "pressed", component=component))

    def finished(self, task: int, done: bool) -> None:
        """See `Reports`."""
        self._add(Report(self._worker, "finished", int(done), index=task))
