"""What users ask of topologies that were submitted: to see them, to pass a verb on, to kill.

What changes an intent is written into the store before anything acts on it, so it happens even when this master dies in between.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pasps.clock import Clock, Deadline
from pasps.cluster.master.driver_client import call, door_of
from pasps.cluster.master.endings import Endings
from pasps.cluster.master.failures import DriverUnreachableError, NotLeadingError
from pasps.cluster.master.found import Found, find
from pasps.cluster.master.intents import Intents, is_there, not_killed
from pasps.cluster.master.reconciler import Reconciler
from pasps.cluster.master.records import TopologyView
from pasps.cluster.master.views import state_of, view
from pasps.cluster.store import layout
from pasps.cluster.store.contract import Store, StoreUnavailableError
from pasps.cluster.store.submission import signed_submission
from pasps.cluster.store.tokens import submission_key
from pasps.errors import InvalidError, PaspsError, TimeoutExpiredError
from pasps.topology.run_record import DRAIN_SECONDS
from pasps.topology.verbs import HOP_SECONDS, KNOWN, Activate, Deactivate, Kill, Verb, arguments_of, made

_log = logging.getLogger(__name__)

KILL_GRACE_SECONDS = 30.0
_LOOK_SECONDS = 0.5


class Topologies:
    """For the leader."""

    def __init__(
        self,
        store: Store,
        reconciler: Reconciler,
        endings: Endings,
        intents: Intents,
        signing: str,
        clock: Clock,
    ) -> None:
        self._store, self._reconciler, self._endings = store, reconciler, endings
        self._intents, self._signing = intents, signing
        self._clock, self._leads = clock, endings.leads

    async def all(self) -> list[TopologyView]:
        """Those that are there, by name."""
        found = await asyncio.gather(*(find(self._store, name, self._signing) for name in await self._store.children(layout.TOPOLOGIES)))
        return [self._view(one) for one in found if one is not None and is_there(one)]

    async def one(self, name: str) -> TopologyView:
        """That one.

        Raises:
            UnknownTopologyError: there is none.
        """
        return self._view(await self._intents.find(name))

    async def verb(self, name: str, verb: str, arguments: Mapping[str, Any]) -> Any:
        """Pass a verb on to the topology's driver. What is wanted of its spouts is kept also while it has none.

        Raises:
            UnknownTopologyError: there is no such topology.
            DriverUnreachableError: its driver cannot be asked now.
            PaspsError: what the driver answered.
        """
        found, kind = await self._intents.find(name), KNOWN.get(verb, Verb)
        if kind is Kill:
            return await self.kill(found, made(Kill, arguments))
        seconds = (kind.seconds or 0.0) + HOP_SECONDS
        if kind in (Activate, Deactivate):
            state = "active" if kind is Activate else "inactive"
            await self._intents.change(name, lambda desired: replace(not_killed(name, desired), state=state))
            try:
                done = await self._pass(found, verb, arguments, seconds)
                if "wanted" not in done:
                    return done
            except DriverUnreachableError as error:
                _log.debug("topology %s: %s was not passed on: %s", name, verb, error)
            # it is kept, and done by whichever driver runs next
            return {"state": (await self.one(name)).state, "wanted": state}
        return await self._pass(found, verb, arguments, seconds)

    async def kill(self, found: Found, asked: Kill) -> Mapping[str, Any] | None:
        """Have it drained and ended, and wait until it is over; the summary, None when its driver could not write one.

        Raises:
            TimeoutExpiredError: it is still draining; it ends all the same.
        """
        wait = asked.wait
        await self._intents.change(found.name, lambda desired: replace(desired, state="killed", wait=wait))
        deadline = Deadline(self._clock, (DRAIN_SECONDS if wait is None else wait) + KILL_GRACE_SECONDS)
        try:
            told = await self._pass(found, asked.name, arguments_of(asked), deadline.remaining() or 0.0)
        except PaspsError as error:
            # the driver reads the intent too; what counts is that it ends
            _log.debug("topology %s: kill was not passed on: %s", found.name, error)
            told = None
        submitted = found.submission.submitted if found.submission else 0.0
        await self._wait_gone(found.name, submitted, deadline)
        return told if told is not None else await self._endings.summary_of(found.name, submitted)

    def _view(self, found: Found) -> TopologyView:
        return view(found, *self._reconciler.standing(found.name))

    async def _pass(self, found: Found, verb: str, arguments: Mapping[str, Any], seconds: float) -> Any:
        record = found.newest_record
        try:
            door = None if record is None else door_of(found.name, record, self._signing)
            if door is None:
                raise DriverUnreachableError("it has not said yet where it listens")
            return await call(door, verb, arguments, seconds)
        except DriverUnreachableError as error:
            state, detail = state_of(found, *self._reconciler.standing(found.name))
            about = f"{state} ({detail})" if detail else state
            raise DriverUnreachableError(f"the driver of topology {found.name!r} cannot be asked now: {error}; it is {about}") from error

    async def _wait_gone(self, name: str, submitted: float, deadline: Deadline) -> None:
        changed = asyncio.Event()
        watch = self._store.watch(layout.topology(name), changed.set)
        try:
            while not await self._is_gone(name, submitted):
                if deadline.expired():
                    raise TimeoutExpiredError(
                        f"topology {name!r} has not ended after {deadline.seconds:g} s; it was told to, `pasps list` shows when it is gone"
                    )
                if not self._leads():
                    raise NotLeadingError(f"this master leads no more; topology {name!r} was told to end, and the next leader sees to it")
                changed.clear()
                try:
                    async with asyncio.timeout(_LOOK_SECONDS):
                        await changed.wait()
                except TimeoutError:
                    pass
        finally:
            watch.cancel()

    async def _is_gone(self, name: str, submitted: float) -> bool:
        try:
            entry = await self._store.read(layout.topology(name))
            # what is left of it must be gone too: its name is free only then
            if entry is None:
                return True
            there = signed_submission(entry.value, name, submission_key(self._signing, name))
            return there is not None and there.submitted != submitted
        except StoreUnavailableError:
            return False
        except InvalidError:
            return submitted != 0.0
