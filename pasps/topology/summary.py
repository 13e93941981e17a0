"""How a topology ended, for programs: what every summary has, whether of `pasps run` or in a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from pasps.control.decision_log import Restarts
from pasps.topology.controller import ErrorReport


class Reason(StrEnum):
    """Why a topology ended; that of a driver may be another, in words: it ends without its topology."""

    FINISHED = "finished"
    DURATION = "duration"
    INTERRUPTED = "interrupted"
    TERMINATED = "terminated"
    STOPPED = "stopped"
    """By `pasps kill` from elsewhere."""
    KILLED = "killed"
    RESTARTED = "restarted"
    """The next driver goes on."""


@dataclass(frozen=True, slots=True)
class Summary:
    """`ended` is why. `seconds`, and the counters, are of the time of its controller. `left` is what was not done, by component,
    `restarts` those of all workers, for plans; None: it never ran. `reports` are the last exceptions.
    """

    run_dir: str
    topology: str
    ended: str
    seconds: float
    emitted: int
    acked: int
    failed: int
    replayed: int
    left: Mapping[str, int]
    restarts: Restarts | None
    troubles: Sequence[str]
    reports: Sequence[ErrorReport]

    def as_json(self, more: Mapping[str, Any]) -> dict[str, Any]:
        """As programs read it, with what this kind of topology says beside it."""
        return {"type": "summary", **asdict(self), **more}
