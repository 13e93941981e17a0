"""What spouts saved, and what they emit again after their worker died; the launcher's part in a step run."""

from __future__ import annotations

from pasps.api.blueprint import Blueprint
from pasps.runtime.hosting import SpoutStart
from pasps.runtime.tables import Positions
from pasps.runtime.worker import Worker
from pasps.testing.list_spout import Script


class SavedPositions:
    """Notes each position when it is saved, with the first emissions that lie before it: all after these are replays next time."""

    def __init__(self, blueprint: Blueprint, scripts: dict[str, list[Script]]) -> None:
        self._saved: dict[int, tuple[bytes, int]] = {}
        self._emitted: dict[int, int] = {}  # first emissions of all dead workers
        self._last: dict[int, bytes | None] = {}
        self._unsent: dict[int, int] = {}  # rows that a list spout gave and its dead worker had not emitted yet
        self._scripts: dict[int, Script] = {}
        for component, of in scripts.items():
            self._scripts |= dict(zip(blueprint.components[component].tasks, of, strict=True))

    def note(self, worker: Worker) -> None:
        """After a step of the worker."""
        for task, spout in worker.residents.spouts.items():
            position, covered, _ = spout.kept()
            if position is not None:
                self._saved[task] = (position, self._emitted.get(task, 0) + covered)

    def owe(self, dead: Worker) -> None:
        """The worker died: remember how far its spouts had come."""
        for task, spout in dead.residents.spouts.items():
            self._emitted[task] = self._emitted.get(task, 0) + spout.emitted_first() - spout.collector.count
            self._last[task] = spout.last_emitted()
            self._unsent[task] = spout.collector.count

    def now(self) -> Positions:
        """By spout task: where to go on. A list spout goes on by its script."""
        starts = {task: SpoutStart(None, max(0, script.debt - self._unsent.get(task, 0))) for task, script in self._scripts.items()}
        for task in {*self._emitted, *self._saved} - starts.keys():
            position, covered = self._saved.get(task, (None, 0))
            debt = max(0, self._emitted.get(task, 0) - covered)
            starts[task] = SpoutStart.unpickled(position, debt, self._last.get(task))
        return starts
