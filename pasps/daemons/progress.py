"""How far each spout task is, kept outside of its worker: what it goes on from when that dies. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pasps.daemons.messages import Start
from pasps.metrics import WorkerCounts


@dataclass
class _Task:
    """Numbers over all incarnations: `before` was emitted first by dead ones, `covered` lies before the saved position."""

    before: int = 0
    now: int = 0
    covered: int = 0
    position: bytes | None = None
    last_id: bytes | None = None


class Progress:
    """Fed with counters as they come, cumulative for each incarnation."""

    def __init__(self, starts: Mapping[int, Start] | None = None) -> None:
        """`starts`: where the tasks were when another master ended."""
        self._tasks = {number: _Task(before=s.debt, position=s.position, last_id=s.until) for number, s in (starts or {}).items()}

    def take(self, counts: WorkerCounts) -> None:
        """Newer counters of a live worker."""
        for spout in counts.spouts:
            task = self._tasks.setdefault(spout.task, _Task())
            task.now = spout.first
            if spout.position is not None:
                task.position = spout.position
                task.covered = task.before + spout.covered
            if spout.last_id is not None or spout.exact:
                task.last_id = spout.last_id

    def died(self, counts: WorkerCounts) -> None:
        """These were the last counters of a worker: its spouts go on elsewhere, and count from zero there."""
        for spout in counts.spouts:
            task = self._tasks.setdefault(spout.task, _Task())
            task.before += task.now
            task.now = 0

    def starts(self, tasks: list[int]) -> dict[int, Start]:
        """Where these tasks would go on now."""
        found = {}
        for number in tasks:
            task = self._tasks.get(number)
            if task is not None:
                found[number] = Start(task.position, max(0, task.before + task.now - task.covered), task.last_id)
        return found
