"""A restart of all workers with other numbers of active replicas, as Storm's rebalance makes it: what the pool is compared with.

When and what for is here; how workers end and begin is the controller's. The loop asks for it by way of the actuator.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from pasps.clock import Clock
from pasps.control.decision_log import Act, Outcome, Restarted, Restarts
from pasps.control.news import News
from pasps.control.publisher import CONFIRM_SECONDS, TablePublisher
from pasps.control.settings import RestartSettings

_log = logging.getLogger(__name__)

_NOBODY = "no worker is alive"
_CUT_SHORT = "the topology ended before all workers were started anew"

Acts = dict[str, Act]


@dataclass(slots=True)
class Course:
    """One restart: what it is for, when it began, when workers began to end (None: they have not), and what was under way then."""

    acts: Acts
    began: float
    ended: float | None = None
    replayed: int = 0
    dropped: int = 0

    @property
    def planned(self) -> dict[str, int]:
        """So many active replicas the bolts get that change."""
        return {name: act.planned for name, act in _changes(self.acts).items()}


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
        publisher: TablePublisher,
        joining: asyncio.Lock,
        anew: Callable[[Course], Awaitable[None]],
        wake: Callable[[], None],
    ) -> None:
        """`joining` is held by whoever makes workers live. `anew` is step 3 to 5: called with it and with the publisher's lock held, when
        `ended` of the course is set. `wake` is called whenever `asleep` has changed."""
        self.asleep = False
        """Whether the spouts are to be silent for it."""
        self.under_way = ""
        """What is done now, in words; nothing: no restart."""
        self.so_far = Restarts()
        self.tell: Callable[[str], None] = lambda text: None
        """Told whenever `under_way` changes."""
        self._settings = settings
        self._clock = clock
        self._publisher = publisher
        self._joining = joining
        self._anew = anew
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
        course = Course(acts, self._clock.now())
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

    async def _run(self, course: Course, wanted: Mapping[str, int], held: Collection[str]) -> tuple[Acts, int]:
        await self._news.wait_until(lambda: bool(self._off), self._settings.wait_seconds)
        # whoever joins, and whoever changes something, has done so or waits until there are workers again
        # in this order, in which who joins takes them too: the other way round each would wait for the other
        async with self._joining, self._publisher.lock:
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
