"""The ticks of a topology's loop: a snapshot from somewhere, a decision, a sample of the run's course. Its owner runs `run`.

Live and simulated runs differ in their `StatsSource`, their clock and their event loop; what is done each tick is this.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from pasps.clock import Clock
from pasps.control import run_log
from pasps.control.loop import MapeLoop
from pasps.control.monitor import Machine, busy_share
from pasps.control.run_log import Sample
from pasps.errors import PaspsError
from pasps.metrics import Stats

_log = logging.getLogger(__name__)

SECOND = 1.0
_EARLY = 0.5
"""A sample may be this part of a tick (at most of a second) early: ticks are not on the dot."""


class StatsSource(Protocol):
    """Where snapshots come from: a controller's workers, or a model of them."""

    async def stats(self) -> Stats:
        """A snapshot as of now. May take a while; raises PaspsError when there is none, and the tick is left out."""

    def machine(self) -> Machine:
        """What it runs on, as of now. Never blocks."""


class Ticking:
    """One for each loop. On the event loop that calls `run`; decisions are made beside the ticks, so that no second is missed."""

    def __init__(
        self, loop: MapeLoop, source: StatsSource, clock: Clock, samples: Callable[[Sample], None], correction_seconds: float | None
    ) -> None:
        """`samples` gets one sample a second and must not block; `correction_seconds`: of a policy that corrects, else None."""
        self._loop, self._source, self._clock, self._samples = loop, source, clock, samples
        self._corrects = correction_seconds is not None
        self._period = SECOND if correction_seconds is None else min(SECOND, correction_seconds)
        self._early = _EARLY * self._period
        self._sampled = 0.0
        self._machine: Machine | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._pressed_at = 0.0
        self._hurried: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Tick until it is cancelled. A tick that fails is left out: the last table stands, the data goes on."""
        clock = self._clock
        at = clock.now()
        while True:
            try:
                await self.tick()
            except PaspsError as error:
                _log.warning("a control cycle was left out: %s", error)
            except Exception:  # noqa: BLE001 - the control cycle's door: the last table stands, the data goes on
                _log.exception("a control cycle failed")
            at = max(at + self._period, clock.now() - self._period)  # what was missed is not made up for
            await asyncio.sleep(max(0.0, at - clock.now()))

    async def tick(self) -> None:
        """One snapshot, and what follows from it.

        Raises:
            PaspsError: there is no snapshot.
        """
        stats = await self._source.stats()
        machine = self._source.machine()
        expected = self._loop.predicted()  # before it knows of this snapshot: what was expected of the time that ends with it
        moment = self._loop.tick(stats, machine)
        # a sample a second, however often it ticks
        if stats.uptime_seconds >= self._sampled + SECOND - self._early:
            self._record(stats, machine, expected)
        if moment is not None:
            self._keep(self._loop.decide(moment))
        if self._corrects:
            self._keep(self._loop.refresh_forecast())

    def press(self) -> None:
        """Somewhere more comes than replicas take: correct at once, however far off the next correction is.

        Once between two ticks, one at a time, and only where the policy corrects. On the loop; never blocks.
        """
        now, under_way = self._clock.now(), self._hurried is not None and not self._hurried.done()
        if self._corrects and not under_way and now >= self._pressed_at + self._period:
            self._pressed_at = now
            self._loop.hurry()
            self._hurried = asyncio.get_running_loop().create_task(self._tick_now())

    async def _tick_now(self) -> None:
        try:
            await self.tick()
        except PaspsError:  # the topology ends, or the next tick, which is not far, says what is wrong
            pass
        except Exception:  # noqa: BLE001 - the control cycle's door: the last table stands, the data goes on
            _log.exception("a hurried control cycle failed")

    def sample(self, stats: Stats) -> None:
        """A sample of this snapshot, whenever the last one was: the course's end."""
        self._record(stats, self._source.machine(), self._loop.predicted())

    async def close(self) -> None:
        """Give up the decisions that are under way."""
        if self._hurried is not None:  # first: its tick may begin a decision
            self._hurried.cancel()
            await asyncio.gather(self._hurried, return_exceptions=True)
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _record(self, stats: Stats, machine: Machine, expected: float | None) -> None:
        before = self._machine
        busy = None if before is None else busy_share(before, machine)
        self._sampled, self._machine = stats.uptime_seconds, machine
        self._samples(run_log.sample_of(stats, self._clock.wall(), expected, busy))

    def _keep(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(_logged(coroutine))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _logged(coroutine: Coroutine[Any, Any, None]) -> None:
    try:
        await coroutine
    except Exception:  # noqa: BLE001 - the control cycle's door: the last table stands, the data goes on
        _log.exception("a control decision failed")
