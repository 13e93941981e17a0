"""How a run ended, and what the shell is told of it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pasps.cli import exit_codes
from pasps.cli.views.frame import Frame
from pasps.control.decision_log import Restarts
from pasps.topology.controller import ErrorReport
from pasps.topology.summary import Reason


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a run. `left` says what was not done, by component; `signal` is the one that ended it without draining.

    `restarts` are those of all workers, for plans; who was ended for one is not among `workers_lost`.
    """

    topology: str
    ended: Reason
    frame: Frame
    errors: Sequence[ErrorReport]
    left: Mapping[str, int]
    workers_lost: int = 0
    signal: int | None = None
    run_dir: str = ""
    restarts: Restarts = field(default_factory=Restarts)

    @property
    def unreplayed(self) -> int:
        """Failed emissions that were not emitted again."""
        return max(0, self.frame.failed - self.frame.replayed)

    @property
    def perhaps_lost(self) -> bool:
        """Whether a worker died while nothing was tracked: nobody can know what was lost with it."""
        return self.workers_lost > 0 and not self.frame.tracked and self.frame.emitted > 0

    @property
    def exit_code(self) -> int:
        """See `exit_codes`."""
        if self.signal is not None:
            return exit_codes.BY_SIGNAL + self.signal
        if self.left:
            return exit_codes.LEFT_OVER
        if self.unreplayed or self.perhaps_lost or self.restarts.lost or self.frame.errors or self.frame.troubles:
            return exit_codes.FAILED
        return exit_codes.OK
