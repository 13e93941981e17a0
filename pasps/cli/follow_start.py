"""What becomes of a topology that was just submitted: followed until it runs, has failed, or the time is over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pasps.cli import exit_codes
from pasps.cli.exit_codes import NotRunningError
from pasps.cli.http_exchange import LostError
from pasps.cli.master_client import MasterAwayError, MasterClient, TopologyView
from pasps.clock import Clock, Deadline
from pasps.errors import TimeoutExpiredError

_LOOK_SECONDS = 0.1
_UP = ("running", "inactive", "draining")


@dataclass(frozen=True, slots=True)
class Start:
    """How far it came: a state of the cluster, "submitted" when nobody looked, or "gone" when it is not there any more."""

    name: str
    state: str
    detail: str

    @property
    def exit_code(self) -> int:
        """See `exit_codes`."""
        if self.state == "failed":
            return exit_codes.NOT_STARTED
        return exit_codes.NO_ANSWER if self.state in ("starting", "lost") else exit_codes.OK

    def text(self, option: str) -> str:
        """For people, with where to watch; `option` goes behind the commands."""
        name = self.name
        watch = f"watch it with `pasps top {name}{option}`, see what it prints with `pasps logs {name} -f{option}`"
        if self.state in _UP:
            stopped = f", its spouts are stopped until `pasps activate {name}{option}`" if self.state == "inactive" else ""
            return f"{name} is {self.state}{stopped}; {watch}"
        if self.state == "waiting":
            cure = f"see `pasps list{option}`, or take it back with `pasps kill {name}{option}`"
            return f"{name} waits: {self.detail}\nit starts by itself; {cure}"
        if self.state == "failed":
            return f"{name} could not start: {self.detail or 'no reason is known'}\nremove it with `pasps kill {name}{option}`"
        if self.state in ("ended", "gone"):
            return f"{name} has ended already; see `pasps list --all{option}`"
        if self.state == "submitted":
            return watch
        return f"{name} is still {self.state}; it goes on; {watch}"


def follow_start(
    cluster: MasterClient,
    name: str,
    seconds: float,
    say: Callable[[str], None],
    pause: Callable[[float], object],
    clock: Clock,
) -> Start:
    """Look until it runs or will not, at most for so many seconds; says what changes meanwhile. A master may go away and come back.

    Raises:
        PaspsError: a master refuses to tell.
    """
    deadline, said = Deadline(clock, seconds), ""
    start = Start(name, "starting", "")
    while True:
        try:
            start = _of(cluster.topology(name))
            news = f"{start.state}: {start.detail}" if start.detail else start.state
        except NotRunningError:
            return Start(name, "gone", "")
        except (MasterAwayError, LostError, TimeoutExpiredError) as error:
            news = str(error)
        if start.state not in ("starting", "waiting", "lost"):
            return start
        if news != said:
            say(said := news)
        if deadline.expired():
            return start
        pause(_LOOK_SECONDS)


def _of(view: TopologyView) -> Start:
    return Start(view.name, view.state, view.detail or "")
