"""The controller of one topology: starts its workers, publishes tables, repairs what is lost, drains, ends. Lives on one event loop.

Its processes are in `workforce`, its counters in `census`; who decides on replicas is in `elastic`, when all workers are started anew
in `restart`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pasps.activation import ActivationTable, brought_home, with_active, with_worker
from pasps.api.blueprint import Blueprint, ComponentPlan
from pasps.clock import Clock, Deadline
from pasps.cluster.launch.launcher import Launcher
from pasps.control.decision_log import Act, Restarted
from pasps.control.news import News
from pasps.control.publisher import CONFIRM_SECONDS, TablePublisher
from pasps.control.settings import RestartSettings
from pasps.control.statistics import finish_of, left_over, next_to_finish
from pasps.errors import (
    BrokenError,
    BusyError,
    ClosedError,
    ComponentStartError,
    CrashLoopError,
    DrainTimeoutError,
    InvalidError,
    PaspsError,
    TimeoutExpiredError,
    UnmovableError,
    WorkerStartError,
)
from pasps.metrics import Stats, WorkerCounts, blocks_text
from pasps.topology.actuator import TableActuator
from pasps.topology.census import Census
from pasps.topology.elastic import Elastic, ElasticConfig
from pasps.topology.homes import Homes
from pasps.topology.keeper import Keeper, NoKeeper
from pasps.topology.lives import CrashLoop, Lives
from pasps.topology.restart import Course, Restart
from pasps.topology.worker_link import WorkerLink, brief
from pasps.topology.workforce import WorkerInfo, Workforce
from pasps.worker.messages import (
    Applied,
    Awake,
    Counts,
    Fence,
    Finish,
    Finished,
    FromWorker,
    LinkLost,
    Moved,
    MoveFailed,
    Pressed,
    Problem,
    Table,
    ToWorker,
)

_log = logging.getLogger(__name__)

_RELINK_PAUSE = 0.2


@dataclass(frozen=True, slots=True)
class ErrorReport:
    """An exception of user code: where, when (seconds since the epoch), and its traceback.

    No component: something that happened to a worker as a whole; the text begins with which.
    """

    component: str
    task: int
    time: float
    text: str

    @property
    def where(self) -> str:
        """Its place in words."""
        return f"component {self.component!r}, task {self.task}" if self.component else "a worker"


class TopologyController:
    """States: STARTING -> RUNNING -> CLOSING -> CLOSED.

    What happens when a worker is lost is no policy: every bolt keeps its number of active replicas. 1. The table without it is
    published. 2. When all have confirmed that, everything pending is failed, and so replayed. 3. It is started again, later each time
    that it dies in a minute. 4. It joins. 5. Replicas go home.
    """

    def __init__(
        self,
        blueprint: Blueprint,
        workers: int,
        launcher: Launcher,
        clock: Clock,
        keeper: Keeper | None = None,
        control: ElasticConfig | None = None,
    ) -> None:
        """`keeper`: what has to outlive this controller; None: nothing. `control`: who decides on replicas; None: they change by hand.

        `losses` are the last workers that died, `lost` how many did; those that died of their own accord are in `errors` too. Who was
        ended for a restart of all is in neither.

        Raises:
            ConfigError: `control` has a policy that is none, or an option or a topology that it does not take.
        """
        self.blueprint = blueprint
        self.errors: deque[ErrorReport] = deque(maxlen=1000)
        self.losses: deque[ErrorReport] = deque(maxlen=100)
        self.lost = 0
        self.state = "STARTING"
        self._clock = clock
        self._keeper = keeper or NoKeeper()
        self.workforce = Workforce(blueprint, workers, launcher, clock, self._on_message, self._on_gone, self._keeper)
        self._homes = Homes(blueprint, self._keeper.resume)
        self.publisher = TablePublisher(
            self._homes.before(self.workforce.ids), self._send_table, self._keeper.intend, self.workforce.unmovable
        )
        self._census = Census(blueprint, clock, self._keeper.resume.positions)
        self._finished: set[int] = set()
        self._asked: tuple[str, int] | None = None  # whose `finish` was asked for last, and of how many instances
        self._blocking: set[str] = set()
        self._news = News()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._restarting: set[asyncio.Task[Any]] = set()  # of all workers, and of `_tasks` too
        self._closing: asyncio.Task[None] | None = None
        self._awake = False
        self._lives = Lives(clock)
        self._dead: dict[str, WorkerLink] = {}  # whose death is still to be noted
        self._returning: set[str] = set()  # each has a task that starts it again, until it has joined
        # held by whoever makes workers live: they come to each other in turns
        self._joining = asyncio.Lock()
        settings = RestartSettings.from_config(blueprint.config)
        self.restarts = Restart(settings, clock, self.publisher, self._joining, self._start_anew, self._wake)
        actuator = TableActuator(self.publisher, self.restart)
        self.elastic = None if control is None else Elastic(blueprint, control, actuator, self.workforce, self.cut, clock)

    # ---- starting and ending

    async def start(self, *, awake: bool = True) -> None:
        """Start all workers; back when they are connected and, unless told otherwise, the spouts begin.

        Raises:
            WorkerStartError: a worker did not come up, or a component failed in `initialize`; nothing is left running.
        """
        self._keep(self.workforce.watch())  # who has a place may wait for long until the others have one
        try:
            links = await self.workforce.gather()
            self.publisher.begin(self._homes.settle(links))
            await self._keeper.intend(self.publisher.table)
            await self.workforce.start(links, self.publisher.table, self._census.positions)
        except BaseException:
            await self.close()
            raise
        self.state = "RUNNING"
        if self.elastic is not None:
            await self.elastic.start()
        self.set_awake(awake)

    async def kill(self, seconds: float) -> None:
        """Drain for at most `seconds`, the bolts' `finish` included, then close everything."""
        if self.state == "RUNNING" and seconds > 0:
            try:
                await self.drain(seconds, finish=True)
            except DrainTimeoutError as error:
                _log.warning("killed before it was drained: %s", error)
        await self.close()

    async def close(self) -> None:
        """End all workers: `close` of every instance runs if they are well, and after five seconds they are ended anyway.

        Once begun it is done, also when whoever waits for it is cancelled.
        """
        if self._closing is not None:
            await asyncio.wait([self._closing])
            return
        self._closing = asyncio.get_running_loop().create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        gently, self.state = self.state == "RUNNING", "CLOSING"
        # from now on an end of a worker is no loss (`_on_gone`), and what would start one is cancelled before the workers end
        try:
            if self.elastic is not None:
                await self.elastic.close()
        finally:  # whatever happens to what goes along: no process may be left
            tasks = list(self._tasks)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self.workforce.end(gently=gently)
            self.state = "CLOSED"
            self._news.tell()

    # ---- messages

    def _send_table(self, worker: str, table: ActivationTable) -> None:
        self._keeper.acted(table)
        self.workforce.send(worker, Table(table, self._census.positions))

    def _broadcast(self, message: ToWorker) -> None:
        for worker in self.publisher.table.workers:
            self.workforce.send(worker, message)

    def _on_message(self, link: WorkerLink, message: FromWorker) -> None:
        match message:
            case Applied(version):
                self.publisher.applied(link.worker, version)
            case Moved(version, component, task):
                self.publisher.moved(component, task, version)
            case MoveFailed(version, component, task, attribute, reason):
                self.publisher.move_failed(version, UnmovableError(component, task, attribute, reason))
            case Problem("", _, text):
                self._tell(link.worker, text)
            case Problem(component, task, text):
                self.errors.append(ErrorReport(component, task, self._clock.wall(), text))
            case Counts():
                self._census.take(link, message)
                self._warn_of_blocking(message.counts)
                self._keeper.reached(self._census.positions)
            case Finished(task, done):
                (self._finished.add if done else self._finished.discard)(task)
                self._news.tell()
            case Pressed(component) if self.elastic is not None:
                self.elastic.pressed()
            case LinkLost() if self.state == "RUNNING":
                self._keep(self._relink(link.worker, message))

    def _warn_of_blocking(self, counts: WorkerCounts) -> None:
        """Once for each component."""
        for replica in counts.replicas:
            if replica.blocks and replica.component not in self._blocking:
                self._blocking.add(replica.component)
                is_spout = self.blueprint.components[replica.component].is_spout
                _log.warning("component %r: %s", replica.component, blocks_text(is_spout=is_spout))

    def _on_gone(self, link: WorkerLink) -> None:
        table = self.publisher.table
        # by the table in which it lived: `_repair` publishes one in which its tasks are with others
        self._finished = {task for task in self._finished if worker_of(self.blueprint, table, task) != link.worker}
        if self.state == "RUNNING":
            self.lost += 1
            self._news.tell()
            self._repair(link)

    def _tell(self, worker: str, text: str) -> None:
        """Something is wrong with a worker as a whole."""
        self.errors.append(self._of_worker(worker, text))
        self._news.tell()

    def _tell_of_loss(self, worker: str, text: str, is_error: bool) -> None:
        """A worker died. One that somebody killed is no error of the topology, and yet whoever looks at it is to know."""
        report = self._of_worker(worker, text)
        self.losses.append(report)
        if is_error:
            self.errors.append(report)
        self._news.tell()

    def _of_worker(self, worker: str, text: str) -> ErrorReport:
        name = f"worker {worker}"
        return ErrorReport("", -1, self._clock.wall(), text if text.startswith(name) else f"{name}: {text}")

    # ---- a worker or a connection is lost

    def _repair(self, link: WorkerLink) -> None:
        """A worker died: what it ran goes elsewhere now, and it is started again."""
        _log.warning("worker %s (process %d) is gone; what it ran goes elsewhere", link.worker, link.pid)
        self._census.bury(link)  # first: the table carries where its spouts go on
        version = self.publisher.lose(link.worker)
        if version is not None:
            self._keep(self._fence(version))
        self._dead[link.worker] = link
        if link.worker not in self._returning:
            self._returning.add(link.worker)
            self._keep(self._bring_back(link.worker))

    async def _fence(self, version: int) -> None:
        """Once nobody sends to what was lost any more, everything emitted before that is failed, so that it is replayed at once."""
        if await self.publisher.wait_confirmed(version, CONFIRM_SECONDS):
            self._broadcast(Fence())
        else:
            _log.error("table %d was not confirmed by all workers; pending tuples will time out instead", version)

    async def _bring_back(self, worker: str, failure: PaspsError | None = None) -> None:
        """Start a lost worker until it has joined; what dies on the way is this loop's business, not that of another.

        `failure`: why it did not come up before; None: it lived.
        """
        if failure is not None:
            self.workforce.dismiss(worker, brief(str(failure)))
        while True:
            await asyncio.sleep(await self._note_death(worker, failure))
            try:
                link = await self.workforce.launch(worker, lambda: self.publisher.table, lambda: self._census.positions)
                await self._join(link)
                break
            except PaspsError as error:
                failure = error
                self.workforce.dismiss(worker, brief(str(error)))
        # nothing is awaited since `_join` saw it alive: who dies from here on is started by another loop than this one
        self._returning.discard(worker)
        link.send(Awake(self._may_emit))
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
            self._tell_of_loss(worker, text, by_itself and not told)
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
        async with self._joining:
            await self.workforce.connect_to_living(link, lambda: self.publisher.table.workers)
            try:
                await self.publisher.change(lambda table: self._with(table, link), CONFIRM_SECONDS)
            except TimeoutExpiredError as error:
                _log.warning("worker %s is back, but %s", link.worker, error)
        if not self.workforce.is_there(link):
            raise BrokenError(f"worker {link.worker}: its process {link.pid} ended before it had joined")

    def _with(self, table: ActivationTable, link: WorkerLink) -> ActivationTable | None:
        """The table with that worker, unless it is gone again: its loss was of no member, and nobody would take it out."""
        return with_worker(table, link.worker, link.incarnation) if self.workforce.is_there(link) else None

    async def _bring_home(self) -> None:
        """Give a worker that is back its replicas again."""
        home = self._homes.routings
        for name in home:
            if name in self._census.spouts:
                continue
            try:
                await self.publisher.change(partial(brought_home, home=home, component=name), CONFIRM_SECONDS)
            except PaspsError as error:
                _log.warning("component %s stays where it is: %s", name, error)

    async def _relink(self, worker: str, lost: LinkLost) -> None:
        """Two live workers lost their connection: connect them again, and fail what was under way."""
        await asyncio.sleep(_RELINK_PAUSE)  # most often the peer died, and its control connection says so by now
        peer, link = self.workforce.links.get(lost.peer), self.workforce.links.get(worker)
        # both ends tell of it: the one with the larger name acts, or each would dial the other
        if peer is None or link is None or peer.incarnation != lost.incarnation or worker < lost.peer:
            return
        _log.warning("workers %s and %s lost their connection", worker, lost.peer)
        try:
            await self.workforce.connect(link, [lost.peer])
        except BrokenError:
            peer.kill(f"it could not be connected with worker {worker} again")
            return
        await self._fence(self.publisher.refresh())

    # ---- all workers are started anew, see `Restart`

    async def _start_anew(self, course: Course) -> None:
        """End all that live, and start them by the next table. Nobody joins and nobody publishes meanwhile."""
        before = self.publisher.table
        links = [self.workforce.links[worker] for worker in before.workers]
        # before they end, so that they are taken out of no table, and none is sent to them
        self.publisher.vacate()
        failures: dict[str, PaspsError] = {}
        try:
            await self._end_all(links, before, course)
            came = await self.workforce.gather_some([link.worker for link in links], failures)
            active = {name: len(routing.active) for name, routing in before.components.items()} | course.planned
            table = replace(self._homes.settle_anew(came, active), version=self.publisher.table.version + 1)
            await self._keeper.intend(table)
            up = await self.workforce.start_some(came, table, self._census.positions, failures)
            self.publisher.begin(table)
            self._keeper.acted(table)
            # by another table: what they were to run has to go to those who are up
            for worker in table.workers:
                if worker not in up:
                    self.publisher.lose(worker)
        finally:
            # however this ends: who does not live now is started as if it had been lost
            for worker in before.workers:
                # one that died before it had joined is started again already
                if worker not in self.publisher.table.workers and worker not in self._returning:
                    self._returning.add(worker)
                    failure = failures.get(worker, WorkerStartError(f"worker {worker}: it was not started anew"))
                    self._keep(self._bring_back(worker, failure))
        await self.publisher.wait_confirmed(self.publisher.table.version, CONFIRM_SECONDS)

    async def _end_all(self, links: Sequence[WorkerLink], table: ActivationTable, course: Course) -> None:
        try:
            await self.workforce.close(links)
        finally:
            # in any case: they are in no table, and what they counted would be in no sum if it were not that of the dead
            course.replayed, course.dropped = self._census.under_way(links, table)
            for link in links:
                self._census.bury(link)
            self._finished.clear()  # every spout begins anew
            self._news.tell()

    # ---- what users ask for

    async def set_active(self, component: str, count: int) -> int:
        """See `RunningTopology.set_active`."""
        self._check_running()
        check_count(self.blueprint, component, count)
        await self.restarts.over()
        if not await self.publisher.wait_lived(CONFIRM_SECONDS):
            why = "; ".join(map(str, self.crash_loops())) or "they are started again; try later"
            raise BrokenError(f"set_active({component!r}, {count}): no worker of topology {self.blueprint.name!r} is alive: {why}")

        before = len(self.publisher.table.components[component].active)

        def make(table: ActivationTable) -> ActivationTable | None:
            nonlocal before
            before = len(table.components[component].active)
            return None if before == count else with_active(table, component, count)

        # first: a plan that is under way must not have the last word
        held = None if self.elastic is None else self.elastic.set_by_hand(component, count)
        published = self.publisher.table.version
        try:
            version = await self.publisher.change(make, CONFIRM_SECONDS)
        except (UnmovableError, BusyError):
            if self.elastic is not None and self.publisher.table.version == published:  # refused: as it was
                self.elastic.hold(component, held)
            raise
        finally:  # it may stand although not everybody has confirmed it
            table = self.publisher.table
            if self.elastic is not None and len(table.components[component].active) == count != before:
                self.elastic.was_set(component, before, table)
        _log.info("component %s: %d -> %d active, table %d", component, before, count, version)
        return version

    def release(self, component: str) -> None:
        """See `RunningTopology.release`."""
        check_bolt(self.blueprint, component)
        if self.elastic is None:
            raise InvalidError(f"release({component!r}): nobody else decides; submit the topology with a policy (`pasps.policy`)")
        self.elastic.release(component)

    async def stats(self) -> Stats:
        """See `RunningTopology.stats`."""
        self._check_running()
        return await self.cut()

    async def cut(self) -> Stats:
        """The same while it closes, as long as there are workers."""
        return await self._census.stats(lambda: self.publisher.table, self.workforce.send)

    def set_awake(self, awake: bool) -> None:
        """Spouts begin or stop."""
        self._check_running()
        self._awake = awake
        self._wake()
        if awake and self.elastic is not None:
            self.elastic.awake()

    def _wake(self) -> None:
        """Spouts run that are to, unless all workers are being started anew."""
        self._broadcast(Awake(self._may_emit))

    @property
    def _may_emit(self) -> bool:
        return self._awake and not self.restarts.asleep

    async def restart(self, wanted: Mapping[str, int], held: Collection[str] = ()) -> tuple[dict[str, Act], int, Restarted | None]:
        """Start all workers anew with so many active replicas: see `Restart`. It goes no further when the topology ends.

        Whoever cancels it, as the end of the topology does, hears what had become of it by then, to write that down.

        Raises:
            ClosedError: the topology does not run, or ended before it began.
        """
        self._check_running()
        task = asyncio.get_running_loop().create_task(self.restarts.carry_out(wanted, held))
        for kept in (self._tasks, self._restarting):
            kept.add(task)
            task.add_done_callback(kept.discard)
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait([task])
        finally:
            task.cancel()  # where nobody waits for it any more
        if task.cancelled():
            self._check_running()
        return task.result()

    async def _give_up_restart(self) -> None:
        tasks = list(self._restarting)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def drain(self, seconds: float, *, finish: bool = False) -> Stats:
        """See `RunningTopology.drain`; with `finish` it is for good, and every bolt's `finish` is a part of it."""
        why = "the topology is drained"
        if finish:  # what has said its last must not begin anew
            self.restarts.withhold(why)
        with self.restarts.withheld(why):
            return await self._drain(seconds, finish=finish)

    async def _drain(self, seconds: float, *, finish: bool) -> Stats:
        self.set_awake(False)
        deadline, half, pause = Deadline(self._clock, seconds), Deadline(self._clock, seconds / 2), 0.002
        while True:
            # what nobody acks must not cost the others their last words
            stats, left = await self._look(lambda: finish and seconds > 0, patient=not half.expired())
            # a restart whose workers have ended is waited for: what it took is to be in the records
            if stats.complete and not left and not (finish and self._restarting):
                return stats
            if deadline.expired():
                error = DrainTimeoutError(seconds, left, [*self.troubles(), *filter(None, [self.restarts.under_way])])
                if finish:  # or what became of it by now
                    await self._give_up_restart()
                raise error
            await asyncio.sleep(pause)
            pause = min(2 * pause, 0.05)

    def crash_loops(self) -> list[CrashLoop]:
        """The workers that cannot live, and what kills them."""
        return self._lives.crash_loops(self.workforce.ages())

    def troubles(self) -> list[str]:
        """What keeps a part of the topology from working now, a sentence each: workers that cannot live, or do not come back."""
        return [*map(str, self.crash_loops()), *(stuck_text(info) for info in self.workers() if info.stuck is not None)]

    async def wait_finished(self, seconds: float | None, *, heed: bool = True) -> bool:
        """Wait until every spout task is at the end of its input and all is settled; False when the time is over.

        Raises:
            CrashLoopError: (`heed`) a worker cannot live, so that this may never be; the topology goes on, and starts it again.
        """
        tasks, deadline = set(self._census.spout_tasks), Deadline(self._clock, seconds)

        def at_end() -> bool:
            return tasks <= self._finished or self.state != "RUNNING"

        while True:
            if not await self._news.wait_until(lambda: at_end() or (heed and bool(self.crash_loops())), deadline.remaining()):
                return False
            if heed and (loops := self.crash_loops()):
                raise CrashLoopError("; ".join(map(str, loops)))
            stats, left = await self._look(lambda: tasks <= self._finished)
            if stats.complete and not left and tasks <= self._finished:
                return True
            if deadline.expired():
                return False
            await asyncio.sleep(0.01)

    async def _look(self, may_finish: Callable[[], bool], *, patient: bool = True) -> tuple[Stats, dict[str, int]]:
        """What is still to be waited for; the next bolt is asked for its `finish` when nothing else is.

        That takes two cuts in a row, because two workers' cuts are not of the same instant. Nothing of it is kept here: which
        instances have finished their workers count, so that what died, moved or came back is asked neither twice nor never.
        """
        before = await self.stats()
        due = next_to_finish(before, patient=patient) if before.complete and may_finish() else None
        if due is None and (not before.complete or left_over(before)):
            return before, self._left(before)
        stats = await self.stats()
        left = self._left(stats)
        name = next_to_finish(stats, patient=patient) if stats.complete and may_finish() else None
        if name is not None:
            waiting = stats.components[name].unfinished
            left[finish_of(name)] = waiting
            if name == due and stats.pending == before.pending:
                self._asked = name, waiting
                self._broadcast(Finish(name))
        return stats, left

    def _left(self, stats: Stats) -> dict[str, int]:
        left = left_over(stats)
        if self._asked is None:
            return left
        name, instances = self._asked
        if not stats.complete:  # a `finish` that holds up its worker's loop is in no count
            left.setdefault(finish_of(name), instances)
        elif not (stats.components[name].unfinished or stats.components[name].finishing):
            self._asked = None
        return left

    def workers(self) -> list[WorkerInfo]:
        """The live workers, in order."""
        return self.workforce.infos()

    # ---- small things

    def _check_running(self) -> None:
        if self.state != "RUNNING":
            raise ClosedError(f"topology {self.blueprint.name!r} is {self.state.lower()}")

    def _keep(self, coroutine: Coroutine[Any, Any, None]) -> None:
        if self.state in ("CLOSING", "CLOSED"):  # nobody would wait for it
            coroutine.close()
            return
        task = asyncio.get_running_loop().create_task(_logged(coroutine))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _logged(coroutine: Coroutine[Any, Any, None]) -> None:
    try:
        await coroutine
    except PaspsError as error:
        _log.error("%s", error)
    except Exception:  # noqa: BLE001 - the control cycle's door: the last table stands, the data goes on
        _log.exception("a control step failed")


