"""A topology of a cluster, as the commands see it."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from pasps.cli.control_client import ANSWER_SECONDS, EndedMeanwhileError
from pasps.cli.exit_codes import NotRunningError
from pasps.cli.find_run import moment
from pasps.cli.http_exchange import LostError
from pasps.cli.master_client import MasterClient
from pasps.cli.topology_view import TopologyView
from pasps.errors import BrokenError, BusyError, PaspsError

_IN_ANY_STATE = ("activate", "deactivate", "kill")
"""What the masters keep as an intent, also of a topology that does not run yet."""


class ClusterTopology:
    """See `AskedTopology`. A driver that died is started again, so most errors pass."""

    passing: tuple[type[PaspsError], ...] = (BrokenError, BusyError)

    def __init__(self, client: MasterClient, view: TopologyView) -> None:
        self.client = client
        self.known = view
        self.name = view.name
        self.place = f"{client.url}/v1/topologies/{view.name}"
        self._was_asked = False

    def call(self, verb: str, arguments: Mapping[str, Any] | None = None, seconds: float | None = ANSWER_SECONDS) -> Any:
        """See `AskedTopology`."""
        if not self._was_asked and verb not in _IN_ANY_STATE:
            self._check_it_can_answer()
        self._was_asked = True
        try:
            return self.client.call(self.name, verb, arguments, seconds)
        except NotRunningError as gone:
            raise EndedMeanwhileError(f"topology {self.name!r} has just ended: {gone}") from gone
        except LostError as lost:
            if verb != "kill":
                raise
            # the intent is kept before anything else is done
            raise LostError(f"{lost}; it was most likely told to end, and `pasps list` shows when it is gone") from lost

    def wait_until_over(self) -> None:
        """See `AskedTopology`: a master answers when it is."""

    def how_it_ended(self) -> str:
        """See `AskedTopology`."""
        try:
            ended = [view for view in self.client.ended() if view.name == self.name]
        except PaspsError as error:
            return f"it ended; more is not known: {error}"
        if not ended or ended[-1].ended is None:
            return "it ended"
        return f"it ended at {moment(ended[-1].ended)}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        pass

    def _check_it_can_answer(self) -> None:
        """What does not run yet, or not any more, is said with its reason."""
        state, detail = self.known.state, self.known.detail or "no reason is known"
        if state == "waiting":
            raise BusyError(f"topology {self.name!r} waits in the cluster: {detail}; `pasps list` shows what runs there")
        if state == "failed":
            raise BrokenError(f"topology {self.name!r} could not start: {detail}; remove it with `pasps kill {self.name}`")
        if state == "lost":
            raise BusyError(f"topology {self.name!r} has no driver now: {detail}; try again in a moment")
        if state == "starting":
            raise BusyError(f"topology {self.name!r} is still starting in the cluster; try again in a moment")
        if state == "ended":
            raise NotRunningError(f"topology {self.name!r} does not run any more; {self.how_it_ended()}")
