"""How a topology of a cluster is, as its driver says it: in the store for masters, in the run directory, and to its verbs."""

from __future__ import annotations

import os
import socket
from contextlib import suppress

from pasps.clock import Clock
from pasps.cluster.driver.latest import Latest
from pasps.cluster.driver.options import DriverOptions
from pasps.cluster.store.submission import DriverRecord, encoded
from pasps.errors import BrokenError
from pasps.topology.run_directory import RunDirectory
from pasps.topology.run_record import RunState


class StoreStanding:
    """`address` is the control port, once there is one; `restart` how many restarts had been asked for when it began,
    `policy` who decides on replicas, once that is known.

    Once it is `replaced` nothing more is said: the entry is another driver's.
    """

    def __init__(self, entry: Latest, options: DriverOptions, clock: Clock) -> None:
        self.address: tuple[str, int] | None = None
        self.restart = 0
        self.policy = ""
        self.replaced = False
        self.directory: RunDirectory | None = None
        self._entry, self._options, self._clock = entry, options, clock
        self._detail = ""

    @property
    def state(self) -> RunState:
        """See `topology_verbs.Standing`."""
        return RunState.STARTING if self.directory is None else self.directory.state

    def enter(self, state: RunState) -> None:
        """See `topology_verbs.Standing`."""
        if self.directory is not None:
            self.directory.enter(state)
        self.say(str(self.state), self._detail)

    def note(self, detail: str) -> None:
        """What else is to be known of it, in any state, until it is another thing or nothing any more."""
        self._detail = detail
        if self.directory is not None:
            self.directory.note(detail)
        self.say(str(self.state), detail)

    def say(self, state: str, detail: str = "") -> None:
        """Let masters see it."""
        if self.replaced:
            return
        options = self._options
        self._entry.put(
            encoded(
                DriverRecord(
                    options.epoch,
                    socket.gethostname(),
                    os.getpid(),
                    self.address,
                    state,
                    detail,
                    self._clock.wall(),
                    self.restart,
                    self.policy,
                )
            )
        )

    async def last(self, state: str, detail: str, seconds: float) -> None:
        """The last word; waits until it is written, for so long at most."""
        self.say(state, detail)
        with suppress(BrokenError):  # whoever made the entry was told that nobody writes it any more
            await self._entry.flush(seconds)

    async def close(self) -> None:
        """Say no more."""
        await self._entry.close()