def stuck_text(info: WorkerInfo) -> str:
    """What a worker has not come back from, in words."""
    stuck = info.stuck
    assert stuck is not None
    if not stuck.where:
        return f"worker {info.id} (process {info.pid}) has not answered for {stuck.seconds:.0f} s, but computes"
    what = f"component {stuck.component!r}, task {stuck.task}" if stuck.component else "code that no component called"
    return f"worker {info.id} (process {info.pid}) has not come back from {what} for {stuck.seconds:.0f} s: {stuck.where}"


def worker_of(blueprint: Blueprint, table: ActivationTable, task: int) -> str:
    """The worker of a task, by its id."""
    plan = blueprint.component_of(task)
    return table.components[plan.id].worker_of(task - plan.first_task)


def check_bolt(blueprint: Blueprint, component: str) -> ComponentPlan:
    """That bolt.

    Raises:
        InvalidError: there is no such bolt.
    """
    plan = blueprint.components.get(component)
    if plan is None or plan.is_spout:
        bolts = ", ".join(name for name, p in blueprint.components.items() if not p.is_spout)
        raise InvalidError(f"expected the id of a bolt ({bolts}), got {component!r}")
    return plan


def check_count(blueprint: Blueprint, component: str, count: object) -> None:
    """Whether a bolt may have that many active replicas.

    Raises:
        InvalidError: no such bolt, or not so many.
    """
    check_bolt(blueprint, component).check_active(count, f"set_active({component!r})")
