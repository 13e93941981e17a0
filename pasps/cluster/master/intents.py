"""What users want of a topology, in the store: read, and changed without losing what others change meanwhile."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from pasps.cluster.master.failures import NotLeadingError, UnknownTopologyError
from pasps.cluster.master.found import Found, find, with_restart
from pasps.cluster.master.locks import Locks
from pasps.cluster.master.names import is_name
from pasps.cluster.store import layout
from pasps.cluster.store.contract import ConflictError, Store
from pasps.cluster.store.submission import Desired, Submission, desired_of, encoded, signed, signed_submission
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
            raise UnknownTopologyError(name)
        return found

    async def change(self, name: str, change: Callable[[Desired], Desired]) -> None:
        """Change what is wanted of it; read and written again until nobody else wrote in between.

        Raises:
            UnknownTopologyError: there is no such topology.
            NotLeadingError: this master leads no more.
            BusyError: others change it all the time, or what `change` raises.
        """
        found = await self.find(name)
        path = layout.desired(name)

        def changed(value: bytes | None) -> bytes:
            try:
                desired = found.wanted if value is None else with_restart(desired_of(value, path), found.submission)
            except InvalidError as error:
                _log.warning("replaced, as it cannot be read: %s", error)
                desired = found.wanted
            return encoded(change(desired))

        async with self._locks.of(name):
            if await self._store.read(layout.topology(name)) is None:
                raise UnknownTopologyError(name)
            await self._write(path, changed)
        self._wake()

    async def restart_with(self, name: str, change: Callable[[Submission], Submission]) -> Submission:
        """What would be submitted for its next restart; nothing is written. Raises as `restart`."""
        return (await self._next(name, change))[0]

    async def restart(self, name: str, change: Callable[[Submission], Submission], checked: Submission) -> bool:
        """Write `checked`, and with it that a restart is wanted; False when it is not any more what `change` makes.

        One write is the whole intent: the submission itself has the number of the restart that it was changed for. A crash before it
        leaves nothing, and one after it leaves all: whoever leads copies the restart into `desired`, which the driver follows. Two
        writes could not do so: after the first alone, a driver that is lost and started again would come up with what nobody was
        ever told had been taken, or restart without the change.

        Raises:
            UnknownTopologyError: there is no such topology.
            NotLeadingError: this master leads no more.
            BusyError: it is being killed.
        """
        async with self._locks.of(name):
            now, version = await self._next(name, change)
            if now != checked:
                return False
            if not self._leads():
                raise _leads_no_more()
            try:
                await self._store.write(layout.topology(name), signed(checked, submission_key(self._signing, name)), version)
            except ConflictError:
                return False
        self._wake()
        return True

    async def _next(self, name: str, change: Callable[[Submission], Submission]) -> tuple[Submission, int]:
        not_killed(name, (found := await self.find(name)).wanted)
        entry = await self._store.read(layout.topology(name))
        if entry is None or not entry.value:
            raise UnknownTopologyError(name)
        submission = signed_submission(entry.value, layout.topology(name), submission_key(self._signing, name))
        restart = max(found.wanted.restart, submission.restart) + 1
        return replace(change(submission), restart=restart), entry.version

    async def _write(self, path: str, change: Callable[[bytes | None], bytes]) -> None:
        for _ in range(TRIES):
            if not self._leads():
                raise _leads_no_more()
            entry = await self._store.read(path)
            value = change(None if entry is None else entry.value)
            write: Awaitable[Any] = self._store.create(path, value) if entry is None else self._store.write(path, value, entry.version)
            try:
                await write
            except (BusyError, ConflictError):
                continue
            return
        raise BusyError(f"store: {path} is changed by others all the time; ask again")


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


def _leads_no_more() -> NotLeadingError:
    return NotLeadingError("this master leads no more; ask again")
