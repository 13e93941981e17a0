"""The worker processes of one topology: starts them, connects them with each other, and notices when one is gone."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

import cloudpickle

from pasps.activation import ActivationTable
from pasps.api.blueprint import Blueprint
from pasps.clock import Clock
from pasps.cluster.launch.launcher import Launcher
from pasps.cores import usable_cores
from pasps.errors import BrokenError, InvalidError, PaspsError, UnmovableError, WorkerStartError
from pasps.topology.keeper import Keeper
from pasps.topology.worker_link import WorkerLink
from pasps.worker.messages import Address, Close, Dial, FromWorker, Launch, LogText, Stuck, ToWorker

_log = logging.getLogger(__name__)

START_SECONDS = 120.0
CLOSE_SECONDS = 5.0
_CONNECT_PAUSE = 0.05


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """One worker process."""

    id: str
    pid: int
    host: str
    port: int
    incarnation: int = 1
    stuck: Stuck | None = None
    """What its event loop has not come back from for seconds, an endless loop perhaps; None: all is well."""


def worker_count(blueprint: Blueprint, usual: int | None = None) -> int:
    """How many workers a topology gets: as configured, else as usual where it runs, else one for each core that this process may use."""
    return int(blueprint.config.get("topology.workers") or usual or usable_cores())


class Workforce:
    """`on_message` and `on_gone` are called on the event loop; `on_gone` once for each worker that was lost, not ended."""

    def __init__(
        self,
        blueprint: Blueprint,
        workers: int,
        launcher: Launcher,
        clock: Clock,
        on_message: Callable[[WorkerLink, FromWorker], None],
        on_gone: Callable[[WorkerLink], None],
        keeper: Keeper,
    ) -> None:
        self.ids = [f"w{index}" for index in range(workers)]
        self.links: dict[str, WorkerLink] = {}
        self.unmovable: dict[tuple[str, int], UnmovableError] = {}
        self._pickled = cloudpickle.dumps(blueprint)
        self._launcher = launcher
        self._clock = clock
        self._on_message = on_message
        self._on_gone = on_gone
        self._secret = secrets.token_bytes(32)
        self._keeper = keeper
        self._ending: set[asyncio.Task[None]] = set()

    async def gather(self) -> list[WorkerLink]:
        """Start the processes of all workers, which do not know yet what they are; back when every one has a place.

        Raises:
            WorkerStartError: one did not start; the others may run, until `end`.
        """
        return await asyncio.gather(*map(self.place, self.ids))

    async def start(self, links: Sequence[WorkerLink], table: ActivationTable, positions: dict[int, bytes]) -> None:
        """Tell them; back when every one is initialized and connected to the others.

        Raises:
            WorkerStartError, BrokenError: one did not come up; the others may run, until `end`.
        """
        await asyncio.gather(*(self.introduce(link, table, positions, restarted=False) for link in links))
        await asyncio.gather(*(self.connect(link, self.ids[:i]) for i, link in enumerate(links)))

    async def launch(self, worker: str, table: Callable[[], ActivationTable], positions: Callable[[], dict[int, bytes]]) -> WorkerLink:
        """Start one worker, in its next incarnation; back when it is initialized. It is told what is true once it has a place.

        Raises:
            WorkerStartError: with the worker's own words.
        """
        link = await self.place(worker)
        await self.introduce(link, table(), positions(), restarted=True)
        return link

    async def place(self, worker: str) -> WorkerLink:
        """Start the process of one worker, in its next incarnation, which does not know yet what it is; back when it has a place.

        Raises:
            WorkerStartError: it did not start.
        """
        incarnation = await self._keeper.incarnation(worker)
        link = await WorkerLink.launch(
            self._launcher, worker, incarnation, self._clock, lambda said: self._on_message(link, said), lambda: self._lost(link)
        )
        self.links[worker] = link
        return link

    async def introduce(self, link: WorkerLink, table: ActivationTable, positions: dict[int, bytes], *, restarted: bool) -> None:
        """Tell a worker what it is; back when it is initialized. `restarted`: the topology ran before.

        Raises:
            WorkerStartError: with the worker's own words.
        """
        launch = Launch(
            link.worker,
            link.incarnation,
            len(self.ids),
            self._pickled,
            table,
            positions,
            self._secret,
            self._launcher.sys_path,
            self._launcher.bind,
            restarted,
        )
        await link.introduce(launch, START_SECONDS)
        # kept when that worker dies: an instance made anew elsewhere is as unmovable
        self.unmovable.update(link.unmovable)

    async def connect(self, link: WorkerLink, peers: Collection[str]) -> None:
        """Let a worker connect to those of `peers` that are there.

        Raises:
            BrokenError: it could not.
        """
        addresses: dict[str, Address] = {}
        for peer in peers:
            other = self.links.get(peer)
            if other is not None and other is not link and other.address is not None:
                addresses[peer] = other.address
        await link.dial(Dial(addresses), START_SECONDS)

    async def connect_to_living(self, link: WorkerLink, peers: Callable[[], Collection[str]]) -> None:
        """The same with those who are `peers` when one cannot be reached: most often it has just died, and its control connection says so
        by then.

        Raises:
            BrokenError: it could not, or is gone itself.
        """
        for last in (False, False, True):
            try:
                await self.connect(link, peers())
                return
            except BrokenError:
                if last or not self.is_there(link):
                    raise
                await asyncio.sleep(_CONNECT_PAUSE)

    # ---- many at once, of which some may not come

    async def gather_some(self, workers: Sequence[str], failures: dict[str, PaspsError]) -> list[WorkerLink]:
        """New processes for them, as far as there are places within the time that a worker has to start; the others are in `failures`."""
        loop = asyncio.get_running_loop()
        tasks = {worker: loop.create_task(self.place(worker)) for worker in workers}
        try:
            await asyncio.wait(tasks.values(), timeout=START_SECONDS)
        finally:
            for task in tasks.values():
                task.cancel()
            await asyncio.wait(tasks.values())
        for worker, task in tasks.items():
            if task.cancelled():
                failures[worker] = WorkerStartError(f"worker {worker}: there was no place for it within {START_SECONDS:g} s")
            elif isinstance(error := task.exception(), PaspsError):
                failures[worker] = error
        return [task.result() for worker, task in tasks.items() if worker not in failures]

    async def start_some(
        self, came: Sequence[WorkerLink], table: ActivationTable, positions: dict[int, bytes], failures: dict[str, PaspsError]
    ) -> list[str]:
        """Those that are initialized by that table, connected to each other, and there; what the others said is in `failures`."""
        told = [self.introduce(link, table, positions, restarted=True) for link in came]
        ready = _those_done(came, await asyncio.gather(*told, return_exceptions=True), failures)
        linked = [self.connect_to_living(link, self._still_there(ready[:place])) for place, link in enumerate(ready)]
        up = _those_done(ready, await asyncio.gather(*linked, return_exceptions=True), failures)
        return [link.worker for link in up if self.is_there(link)]

    def _still_there(self, links: Sequence[WorkerLink]) -> Callable[[], list[str]]:
        """One may have died since it was ready, and be back under its name: that one joins when the others live."""
        return lambda: [link.worker for link in links if self.is_there(link)]

    # ---- who is there

    def is_there(self, link: WorkerLink) -> bool:
        """Whether it was not lost, ended or dismissed."""
        return self.links.get(link.worker) is link

    def _lost(self, link: WorkerLink) -> None:
        """A control connection ended: the process is gone, or is about to be."""
        # whoever has taken it out of `links` ends it on purpose, or knows already
        if not self.is_there(link):
            return
        del self.links[link.worker]
        self._end(link, 0.0)  # its process has to be waited for
        self._on_gone(link)

    def dismiss(self, worker: str, why: str = "") -> None:
        """Give up on a worker that does not come up, for what reason; nothing happens when it is gone already."""
        link = self.links.get(worker)
        if link is not None:
            link.kill(why)
            self._lost(link)

    def send(self, worker: str, message: ToWorker) -> None:
        """Send to one worker, if it is there."""
        link = self.links.get(worker)
        if link is not None:
            link.send(message)

    async def read_log(self, worker: str, offset: int | None, lines: int) -> LogText:
        """What a worker wrote, and others in its place before it: from byte `offset` on, or (None) the last `lines`.

        Raises:
            InvalidError: there is no such worker.
            BrokenError: it is not there now.
            TimeoutExpiredError: it does not answer.
        """
        if worker not in self.ids:
            raise InvalidError(f"there is no worker {worker!r}; there are {', '.join(self.ids)}")
        link = self.links.get(worker)
        if link is None:
            raise BrokenError(f"worker {worker} is not there now; try again when it is back")
        return await link.read_log(offset, lines)

    def hosts(self) -> dict[str, str]:
        """The host of each worker that is there."""
        return {worker: link.where[0] for worker, link in self.links.items()}

    def cores(self) -> dict[str, int]:
        """The cores of each host that has workers, as far as they may use them."""
        return {link.where[0]: link.cores for link in self.links.values()}

    def infos(self) -> list[WorkerInfo]:
        """Those that are up, in order; one that is still starting is not."""
        links = [self.links[worker] for worker in sorted(self.links, key=self.ids.index)]
        return [
            WorkerInfo(link.worker, link.pid, link.address.host, link.address.port, link.incarnation, link.stuck)
            for link in links
            if link.address
        ]

    def ages(self) -> dict[str, float]:
        """For how many seconds each worker has lived that is up."""
        return {worker: link.age() for worker, link in self.links.items() if link.address}

    async def watch(self) -> None:
        """Beats, without end: a worker that does not answer three of them is gone, whatever its process says."""
        while True:
            await asyncio.sleep(1.0)
            for link in list(self.links.values()):
                if not link.beat():
                    _log.error("worker %s (process %d) does not answer", link.worker, link.pid)
                    link.kill()

    async def close(self, links: Iterable[WorkerLink]) -> None:
        """End these workers on purpose, so that `on_gone` is not called: `close` of every instance runs first, for at most five seconds.

        Back when their processes are gone; once begun it is done, also when nobody waits for it any more.
        """
        ending = []
        for link in links:
            # before it can end: else its end would be a loss
            if self.is_there(link):
                del self.links[link.worker]
            link.send(Close())
            ending.append(self._end(link, CLOSE_SECONDS))
        if ending:
            await asyncio.wait(ending)

    def _end(self, link: WorkerLink, seconds: float) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(link.end(seconds))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
        return task

    async def end(self, *, gently: bool) -> None:
        """End all workers. Gently: `close` of every instance runs first, for at most five seconds."""
        links = list(self.links.values())
        self.links.clear()
        if gently:
            for link in links:
                link.send(Close())
        await asyncio.gather(*(link.end(CLOSE_SECONDS if gently else 0.0) for link in links), *self._ending)


def _those_done(links: Sequence[WorkerLink], outcomes: Sequence[BaseException | None], failures: dict[str, PaspsError]) -> list[WorkerLink]:
    """The links whose outcome is none; the others' are written down."""
    done = []
    for link, outcome in zip(links, outcomes, strict=True):
        if outcome is None:
            done.append(link)
        elif isinstance(outcome, PaspsError):
            failures[link.worker] = outcome
        else:
            raise outcome
    return done
