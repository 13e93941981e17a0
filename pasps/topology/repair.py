"""What happens when a worker or a connection is lost. Not policy: it keeps every bolt's number of active replicas."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any

from pasps.activation import ActivationTable, Routing, brought_home, with_worker
from pasps.control.publisher import TablePublisher
from pasps.errors import BrokenError, ComponentStartError, PaspsError, TimeoutExpiredError
from pasps.topology.census import Census
from pasps.topology.lives import Lives
from pasps.topology.worker_link import WorkerLink, brief
from pasps.topology.workforce import Workforce
from pasps.worker.messages import Awake, Fence, LinkLost, ToWorker

_log = logging.getLogger(__name__)

CONFIRM_SECONDS = 10.0
_CONNECT_PAUSE = 0.05
_RELINK_PAUSE = 0.2


class Repair:
    """1. The table without the lost worker is published. 2. When all confirmed it, everything pending is failed, and so replayed.
    3. The worker is started again, later each time that it dies in a minute. 4. It joins. 5. Replicas go home.
    """

    def __init__(
        self,
        home: Mapping[str, Routing],
        publisher: TablePublisher,
        workforce: Workforce,
        census: Census,
        broadcast: Callable[[ToWorker], None],
        keep: Callable[[Coroutine[Any, Any, None]], None],
        lives: Lives,
        tell: Callable[[str, str], None],
        lost: Callable[[str, str, bool], None],
    ) -> None:
        """`keep` runs a coroutine for as long as the topology runs; `tell` is given a worker and what is wrong with it, and `lost`
        one that died, of what, and whether that is to be told as an error."""
        self.awake = False
        self._home = home
        self._publisher = publisher
        self._workforce = workforce
        self._census = census
        self._broadcast = broadcast
        self._keep = keep
        self._lives = lives
        self._tell = tell
        self._lost = lost
        self._restarting: set[str] = set()
        self._dead: dict[str, WorkerLink] = {}
        self.joining = asyncio.Lock()
        """Held by whoever makes workers live: they come to each other in turns."""

    def gone(self, link: WorkerLink) -> None:
        """A worker died: what it ran goes elsewhere now, and it is started again."""
        _log.warning("worker %s (process %d) is gone; what it ran goes elsewhere", link.worker, link.pid)
        self._census.bury(link)  # first: the table carries where its spouts go on
        version = self._publisher.lose(link.worker)
        if version is not None:
            self._keep(self._fence(version))
        self._dead[link.worker] = link
        if link.worker not in self._restarting:
            self._restarting.add(link.worker)
            self._keep(self._restart(link.worker))

    def revive(self, worker: str, failure: PaspsError) -> None:
        """A worker did not come up when all were started anew: it is tried again, as one that was lost."""
        if worker not in self._restarting:  # else it died before it had joined, and that is known
            self._restarting.add(worker)
            self._keep(self._revive(worker, failure))

    async def _revive(self, worker: str, failure: PaspsError) -> None:
        self._workforce.dismiss(worker, brief(str(failure)))
        await self._restart(worker, failure)

    async def _fence(self, version: int) -> None:
        """Once nobody sends to what was lost any more, everything emitted before that is failed, so that it is replayed at once."""
        if await self._publisher.wait_confirmed(version, CONFIRM_SECONDS):
            self._broadcast(Fence())
        else:
            _log.error("table %d was not confirmed by all workers; pending tuples will time out instead", version)

    async def _restart(self, worker: str, failure: PaspsError | None = None) -> None:
        """Start a lost worker until it has joined; what dies on the way is this loop's business, not that of another.

        `failure`: why it did not come up before; None: it lived.
        """
        while True:
            await asyncio.sleep(await self._note_death(worker, failure))
            try:
                link = await self._workforce.launch(worker, lambda: self._publisher.table, lambda: self._census.positions)
                await self._join(link)
                break
            except PaspsError as error:
                failure = error
                self._workforce.dismiss(worker, brief(str(error)))
        # nothing is awaited since `_join` saw it alive: who dies from here on is started by another loop than this one
        self._restarting.discard(worker)
        link.send(Awake(self.awake))
        await self._bring_home()

    async def _note_death(self, worker: str, failure: PaspsError | None) -> float:
        """Say what ended a worker, or why it did not come back; how long to wait before the next try."""
        link = self._dead.pop(worker, None)
        # one that lives but cannot run what it was given was ended by us, and yet it is its own fault
        by_itself = isinstance(failure, ComponentStartError) or (link is not None and await link.by_itself())
        cause = brief(str(failure)) if link is None else await link.cause()
        lived = 0.0 if link is None else link.age()
        before = self._lives.crash_loop(worker)
        # who is killed again and again is killed faster than who has to fall silent first, and be waited for
        pause = self._lives.died(worker, cause, lived, by_itself=by_itself or (link is not None and link.fell_silent))
        if failure is not None:
            _log.error("worker %s did not come back: %s", worker, failure)
        else:
            _log.warning("worker %s died: %s", worker, cause)
        told = before is not None and before.cause == cause
        text = f"worker {worker} died: {cause}" if failure is None else str(failure)
        if link is not None:
            self._lost(worker, text, by_itself and not told)
        elif by_itself and not told:
            self._tell(worker, text)
        if told:
            return pause
        loop = self._lives.crash_loop(worker)
        if loop is not None:
            _log.error("%s", loop)
            self._tell(worker, str(loop))
        return pause

    async def _join(self, link: WorkerLink) -> None:
        """Connect a worker that was started again, and make it one of the living.

        One at a time, and to members only: two that come back together must not both dial the other.

        Raises:
            BrokenError: it could not be connected, or died before it was in a table.
        """
        async with self.joining:
            await self._connect_to_members(link)
            try:
                await self._publisher.change(lambda table: self._with(table, link), CONFIRM_SECONDS)
            except TimeoutExpiredError as error:
                _log.warning("worker %s is back, but %s", link.worker, error)
        if self._workforce.links.get(link.worker) is not link:
            raise BrokenError(f"worker {link.worker}: its process {link.pid} ended before it had joined")

    async def _connect_to_members(self, link: WorkerLink) -> None:
        for last in (False, False, True):
            try:
                await self._workforce.connect(link, self._publisher.table.workers)
                return
            except BrokenError:
                if last or self._workforce.links.get(link.worker) is not link:
                    raise
                await asyncio.sleep(_CONNECT_PAUSE)  # most often a peer has just died; its control connection says so by then

    def _with(self, table: ActivationTable, link: WorkerLink) -> ActivationTable | None:
        """The table with that worker, unless it is gone again: its loss was of no member, and nobody would take it out."""
        here = self._workforce.links.get(link.worker) is link
        return with_worker(table, link.worker, link.incarnation) if here else None

    async def _bring_home(self) -> None:
        """Give a worker that is back its replicas again."""
        for name in self._home:
            if name in self._census.spouts:
                continue
            try:
                await self._publisher.change(partial(brought_home, home=self._home, component=name), CONFIRM_SECONDS)
            except PaspsError as error:
                _log.warning("component %s stays where it is: %s", name, error)

    async def relink(self, worker: str, lost: LinkLost) -> None:
        """Two live workers lost their connection: connect them again, and fail what was under way."""
        await asyncio.sleep(_RELINK_PAUSE)  # most often the peer died, and its control connection says so by now
        links = self._workforce.links
        peer, link = links.get(lost.peer), links.get(worker)
        # both ends tell of it: the one with the larger name acts, or each would dial the other
        if peer is None or link is None or peer.incarnation != lost.incarnation or worker < lost.peer:
            return
        _log.warning("workers %s and %s lost their connection", worker, lost.peer)
        try:
            await self._workforce.connect(link, [lost.peer])
        except BrokenError:
            peer.kill(f"it could not be connected with worker {worker} again")
            return
        await self._fence(self._publisher.refresh())
