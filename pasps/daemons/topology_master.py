"""The master of one topology on this machine: starts its workers, publishes tables, repairs, counts, drains.

Lives on one event loop. What it decides is in `control`; how workers are started is the launcher's business.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import cloudpickle

from pasps.activation import ActivationTable, Routing, brought_home, first_table, moves, with_active, with_worker
from pasps.api.blueprint import Blueprint
from pasps.assignment import Need, place
from pasps.cluster.launcher import Launcher
from pasps.control.publisher import TablePublisher
from pasps.control.statistics import left_over, stats_of
from pasps.daemons.messages import (
    Address,
    Applied,
    Awake,
    Close,
    Counts,
    Cut,
    Dial,
    Fence,
    Finished,
    FromWorker,
    LinkLost,
    Moved,
    MoveFailed,
    Parked,
    Problem,
    Start,
    Table,
    ToWorker,
)
from pasps.daemons.progress import Progress
from pasps.daemons.worker_link import WorkerLink
from pasps.errors import (
    BrokenError,
    ClosedError,
    DrainTimeoutError,
    InvalidError,
    PaspsError,
    TimeoutExpiredError,
    UnmovableError,
    WorkerStartError,
)
from pasps.metrics import Stats, WorkerCounts

_log = logging.getLogger(__name__)

CONFIRM_SECONDS = 10.0
START_SECONDS = 120.0
CUT_SECONDS = 2.0
CLOSE_SECONDS = 5.0
_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 5.0


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """One worker process."""

    id: str
    pid: int
    host: str
    port: int
    incarnation: int = 1


@dataclass(frozen=True, slots=True)
class ErrorReport:
    """An exception of user code: where, when (seconds since the epoch), and its traceback."""

    component: str
    task: int
    time: float
    text: str


class TopologyMaster:
    """States: STARTING -> RUNNING -> CLOSING -> CLOSED. A worker that is lost is repaired at once and started again."""

    def __init__(self, blueprint: Blueprint, workers: int, launcher: Launcher) -> None:
        self.blueprint = blueprint
        self.errors: deque[ErrorReport] = deque(maxlen=1000)
        self.state = "STARTING"
        self._pickled = cloudpickle.dumps(blueprint)
        self._launcher = launcher
        self._secret = secrets.token_bytes(32)
        self._ids = [f"w{index}" for index in range(workers)]
        needs = {n: Need(p.pool, p.par, p.keyed, p.pinned) for n, p in blueprint.components.items()}
        self._home: dict[str, Routing] = place(needs, self._ids)
        self.publisher = TablePublisher(first_table(self._home, dict.fromkeys(self._ids, 1)), self._send_table)
        self._links: dict[str, WorkerLink] = {}
        self._incarnations = dict.fromkeys(self._ids, 0)
        self._dead: list[WorkerCounts] = []
        self._progress = Progress()
        self._awake = False
        self._cut = 0
        self._cuts: dict[int, dict[str, WorkerCounts]] = {}
        self._news = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._burials: set[asyncio.Task[None]] = set()
        self._restarting: set[str] = set()
        self._joining = asyncio.Lock()
        self._finished: set[int] = set()
        self._began = time.monotonic()
        self.parked: dict[tuple[str, int], int] = {}

    # ---- starting

    async def start(self, *, awake: bool = True) -> None:
        """Start all workers; back when they are connected and, unless told otherwise, the spouts begin.

        Raises:
            WorkerStartError: a worker did not come up, or a component failed in `initialize`; nothing is left running.
        """
        try:
            links = await asyncio.gather(*(self._launch(worker) for worker in self._ids))
            await asyncio.gather(*(self._connect(link, self._ids[:i]) for i, link in enumerate(links)))
        except BaseException:
            await self.close()
            raise
        self.state = "RUNNING"
        self._keep(self._watch())
        self.set_awake(awake)

    async def _launch(self, worker: str) -> WorkerLink:
        self._incarnations[worker] += 1
        incarnation = self._incarnations[worker]
        table = self.publisher.table
        link = await WorkerLink.launch(
            self._launcher, worker, incarnation, lambda message: self._on_message(link, message), lambda: self._on_lost(link)
        )
        self._links[worker] = link
        starts = self._starts(table)
        await link.introduce(self._pickled, table, starts, self._secret, len(self._ids), list(sys.path), START_SECONDS)
        return link

    async def _connect(self, link: WorkerLink, peers: list[str]) -> None:
        addresses = {peer: self._links[peer].address for peer in peers if peer != link.worker and peer in self._links}
        await link.dial(Dial({peer: address for peer, address in addresses.items() if address is not None}), START_SECONDS)

    def _starts(self, table: ActivationTable) -> dict[int, Start]:
        tasks = [task for plan in self.blueprint.components.values() if plan.is_spout for task in plan.tasks]
        return self._progress.starts(tasks)

    # ---- messages

    def _send_table(self, worker: str, table: ActivationTable) -> None:
        if (link := self._links.get(worker)) is not None:
            link.send(Table(table, self._starts(table)))

    def _broadcast(self, message: ToWorker) -> None:
        for worker in self.publisher.table.workers:
            if (link := self._links.get(worker)) is not None:
                link.send(message)

    def _on_message(self, link: WorkerLink, message: FromWorker) -> None:
        worker = link.worker
        if isinstance(message, Applied):
            self.publisher.applied(worker, message.version)
        elif isinstance(message, Moved):
            self.publisher.moved(message.component, message.task, message.version)
        elif isinstance(message, MoveFailed):
            error = UnmovableError(message.component, message.task, message.attribute, message.reason)
            self.publisher.move_failed(message.version, error)
        elif isinstance(message, Parked):
            self.parked[message.component, message.replica] = message.version
        elif isinstance(message, Problem):
            self.errors.append(ErrorReport(message.component, message.task, time.time(), message.text))
        elif isinstance(message, Counts):
            self._on_counts(link, message)
        elif isinstance(message, Finished):
            (self._finished.add if message.done else self._finished.discard)(message.task)
            self._tell()
        elif isinstance(message, LinkLost) and self.state == "RUNNING":
            self._keep(self._relink(worker, message))

    def _on_counts(self, link: WorkerLink, message: Counts) -> None:
        link.counts = message.counts
        self._progress.take(message.counts)
        if message.k in self._cuts:
            self._cuts[message.k][link.worker] = message.counts
            self._tell()

    # ---- repair

    def _on_lost(self, link: WorkerLink) -> None:
        """A control connection ended: the process is gone, or is about to be."""
        self._bury(link)
        if self._links.get(link.worker) is not link or self.state in ("CLOSING", "CLOSED"):
            return
        del self._links[link.worker]
        self._finished = {task for task in self._finished if self._worker_of(task) != link.worker}
        if link.counts is not None:
            self._dead.append(link.counts)
            self._progress.died(link.counts)
        if self.state != "RUNNING":
            return
        _log.warning("worker %s (process %d) is gone; what it ran goes elsewhere", link.worker, link.pid)
        version = self.publisher.lose(link.worker)
        self._tell()
        if version is not None:
            self._keep(self._fence(version))
        if link.worker not in self._restarting:
            self._keep(self._restart(link.worker, link.age()))

    def _bury(self, link: WorkerLink) -> None:
        """End a worker's process and take its exit status, so that nothing of it stays; `close` waits for that."""
        link.kill()
        task = asyncio.get_running_loop().create_task(link.end(0.0))
        self._burials.add(task)
        task.add_done_callback(self._burials.discard)

    def _worker_of(self, task: int) -> str:
        plan = self.blueprint.component_of(task)
        return self.publisher.table.components[plan.id].worker_of(task - plan.first_task)

    async def _fence(self, version: int) -> None:
        """Once nobody sends to what was lost any more, everything emitted before that is failed, so that it is replayed at once."""
        if await self.publisher.wait_confirmed(version, CONFIRM_SECONDS):
            self._broadcast(Fence())
        else:
            _log.error("table %d was not confirmed by all workers; pending tuples will time out instead", version)

    async def _restart(self, worker: str, lived_seconds: float) -> None:
        """Start a lost worker until it has joined; what it loses on the way is this loop's business, not that of another."""
        pause = _FIRST_PAUSE if lived_seconds > _LONGEST_PAUSE else 4 * _FIRST_PAUSE
        self._restarting.add(worker)
        while self.state == "RUNNING":
            try:
                link = await self._launch(worker)
                await self._join(link)
                break
            except PaspsError as error:
                _log.error("worker %s did not come back: %s", worker, error)
                if (gone := self._links.get(worker)) is not None:
                    self._on_lost(gone)
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
        else:
            return
        self._restarting.discard(worker)
        link.send(Awake(self._awake))
        await self._bring_home()

    async def _join(self, link: WorkerLink) -> None:
        """Connect a worker that was started again, and make it one of the living.

        One at a time, and to members only: two that come back together must not both dial the other.
        """
        worker, incarnation = link.worker, link.incarnation
        async with self._joining:
            for last in (False, False, True):
                try:
                    await self._connect(link, list(self.publisher.table.workers))
                    break
                except BrokenError:
                    if last or self._links.get(worker) is not link:
                        raise
                    await asyncio.sleep(_FIRST_PAUSE)  # most often a peer has just died; its control connection says so by then

            def make(table: ActivationTable) -> ActivationTable | None:
                return with_worker(table, worker, incarnation) if self._links.get(worker) is link else None

            try:
                await self.publisher.change(make, CONFIRM_SECONDS)
            except TimeoutExpiredError as error:
                _log.warning("worker %s is back, but %s", worker, error)
        if self._links.get(worker) is not link:
            raise BrokenError(f"worker {worker}: its process {link.pid} ended before it had joined")

    async def _bring_home(self) -> None:
        """Give a worker that is back its replicas again."""
        for name, plan in self.blueprint.components.items():
            if plan.is_spout:
                continue
            try:
                await self.publisher.change(lambda table, name=name: self._movable(brought_home(table, self._home, name)), CONFIRM_SECONDS)  # type: ignore[misc]
            except PaspsError as error:
                _log.warning("component %s stays where it is: %s", name, error)

    async def _relink(self, worker: str, lost: LinkLost) -> None:
        """Two live workers lost their connection: connect them again, and fail what was under way."""
        await asyncio.sleep(0.2)  # most often the peer died, and its control connection says so by now
        peer, link = self._links.get(lost.peer), self._links.get(worker)
        if self.state != "RUNNING" or peer is None or link is None or peer.incarnation != lost.incarnation or worker < lost.peer:
            return
        _log.warning("workers %s and %s lost their connection", worker, lost.peer)
        try:
            await self._connect(link, [lost.peer])
        except BrokenError:
            peer.kill()
            return
        await self._fence(self.publisher.refresh())

    async def _watch(self) -> None:
        """Beats: a worker that does not answer three of them is gone, whatever its process says."""
        while self.state == "RUNNING":
            await asyncio.sleep(1.0)
            for link in list(self._links.values()):
                if not link.beat():
                    _log.error("worker %s (process %d) does not answer", link.worker, link.pid)
                    link.kill()

    # ---- what users ask for

    async def set_active(self, component: str, count: int) -> int:
        """See `RunningTopology.set_active`."""
        self._check_running()
        plan = self.blueprint.components.get(component)
        if plan is None or plan.is_spout:
            bolts = ", ".join(name for name, p in self.blueprint.components.items() if not p.is_spout)
            raise InvalidError(f"set_active: expected the id of a bolt ({bolts}), got {component!r}")
        if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= plan.pool:
            raise InvalidError(f"set_active({component!r}): expected 1 to {plan.pool} replicas (its pool), got {count!r}")

        def make(table: ActivationTable) -> ActivationTable | None:
            if len(table.components[component].active) == count:
                return None
            return self._movable(with_active(table, component, count))

        before = len(self.publisher.table.components[component].active)
        version = await self.publisher.change(make, CONFIRM_SECONDS)
        _log.info("component %s: %d -> %d active, table %d", component, before, count, version)
        return version

    def _movable(self, wanted: ActivationTable | None) -> ActivationTable | None:
        """The table, unless it would move a task that cannot move."""
        if wanted is None:
            return None
        for move in moves(self.publisher.table, wanted):
            source = self._links.get(move.source) if move.source is not None else None
            stuck = source.unmovable.get((move.component, move.task)) if source is not None else None
            if stuck is not None:
                raise UnmovableError(move.component, move.task, stuck.attribute, stuck.reason)
        return wanted

    async def stats(self) -> Stats:
        """See `RunningTopology.stats`."""
        self._check_running()
        self._cut += 1
        k, answers = self._cut, self._cuts.setdefault(self._cut, {})
        asked = set(self.publisher.table.workers)
        self._broadcast(Cut(k))
        await self._until(lambda: asked & set(self.publisher.table.workers) <= set(answers), CUT_SECONDS)
        del self._cuts[k]
        return stats_of(self.blueprint, self.publisher.table, answers, self._dead, time.monotonic() - self._began)

    def set_awake(self, awake: bool) -> None:
        """Spouts begin or stop."""
        self._awake = awake
        self._broadcast(Awake(awake))

    async def drain(self, seconds: float) -> Stats:
        """See `RunningTopology.drain`."""
        self.set_awake(False)
        deadline, pause, quiet = time.monotonic() + seconds, 0.002, 0
        while True:
            stats = await self.stats()
            left = left_over(stats)
            # twice in a row, because two workers' cuts are not of the same instant
            quiet = quiet + 1 if stats.complete and not left else 0
            if quiet == 2:
                return stats
            if time.monotonic() >= deadline:
                raise DrainTimeoutError(seconds, left)
            await asyncio.sleep(pause)
            pause = min(2 * pause, 0.05)

    async def wait_finished(self, seconds: float | None) -> bool:
        """Wait until every spout task is at the end of its input and all is settled; False when the time is over."""
        tasks = {task for plan in self.blueprint.components.values() if plan.is_spout for task in plan.tasks}
        deadline = None if seconds is None else time.monotonic() + seconds
        while True:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not await self._until(lambda: tasks <= self._finished or self.state != "RUNNING", left):
                return False
            self._check_running()
            stats = await self.stats()
            if stats.complete and not left_over(stats) and tasks <= self._finished:
                return True
            if deadline is not None and time.monotonic() >= deadline:
                return False
            await asyncio.sleep(0.01)

    def workers(self) -> list[WorkerInfo]:
        """The live workers, in order."""
        found = []
        for worker in sorted(self._links, key=self._ids.index):
            link = self._links[worker]
            address = link.address or Address("", 0, link.incarnation)
            found.append(WorkerInfo(worker, link.pid, address.host, address.port, link.incarnation))
        return found

    async def kill(self, seconds: float) -> None:
        """Drain for at most `seconds`, then close everything."""
        if self.state == "RUNNING" and seconds > 0:
            try:
                await self.drain(seconds)
            except DrainTimeoutError as error:
                _log.warning("killed before it was drained: %s", error)
        await self.close()

    async def close(self) -> None:
        """End all workers: `close` of every instance runs if they are well, and after five seconds they are ended anyway."""
        if self.state == "CLOSED":
            return
        running, self.state = self.state == "RUNNING", "CLOSING"
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        links = list(self._links.values())
        if running:
            for link in links:
                link.send(Close())
        await asyncio.gather(*(link.end(CLOSE_SECONDS if running else 0.0) for link in links))
        await asyncio.gather(*self._burials)
        self._links.clear()
        self.state = "CLOSED"
        self._tell()

    # ---- small things

    def _check_running(self) -> None:
        if self.state != "RUNNING":
            raise ClosedError(f"topology {self.blueprint.name!r} is {self.state.lower()}")

    def _keep(self, coroutine: object) -> None:
        task = asyncio.get_running_loop().create_task(_logged(coroutine))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    async def _until(self, condition: Callable[[], bool], seconds: float | None) -> bool:
        deadline = None if seconds is None else time.monotonic() + seconds
        while not condition():
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return False
            try:
                await asyncio.wait_for(self._news.wait(), left)
            except TimeoutError:
                return condition()
        return True


async def _logged(coroutine: object) -> None:
    try:
        await coroutine  # type: ignore[misc]
    except asyncio.CancelledError:
        raise
    except (TimeoutExpiredError, WorkerStartError, ClosedError) as error:
        _log.error("%s", error)
    except Exception:
        # the control cycle's door: the last table stands, the data goes on
        _log.exception("a control step failed")
