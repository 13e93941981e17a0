"""A restart of all workers with other numbers of active replicas, as Storm's rebalance makes it: what the pool is compared with.

The loop asks for it by way of the actuator. Whatever dies meanwhile is `repair`'s, as at any other time.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from pasps.activation import ActivationTable
from pasps.clock import Clock
from pasps.control.decision_log import Act, Outcome, Restarted, Restarts
from pasps.control.news import News
from pasps.control.publisher import TablePublisher
from pasps.control.settings import RestartSettings
from pasps.errors import BrokenError, PaspsError, WorkerStartError
from pasps.topology.census import Census
from pasps.topology.homes import Homes
from pasps.topology.keeper import Keeper
from pasps.topology.repair import CONFIRM_SECONDS, Repair
from pasps.topology.worker_link import WorkerLink
from pasps.topology.workforce import START_SECONDS, Workforce

_log = logging.getLogger(__name__)

_CONNECT_PAUSE = 0.05
_NOBODY = "no worker is alive"
_CUT_SHORT = "the topology ended before all workers were started anew"

Acts = dict[str, Act]


@dataclass(slots=True)
class _Course:
    """One restart: what it is for, when it began, when workers began to end (None: they have not), and what was under way then."""

    acts: Acts
    began: float
    ended: float | None = None
    replayed: int = 0
    dropped: int = 0


class Restart:
    """States: IDLE -> WAITING (spouts are silent, the rest goes on) -> SILENT (workers end and start) -> IDLE. One at a time.

    1. The spouts stop. 2. It waits. 3. The workers close what they have, say what they counted, and end. 4. Replicas are placed as
    at the beginning, as many active as planned. 5. The workers start by that table and are connected. 6. The spouts begin where
    they were. What is under way at 3 goes with the workers: what a spout tracks it emits again from its position, the rest is lost.
    """

    def __init__(
        self,
        settings: RestartSettings,
        clock: Clock,
        workforce: Workforce,
        publisher: TablePublisher,
        repair: Repair,
        homes: Homes,
        census: Census,
        keeper: Keeper,
        forget: Callable[[], None],
        wake: Callable[[], None],
    ) -> None:
        """`forget` is called when no worker is left of those that were there, `wake` whenever `asleep` has changed."""
        self.asleep = False
        """Whether the spouts are to be silent for it."""
        self.under_way = ""
        """What is done now, in words; nothing: no restart."""
        self.so_far = Restarts()
        self.tell: Callable[[str], None] = lambda text: None
        """Told whenever `under_way` changes."""
        self._settings = settings
        self._clock = clock
        self._workforce = workforce
        self._publisher = publisher
        self._repair = repair
        self._homes = homes
        self._census = census
        self._keeper = keeper
        self._forget = forget
        self._wake = wake
        self._off = ""  # why the one that waits, or any, is not wanted
        self._withheld = 0
        self._for_good = False
        self._news = News()

    # ---- for others

    def withhold(self, why: str) -> None:
        """None begins any more, and one that waits is called off. Once workers have begun to end it is too late for that, but a
        silence that was only asked for is over.
        """
        self._for_good = True
        self._call_off(why)

    @contextmanager
    def withheld(self, why: str) -> Iterator[None]:
        """Meanwhile none begins; one that waits is called off, as by `withhold`."""
        self._call_off(why)
        try:
            yield
        finally:
            self._withheld -= 1

    async def over(self) -> None:
        """Wait until workers live again, when a restart has ended them."""
        async with self._publisher.lock:
            pass

    async def carry_out(self, wanted: Mapping[str, int], held: Collection[str]) -> tuple[Acts, int, Restarted | None]:
        """See `pasps.control.loop.Actuator.restart`; bolts in `held`, which may change meanwhile, stay as they are.

        Whoever cancels it hears what had become of it by then, in place of a CancelledError: workers may have ended for it.
        """
        acts = self._acts(wanted, held)
        if not _changes(acts):
            return acts, self._publisher.table.version, None
        if self.under_way:
            return *self._refused(acts, f"a restart is under way: {self.under_way}"), None
        if self._withheld or not self._publisher.table.workers:
            return *self._refused(acts, self._off if self._withheld else _NOBODY), None
        course = _Course(acts, self._clock.now())
        self._off = ""
        wait = f"{self._settings.wait_seconds:g} s"
        self._say(f"all workers are to be started anew ({_text(acts)}); before that the spouts are silent for {wait}")
        self._sleep(True)
        try:
            became, version = await self._run(course, wanted, held)
        except asyncio.CancelledError:
            became, version = self._called_off(course.acts, _CUT_SHORT) if course.ended is None else self._became(course.acts, _CUT_SHORT)
        finally:
            self._sleep(False)
            self._say("")
        if course.ended is None:
            return became, version, None
        done = Restarted(course.ended - course.began, self._clock.now() - course.ended, course.replayed, course.dropped)
        self.so_far = self.so_far.after(done)
        return became, version, done

    async def _run(self, course: _Course, wanted: Mapping[str, int], held: Collection[str]) -> tuple[Acts, int]:
        await self._news.wait_until(lambda: bool(self._off), self._settings.wait_seconds)
        # whoever joins, and whoever changes something, has done so or waits until there are workers again
        # in this order, in which `Repair._join` takes them too: the other way round each would wait for the other
        async with self._repair.joining, self._publisher.lock:
            course.acts = acts = self._acts(wanted, held)
            if not _changes(acts):
                return acts, self._publisher.table.version
            if self._off:
                return self._called_off(acts, self._off)
            if not self._publisher.table.workers:
                return self._refused(acts, _NOBODY)
            course.ended = self._clock.now()
            self._say(f"all workers are being started anew ({_text(acts)})")
            await self._anew(course)
            became = self._became(acts)
        await self._news.wait_until(lambda: self._for_good, max(0.0, course.ended + self._settings.silence_seconds - self._clock.now()))
        return became

    def _call_off(self, why: str) -> None:
        self._off = why
        self._withheld += 1
        self._news.tell()

    # ---- what changes

    def _acts(self, wanted: Mapping[str, int], held: Collection[str]) -> Acts:
        acts: Acts = {}
        for name, count in wanted.items():
            before = len(self._publisher.table.components[name].active)
            if name in held:
                acts[name] = Act(before, count, before, Outcome.HELD)
            elif before != count:
                acts[name] = Act(before, count, count, Outcome.DONE)
        return acts

    def _refused(self, acts: Acts, why: str) -> tuple[Acts, int]:
        failed = {name: replace(act, after=act.before, outcome=Outcome.FAILED, error=why) for name, act in _changes(acts).items()}
        return {**acts, **failed}, self._publisher.table.version

    def _called_off(self, acts: Acts, why: str) -> tuple[Acts, int]:
        """The same of one that had begun to wait."""
        _log.info("a restart of all workers (%s) was called off: %s", _text(acts), why)
        self.so_far = replace(self.so_far, called_off=self.so_far.called_off + 1)
        return self._refused(acts, why)

    def _became(self, acts: Acts, cut_short: str = "") -> tuple[Acts, int]:
        """What every live worker routes by, unless there is none; `cut_short`: why nobody waits until there is one."""
        table, why = self._publisher.table, ""
        if not table.workers:
            why = cut_short or "no worker has come back yet; they are started again"
        elif not self._publisher.confirmed(table.version):
            why = cut_short or f"table {table.version} was not confirmed by all workers within {CONFIRM_SECONDS:g} s"
        outcome = Outcome.FAILED if why else Outcome.DONE
        became = {
            name: replace(act, after=len(table.components[name].active), outcome=outcome, error=why) for name, act in _changes(acts).items()
        }
        return {**acts, **became}, table.version

    # ---- the workers

    async def _anew(self, course: _Course) -> None:
        """End all that live, and start them by the next table."""
        before = self._publisher.table
        links = [self._workforce.links[worker] for worker in before.workers]
        # before they end, so that they are taken out of no table, and none is sent to them
        self._publisher.vacate()
        failures: dict[str, PaspsError] = {}
        try:
            await self._end(links, before, course)
            came = await self._placed([link.worker for link in links], failures)
            active = {name: len(routing.active) for name, routing in before.components.items()}
            active |= {name: act.planned for name, act in _changes(course.acts).items()}
            table = replace(self._homes.settle_anew(came, active), version=self._publisher.table.version + 1)
            await self._keeper.intend(table)
            up = await self._up(came, table, failures)
            self._publisher.begin(table)
            self._keeper.acted(table)
            # by another table: what they were to run has to go to those who are up
            for worker in table.workers:
                if worker not in up:
                    self._publisher.lose(worker)
        finally:
            # however this ends: who does not live now is started by `repair`, as if it had been lost
            for worker in before.workers:
                if worker not in self._publisher.table.workers:
                    self._repair.revive(worker, failures.get(worker, WorkerStartError(f"worker {worker}: it was not started anew")))
        await self._publisher.wait_confirmed(self._publisher.table.version, CONFIRM_SECONDS)

    async def _end(self, links: Sequence[WorkerLink], table: ActivationTable, course: _Course) -> None:
        try:
            await self._workforce.close(links)
        finally:
            # in any case: they are in no table, and what they counted would be in no sum if it were not that of the dead
            course.replayed, course.dropped = self._census.under_way(links, table)
            for link in links:
                self._census.bury(link)
            self._forget()

    async def _placed(self, workers: Sequence[str], failures: dict[str, PaspsError]) -> list[WorkerLink]:
        """New processes for them, as far as there are places within the time that a worker has to start."""
        loop = asyncio.get_running_loop()
        tasks = {worker: loop.create_task(self._workforce.place(worker)) for worker in workers}
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

    async def _up(self, came: Sequence[WorkerLink], table: ActivationTable, failures: dict[str, PaspsError]) -> list[str]:
        """Those that are initialized by that table, connected to each other, and there."""
        positions = self._census.positions
        told = [self._workforce.introduce(link, table, positions, restarted=True) for link in came]
        ready = _those_done(came, await asyncio.gather(*told, return_exceptions=True), failures)
        linked = [self._connect(link, ready[:place]) for place, link in enumerate(ready)]
        up = _those_done(ready, await asyncio.gather(*linked, return_exceptions=True), failures)
        return [link.worker for link in up if self._workforce.links.get(link.worker) is link]

    async def _connect(self, link: WorkerLink, others: Sequence[WorkerLink]) -> None:
        """With those that are still there: one may have died since it was ready, and is repaired when the others live."""
        for last in (False, False, True):
            links = self._workforce.links
            try:
                await self._workforce.connect(link, [other.worker for other in others if links.get(other.worker) is other])
                return
            except BrokenError:
                if last or self._workforce.links.get(link.worker) is not link:
                    raise
                await asyncio.sleep(_CONNECT_PAUSE)

    # ---- small things

    def _sleep(self, asleep: bool) -> None:
        self.asleep = asleep
        self._wake()

    def _say(self, text: str) -> None:
        self.under_way = text
        if text:
            _log.info("%s", text)
        self.tell(text)


def _changes(acts: Acts) -> Acts:
    return {name: act for name, act in acts.items() if act.outcome is Outcome.DONE}


def _text(acts: Acts) -> str:
    return ", ".join(f"{name} {act.before} -> {act.planned}" for name, act in _changes(acts).items())


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
