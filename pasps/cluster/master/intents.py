"""What users want of a topology, in the store: read, and changed without losing what others change meanwhile."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from pasps.cluster.master.failures import NotLeadingError, unknown_topology
from pasps.cluster.master.found import Found, find
from pasps.cluster.master.locks import Locks
from pasps.cluster.master.names import is_name
from pasps.cluster.store import layout
from pasps.cluster.store.contract import ConflictError, Store
from pasps.cluster.store.submission import Desired, Submission, desired_of, kept, signed_submission, with_desired
from pasps.cluster.store.tokens import submission_key
from pasps.errors import BusyError, InvalidError

_log = logging.getLogger(__name__)

TRIES = 8


class Intents:
    """For the leader. `wake` tells whoever acts on them."""

    def __init__(self, store: Store, locks: Locks, signing: str, leads: Callable[[], bool], wake: Callable[[], None]) -> None:
        self._store, self._locks, self._signing, self._leads, self._wake = store, locks, signing, leads, wake

    async def find(self, name: str) -> Found:
        """That topology.

        Raises:
            UnknownTopologyError: there is none.
        """
        found = await find(self._store, name, self._signing) if is_name(name) else None
        if found is None or not is_there(found):
            raise unknown_topology(name)
        return found

    async def change(self, name: str, change: Callable[[Desired], Desired]) -> None:
        """Change what is wanted of it; read and written again until nobody else wrote in between.

        Raises:
            UnknownTopologyError: there is no such topology.
            NotLeadingError: this master leads no more.
            BusyError: others change it all the time, or what `change` raises.
        """
        found = await self.find(name)
        async with self._locks.of(name):
            for _ in range(TRIES):
                value, version = await self._entry(name)
                try:
                    desired = desired_of(value, layout.topology(name))
                except InvalidError as error:
                    _log.warning("replaced, as it cannot be read: %s", error)
                    # no driver takes a restart for one that it has had
                    desired = Desired(restart=max(found.launch.restart if found.launch else 0, found.record.restart if found.record else 0))
                if await self._write(name, with_desired(value, change(desired)), version):
                    return
        raise BusyError(f"store: {layout.topology(name)} is changed by others all the time; ask again")

    async def restart_with(self, name: str, change: Callable[[Submission], Submission]) -> Submission:
        """What would be submitted for its next restart; nothing is written. Raises as `restart`."""
        return (await self._next(name, change))[0]

    async def restart(self, name: str, change: Callable[[Submission], Submission], checked: Submission, wait: float | None = None) -> bool:
        """Write `checked`, and that a restart is wanted, before which it is drained for at most `wait` seconds; False when `checked` is
        not any more what `change` makes.

        One write is the whole intent: a crash before it leaves nothing, and one after it leaves all.

        Raises:
            UnknownTopologyError: there is no such topology.
            NotLeadingError: this master leads no more.
            BusyError: it is being killed.
        """
        async with self._locks.of(name):
            now, desired, version = await self._next(name, change)
            if now != checked:
                return False
            wanted = replace(desired, restart=desired.restart + 1, wait=wait)
            return await self._write(name, kept(checked, wanted, submission_key(self._signing, name)), version)

    async def _next(self, name: str, change: Callable[[Submission], Submission]) -> tuple[Submission, Desired, int]:
        value, version = await self._entry(name)
        desired = not_killed(name, desired_of(value, layout.topology(name)))
        submission = signed_submission(value, layout.topology(name), submission_key(self._signing, name))
        if submission is None:
            raise unknown_topology(name)
        return change(submission), desired, version

    async def _entry(self, name: str) -> tuple[bytes, int]:
        entry = await self._store.read(layout.topology(name)) if is_name(name) else None
        if entry is None or not entry.value:
            raise unknown_topology(name)
        return entry.value, entry.version

    async def _write(self, name: str, value: bytes, version: int) -> bool:
        """Whether nobody else wrote since that version."""
        if not self._leads():
            raise NotLeadingError("this master leads no more; ask again")
        try:
            await self._store.write(layout.topology(name), value, version)
        except ConflictError:
            return False
        self._wake()
        return True


def is_there(found: Found) -> bool:
    """Whether it is a topology, and not what is left of one."""
    return found.submission is not None or bool(found.problem)


def not_killed(name: str, desired: Desired) -> Desired:
    """The intent itself.

    Raises:
        BusyError: it is that the topology ends.
    """
    if desired.state == "killed":
        raise BusyError(f"topology {name!r} is being killed")
    return desired
