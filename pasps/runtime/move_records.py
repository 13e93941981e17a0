"""What a worker remembers of each keyed task that changes worker; see `task_moves` for the protocol."""

from __future__ import annotations

from dataclasses import dataclass, field

from pasps.runtime.batch import Batch
from pasps.runtime.executor import BoltExecutor
from pasps.runtime.task_slot import TaskSlot


@dataclass
class Departure:
    """A task that leaves. States: WAITING for marks -> QUIET, out of service -> PROBING -> SENT -> gone; KEPT when it cannot go.

    HELD instead of WAITING: it had not arrived here yet when it had to leave again.
    """

    version: int
    to: str
    slot: TaskSlot
    state: str = "WAITING"
    queue: list[Batch] = field(default_factory=list)
    has_instance: bool = True
    former: list[BoltExecutor] = field(default_factory=list)  # who may still have output of it to send
    probe: int = 0
    awaited: set[str] = field(default_factory=set)  # workers whose echo is missing


@dataclass
class Arrival:
    """A task that comes, or comes back. `before` is what was queued here already, older than what the handover brings.

    `handed` is what came of the handover before its last part.
    `spare`: instance and `before` were given away already; they count only if the worker that got them dies.
    """

    version: int
    source: str
    slot: TaskSlot
    executor: BoltExecutor
    before: list[Batch] = field(default_factory=list)
    has_instance: bool = False
    spare: bool = False
    handed: list[Batch] = field(default_factory=list)
