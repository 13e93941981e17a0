"""The controller of one topology: publishes tables, repairs, drains. Lives on one event loop.

What it decides is in `control`, its processes are in `workforce`, its counters in `census`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from pasps.activation import ActivationTable, with_active
from pasps.api.blueprint import Blueprint, ComponentPlan
from pasps.clock import Clock, Deadline
from pasps.cluster.launch.launcher import Launcher
from pasps.control.decision_log import Act, Restarted
from pasps.control.news import News
from pasps.control.publisher import TablePublisher
from pasps.control.settings import RestartSettings
from pasps.control.statistics import finish_of, left_over, next_to_finish
from pasps.errors import BrokenError, BusyError, ClosedError, CrashLoopError, DrainTimeoutError, InvalidError, PaspsError, UnmovableError
from pasps.metrics import Stats, WorkerCounts, blocks_text
from pasps.topology.actuator import TableActuator
from pasps.topology.census import Census
from pasps.topology.homes import Homes
from pasps.topology.keeper import Keeper, NoKeeper
from pasps.topology.lives import CrashLoop, Lives
from pasps.topology.repair import CONFIRM_SECONDS, Repair
from pasps.topology.restart import Restart
from pasps.topology.worker_link import WorkerLink
from pasps.topology.workforce import WorkerInfo, Workforce
from pasps.worker.messages import (
    Applied,
    Awake,
    Counts,
    Finish,
    Finished,
    FromWorker,
    LinkLost,
    Moved,
    MoveFailed,
    Parked,
    Pressed,
    Problem,
    Table,
    ToWorker,
)

_log = logging.getLogger(__name__)


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


@dataclass(frozen=True, slots=True)
class ElasticView:
    """What people see of a topology's elasticity. Rates are events a second: what became due in the last one, and what is expected in
    the next."""

    policy: str
    predictor: str | None
    source: str | None
    arrived: float | None
    predicted: float | None
    decision: str
    held: Mapping[str, int]


class Companion(Protocol):
    """Who decides on replicas, beside the controller and on its loop. What does so is `Elastic`, which imports this module."""

    async def start(self) -> None:
        """The topology is up."""

    def awake(self) -> None:
        """The spouts begin, or begin again."""

    def set_by_hand(self, component: str, count: int) -> int | None:
        """Somebody sets a bolt's replicas; returns at what it was held before, if it was."""

    def was_set(self, component: str, before: int, table: ActivationTable) -> None:
        """Somebody has set a bolt's replicas, which has them since that table."""

    def hold(self, component: str, count: int | None) -> None:
        """Hold a bolt at that number, or (None) no longer."""

    def release(self, component: str) -> None:
        """Whoever set them takes that back."""

    def pressed(self, component: str) -> None:
        """A worker says that more comes to a bolt than its replicas there take. Never blocks."""

    def view(self) -> ElasticView:
        """What is known now. From any thread; does not block."""

    async def close(self) -> None:
        """The topology ends."""


class TopologyController:
    """States: STARTING -> RUNNING -> CLOSING -> CLOSED. A worker that is lost is repaired at once and started again."""

    def __init__(self, blueprint: Blueprint, workers: int, launcher: Launcher, clock: Clock, keeper: Keeper | None = None) -> None:
        """`keeper`: what has to outlive this controller; None: nothing.

        `losses` are the last workers that died, `lost` how many did; those that died of their own accord are in `errors` too. Who was
        ended for a restart of all is in neither.
        """
        self.blueprint = blueprint
        self.errors: deque[ErrorReport] = deque(maxlen=1000)
        self.losses: deque[ErrorReport] = deque(maxlen=100)
        self.lost = 0
        self.parked: dict[tuple[str, int], int] = {}
        self.state = "STARTING"
        self.elastic: Companion | None = None
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
        self._repair = Repair(
            self._homes.routings,
            self.publisher,
            self.workforce,
            self._census,
            self._broadcast,
            self._keep,
            self._lives,
            self._tell,
            self._tell_of_loss,
        )
        self.restarts = Restart(
            RestartSettings.from_config(blueprint.config),
            clock,
            self.workforce,
            self.publisher,
            self._repair,
            self._homes,
            self._census,
            self._keeper,
            self._forget,
            self._wake,
        )
        self.actuator = TableActuator(self.publisher, self.restart)

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
            case Parked(component, replica, version):
                self.parked[component, replica] = version
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
                self.elastic.pressed(component)
            case LinkLost() if self.state == "RUNNING":
                self._keep(self._repair.relink(link.worker, message))

    def _warn_of_blocking(self, counts: WorkerCounts) -> None:
        """Once for each component."""
        for replica in counts.replicas:
            if replica.blocks and replica.component not in self._blocking:
                self._blocking.add(replica.component)
                is_spout = self.blueprint.components[replica.component].is_spout
                _log.warning("component %r: %s", replica.component, blocks_text(is_spout=is_spout))

    def _on_gone(self, link: WorkerLink) -> None:
        table = self.publisher.table
        # by the table in which it lived: `repair` publishes one in which its tasks are with others
        self._finished = {task for task in self._finished if worker_of(self.blueprint, table, task) != link.worker}
        if self.state == "RUNNING":
            self.lost += 1
            self._news.tell()
            self._repair.gone(link)

    def _forget(self) -> None:
        """All workers have ended, on purpose: every spout begins anew."""
        self._finished.clear()
        self._news.tell()

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
        self._repair.awake = self._awake and not self.restarts.asleep
        self._broadcast(Awake(self._repair.awake))

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
