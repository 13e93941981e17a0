"""A topology that a `pasps run` of this machine holds, as the commands see it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from pasps.cli.control_client import ANSWER_SECONDS, ControlClient
from pasps.cli.find_run import how_it_ended
from pasps.errors import InvalidError, PaspsError
from pasps.topology.run_list import KnownRun, run_in

_WAIT_SECONDS, _MOST_WAITS = 0.05, 100


class LocalTopology:
    """See `AskedTopology`."""

    passing: tuple[type[PaspsError], ...] = ()

    def __init__(self, run: KnownRun) -> None:
        self.known = run
        self.name = run.record.name
        self.place = str(run.directory)
        self._client = ControlClient(run)

    def call(self, verb: str, arguments: Mapping[str, Any] | None = None, seconds: float | None = ANSWER_SECONDS) -> Any:
        """See `AskedTopology`."""
        return self._client.call(verb, arguments, seconds)

    def wait_until_over(self) -> None:
        """See `AskedTopology`: the socket closes, and its process ends, a moment after it has answered."""
        pause = threading.Event()
        for _ in range(_MOST_WAITS):
            try:
                if run_in(self.known.directory).state.over:
                    return
            except InvalidError:
                return
            pause.wait(_WAIT_SECONDS)

    def how_it_ended(self) -> str:
        """See `AskedTopology`."""
        return how_it_ended(run_in(self.known.directory))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._client.close()
