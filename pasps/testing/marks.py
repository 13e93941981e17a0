"""What may stand in the list of a list spout beside rows: faults and pauses as data, and rows for other streams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pasps.errors import Interrupt


@dataclass(frozen=True, slots=True)
class _Mark:
    name: str

    def __repr__(self) -> str:
        return self.name


EOF = _Mark("EOF")
"""The spout raises EndOfInput here. What stands behind it is read only by the spout's next life, after its worker died."""

ABORT = _Mark("ABORT")
"""The spout's worker dies here, in the middle of `next_tuple`, with everything in it; it is restarted after the repair.

Of what was emitted before it, what is tracked and not yet acked is emitted again; what is not tracked may be lost.
"""


@dataclass(frozen=True, slots=True)
class PAUSE:
    """The spout wants to be asked again only after `seconds` of the fake clock."""

    seconds: float


@dataclass(frozen=True, slots=True)
class OnStream:
    """A row for another stream than "default"; on a direct one for the task whose id is `direct_task`."""

    stream: str
    values: Sequence[Any]
    direct_task: int | None = None


class WorkerDies(Interrupt):
    """Raised out of `next_tuple` at ABORT, through the step of the worker, to the run that owns the worker.

    No `Exception`: nothing in the runtime may catch it.
    """


Item = Sequence[Any] | OnStream | PAUSE | _Mark
"""One element of a list spout's list: a row, or one of the above."""
