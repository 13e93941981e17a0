"""This master among the others: it is registered as long as it lives, stands for election, and says whether it leads."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress

from pasps.cluster.master import records
from pasps.cluster.master.records import Member
from pasps.cluster.store.contract import Candidacy, Registration, Store, StoreUnavailableError
from pasps.cluster.store.layout import ELECTION, LEADER
from pasps.cluster.store.submission import decoded
from pasps.errors import InvalidError
from pasps.topology.process_identity import started
from pasps.topology.run_record import host

_log = logging.getLogger(__name__)

RETRY_SECONDS = 0.5
JOIN_SECONDS = 12.0
"""So long the registration of a master that died on another host may be there still."""


class Leadership:
    """Begins with `join`. `leads` is true between being elected and being deposed; whoever acts asks before each step.

    `/masters/leader` follows `leads` with some delay: it is for other masters to read, never for deciding who leads.
    """

    def __init__(self, store: Store, name: str, me: Member) -> None:
        self.leads = False
        self.me = me
        self._store, self._name = store, name
        self._changed: Callable[[], None] = _nobody
        self._news = asyncio.Event()
        self._presence: Registration | None = None
        self._candidacy: Candidacy | None = None
        self._keeper: asyncio.Task[None] | None = None

    async def join(self, changed: Callable[[], None], seconds: float = JOIN_SECONDS) -> None:
        """Register, make sure that these masters fit together, then stand for election. `changed` is called after each change.

        Raises:
            InvalidError: several masters, and packages that only one of them can read, or tokens that only one of them knows.
            StoreUnavailableError: the store cannot be reached.
        """
        self._changed = changed
        # first: of two that join at once, at least one sees the other
        self._presence = await self._store.register(records.member(self._name), records.encoded(self.me))
        await self._wait_until_fits(seconds)
        self._keeper = asyncio.create_task(self._keep_leader_entry())
        self._candidacy = await self._store.candidate(ELECTION, self._name, self._elected, self._deposed)

    async def wait_settled(self, seconds: float) -> None:
        """Until this master leads or knows who does, but not longer."""
        news = asyncio.Event()
        watch = self._store.watch(LEADER, news.set)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not await self._knows_leader():
                    await news.wait()
                    news.clear()
        watch.cancel()

    async def _knows_leader(self) -> bool:
        try:
            return await self.leader() is not None
        except StoreUnavailableError:
            return False

    async def members(self) -> dict[str, Member]:
        """All masters that are registered, by their names; this one too."""
        names = await self._store.children(records.MEMBERS)
        entries = await asyncio.gather(*(self._store.read(records.member(name)) for name in names))
        return {name: decoded(entry.value, Member, records.member(name)) for name, entry in zip(names, entries, strict=True) if entry}

    async def leader(self) -> Member | None:
        """Who leads, as far as it is known; a moment after a change it may be nobody, or the last one."""
        if self.leads:
            return self.me
        entry = await self._store.read(LEADER)
        return None if entry is None else decoded(entry.value, Member, LEADER)

    async def close(self) -> None:
        """Step down, and be no member any more; also when it could not join."""
        # first: nothing more is done as a leader while it withdraws
        self.leads = False
        self._changed = _nobody
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.gather(self._keeper, return_exceptions=True)
        for kept in (self._candidacy, self._presence):
            if kept is not None:
                await self._withdraw(kept)

    def _elected(self) -> None:
        _log.info("this master leads")
        self._set(True)

    def _deposed(self) -> None:
        _log.warning("this master leads no more")
        self._set(False)

    def _set(self, leads: bool) -> None:
        self.leads = leads
        self._news.set()
        self._changed()

    async def _keep_leader_entry(self) -> None:
        entry: Registration | None = None
        try:
            while True:
                await self._news.wait()
                # before `leads` is read: what changes during the calls below is seen in the next round
                self._news.clear()
                if not self.leads and entry is not None:
                    await self._withdraw(entry)
                    entry = None
                elif self.leads and entry is None:
                    entry = await self._register_leader()
        finally:
            if entry is not None:
                await self._withdraw(entry)

    async def _register_leader(self) -> Registration | None:
        try:
            return await self._store.register(LEADER, records.encoded(self.me))
        except StoreUnavailableError as error:
            _log.debug("the leader's entry cannot be made now: %s", error)
            await asyncio.sleep(RETRY_SECONDS)
            self._news.set()
            return None

    async def _withdraw(self, kept: Registration | Candidacy) -> None:
        try:
            await kept.withdraw()
        except StoreUnavailableError as error:
            _log.debug("the store cannot be told now: %s", error)

    async def _wait_until_fits(self, seconds: float) -> None:
        """Those that died on other hosts are waited for: their registrations go with their sessions."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while True:
            others = [member for name, member in (await self.members()).items() if name != self._name]
            problem = misfit(self.me, [member for member in others if not _is_over(member)])
            if not problem:
                return
            if loop.time() >= end or any(member.host == host() for member in others):
                raise InvalidError(problem)
            await asyncio.sleep(RETRY_SECONDS)


def _nobody() -> None:
    """Nobody is told."""


def misfit(me: Member, others: Sequence[Member]) -> str:
    """Why these masters cannot be one cluster; empty when they can."""
    for one in (me, *others) if others else ():
        whose = "this master" if one is me else f"the master at {one.url}"
        with_whom = f"there is another at {others[0].url}" if one is me else "this one would be another"
        if not one.packages:
            return (
                f"{whose} keeps packages where only it can read them, and {with_whom}: several masters need --packages LOCATION each, "
                "a path that all nodes share, gs://BUCKET/PATH or hdfs://HOST/PATH"
            )
        if not one.shares_token:
            return f"{whose} made its own token, and {with_whom}: start all masters with the same PASPS_TOKEN"
    return ""


def _is_over(member: Member) -> bool:
    """Whether its process, on this host, is gone and only its registration is left."""
    return member.host == host() and bool(member.process) and started(member.pid) != member.process
