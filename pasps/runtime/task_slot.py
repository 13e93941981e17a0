"""One task in this worker: its instance, and the door that batches for it come in by."""

from __future__ import annotations

from typing import Any, Protocol

from pasps.runtime.batch import Batch


class Host(Protocol):
    """The executor that runs a task."""

    def receive(self, batch: Batch) -> None:
        """Queue the batch and run soon."""


class TaskSlot:
    """Batches go to the executor that hosts the task, or are held while the task is on its way here.

    `open` counts tuples that were taken from an inbox and not yet acked or failed. `finished` says that the instance's `finish`
    has been called, or that there is no need to, and that nothing came for it since.
    """

    __slots__ = ("collector", "component", "finished", "held", "host", "instance", "open", "running", "task", "task_id")

    def __init__(self, component: str, task: int, task_id: int, host: Host) -> None:
        self.component = component
        self.task = task
        self.task_id = task_id
        self.host = host
        self.instance: Any = None
        self.collector: Any = None
        self.held: list[Batch] | None = None
        self.open = 0
        self.running = 0  # calls of its instance under way on a thread or awaited
        self.finished = False

    def accept(self, batch: Batch, weight: int = 0) -> None:
        """Take a batch: from a sender in this worker, or from a connection. Whatever it weighs, it comes by reference."""
        self.finished = False
        if self.held is None:
            self.host.receive(batch)
        else:
            self.held.append(batch)

    def hold(self) -> None:
        """From now on keep what arrives."""
        if self.held is None:
            self.held = []

    def release(self) -> None:
        """Hand over what was held, in order, and hold no more; a task that has no instance yet goes on holding."""
        if self.instance is None:
            return
        held, self.held = self.held, None
        if held:  # an instance that came meanwhile has not seen it
            self.finished = False
        for batch in held or ():
            self.host.receive(batch)
