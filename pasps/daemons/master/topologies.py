"""What users ask of topologies that were submitted: to see them, to pass a verb on, to rebalance, to kill.

What changes an intent is written into the store before anything acts on it, so it happens even when this master dies in between.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pasps.clock import Clock, Deadline
from pasps.cluster import layout
from pasps.cluster.store import ConflictError, Store, StoreUnavailableError
from pasps.cluster.submission import Desired, desired_of, encoded, submission_of
from pasps.cluster.tokens import driver_token
from pasps.daemons.master import records
from pasps.daemons.master.driver_client import HELLO, Door, call
from pasps.daemons.master.endings import Endings
from pasps.daemons.master.failures import DriverUnreachableError, NotLeadingError, UnknownTopologyError
from pasps.daemons.master.found import Found, find
from pasps.daemons.master.locks import Locks
from pasps.daemons.master.names import is_name
from pasps.daemons.master.reconciler import Reconciler
from pasps.daemons.master.views import TopologyView, state_of, view
from pasps.errors import BusyError, InvalidError, PaspsError, TimeoutExpiredError

_log = logging.getLogger(__name__)

VERB_SECONDS = {"scale": 125.0}
OTHER_SECONDS = 35.0
DRAIN_SECONDS = 30.0
"""How long a driver drains when nobody says how long."""
KILL_GRACE_SECONDS = 30.0
_LOOK_SECONDS = 0.5
_TRIES = 8


@dataclass(frozen=True, slots=True)
class Rebalance:
    """What a restart is to change. `workers` None: as before; `pools` are added to those before; `wait` bounds the draining."""

    workers: int | None = None
    pools: Mapping[str, int] | None = None
    wait: float | None = None


class Topologies:
    """For the leader."""

    def __init__(
        self,
        store: Store,
        reconciler: Reconciler,
        endings: Endings,
        locks: Locks,
        token: str,
        clock: Clock,
    ) -> None:
        self._store, self._reconciler, self._endings = store, reconciler, endings
        self._locks, self._token, self._clock, self._leads = locks, token, clock, endings.leads

    async def all(self) -> list[TopologyView]:
        """Those that are there, by name."""
        found = await asyncio.gather(*(find(self._store, name) for name in await self._store.children(layout.TOPOLOGIES)))
        return [self._view(one) for one in found if one is not None and _is_there(one)]

    async def one(self, name: str) -> TopologyView:
        """That one.

        Raises:
            UnknownTopologyError: there is none.
        """
        return self._view(await self._find(name))

    async def verb(self, name: str, verb: str, arguments: Mapping[str, Any]) -> Any:
        """Pass a verb on to the topology's driver.

        Raises:
            UnknownTopologyError: there is no such topology.
            DriverUnreachableError: its driver cannot be asked now; what was intended is kept where the verb has an intent.
            PaspsError: what the driver answered.
        """
        if verb == HELLO:
            raise InvalidError(f"there is no verb {HELLO!r}")
        found = await self._find(name)
        if verb == "kill":
            return await self.kill(found, arguments)
        if verb in ("activate", "deactivate"):
            state = "active" if verb == "activate" else "inactive"
            await self._intend(name, lambda desired: replace(_not_killed(name, desired), state=state))
        return await self._pass(found, verb, arguments, VERB_SECONDS.get(verb, OTHER_SECONDS))

    async def kill(self, found: Found, arguments: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Have it drained and ended, and wait until it is over; the summary, None when its driver could not write one.

        Raises:
            TimeoutExpiredError: it is still draining; it ends all the same.
        """
        wait = _seconds(arguments)
        await self._intend(found.name, lambda desired: replace(desired, state="killed", wait=wait))
        deadline = Deadline(self._clock, (DRAIN_SECONDS if wait is None else wait) + KILL_GRACE_SECONDS)
        try:
            told = await self._pass(found, "kill", {"wait": wait}, deadline.remaining() or 0.0)
        except PaspsError as error:
            # the driver reads the intent too; what counts is that it ends
            _log.debug("topology %s: kill was not passed on: %s", found.name, error)
            told = None
        submitted = found.submission.submitted if found.submission else 0.0
        await self._wait_gone(found.name, submitted, deadline)
        return told if told is not None else await self._endings.summary_of(found.name, submitted)

    async def rebalance(self, name: str, wanted: Rebalance) -> None:
        """Keep what a restart is to change, then that one is wanted; the driver drains and ends, and the next one starts with it.

        Raises:
            InvalidError: a bolt that the topology does not have; nothing was changed.
        """
        found = await self._find(name)
        _not_killed(name, found.wanted)
        pools = dict(wanted.pools or {})
        await self._check_pools(name, pools)
        async with self._locks.of(name):
            await self._change(layout.topology(name), lambda value: _rebalanced(value, name, wanted.workers, pools))
        await self._intend(name, lambda desired: replace(_not_killed(name, desired), wait=wanted.wait, restart=desired.restart + 1))

    async def _find(self, name: str) -> Found:
        found = await find(self._store, name) if is_name(name) else None
        if found is None or not _is_there(found):
            raise UnknownTopologyError(name)
        return found

    def _view(self, found: Found) -> TopologyView:
        return view(found, *self._reconciler.standing(found.name))

    async def _pass(self, found: Found, verb: str, arguments: Mapping[str, Any], seconds: float) -> Any:
        record = found.newest_record
        try:
            if record is None or record.address is None:
                raise DriverUnreachableError("it has not said yet where it listens")
            door = Door(found.name, record.address, driver_token(self._token, found.name))
            return await call(door, verb, arguments, seconds)
        except DriverUnreachableError as error:
            state, detail = state_of(found, *self._reconciler.standing(found.name))
            about = f"{state} ({detail})" if detail else state
            raise DriverUnreachableError(f"the driver of topology {found.name!r} cannot be asked now: {error}; it is {about}") from error

    async def _intend(self, name: str, change: Callable[[Desired], Desired]) -> None:
        found = await self._find(name)
        path = layout.desired(name)

        def changed(value: bytes | None) -> bytes:
            try:
                desired = found.wanted if value is None else desired_of(value, path)
            except InvalidError as error:
                _log.warning("replaced, as it cannot be read: %s", error)
                desired = found.wanted
            return encoded(change(desired))

        async with self._locks.of(name):
            if await self._store.read(layout.topology(name)) is None:
                raise UnknownTopologyError(name)
            await self._change(path, changed)
        self._reconciler.wake()

    async def _change(self, path: str, change: Callable[[bytes | None], bytes]) -> None:
        """Read and write again until nobody else wrote in between."""
        for _ in range(_TRIES):
            if not self._leads():
                raise NotLeadingError("this master leads no more; ask again")
            entry = await self._store.read(path)
            value = change(None if entry is None else entry.value)
            write: Awaitable[Any] = self._store.create(path, value) if entry is None else self._store.write(path, value, entry.version)
            try:
                await write
            except (BusyError, ConflictError):
                continue
            return
        raise BusyError(f"store: {path} is changed by others all the time; ask again")

    async def _check_pools(self, name: str, pools: Mapping[str, int]) -> None:
        entry = await self._store.read(records.components(name))
        if entry is None or not pools:
            return
        known = records.decoded(entry.value, dict[str, dict[str, Any]], records.components(name))
        bolts = [component for component, plan in known.items() if plan.get("shape") != "spout"]
        for bolt, count in pools.items():
            if bolt not in bolts:
                raise InvalidError(f"there is no bolt {bolt!r} in topology {name!r}; it has {', '.join(bolts)}")
            if count < 1:
                raise InvalidError(f"{bolt}={count}: expected a pool of at least 1")

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
            return entry is None or (bool(entry.value) and submission_of(entry.value, name).submitted != submitted)
        except StoreUnavailableError:
            return False
        except InvalidError:
            return submitted != 0.0


def _is_there(found: Found) -> bool:
    """Whether it is a topology, and not what is left of one."""
    return found.submission is not None or bool(found.problem)


def _not_killed(name: str, desired: Desired) -> Desired:
    if desired.state == "killed":
        raise BusyError(f"topology {name!r} is being killed")
    return desired


def _rebalanced(value: bytes | None, name: str, workers: int | None, pools: Mapping[str, int]) -> bytes:
    if not value:
        raise UnknownTopologyError(name)
    submission = submission_of(value, layout.topology(name))
    return encoded(
        replace(
            submission,
            workers=submission.workers if workers is None else workers,
            pools={**submission.pools, **pools},
        )
    )


def _seconds(arguments: Mapping[str, Any]) -> float | None:
    wait = arguments.get("wait")
    if set(arguments) - {"wait"} or not (wait is None or (isinstance(wait, int | float) and not isinstance(wait, bool) and wait >= 0)):
        raise InvalidError(f"verb 'kill': expected {{\"wait\": seconds or null}}, got {dict(arguments)!r:.100}")
    return None if wait is None else float(wait)
