"""`initialize` while the topology runs: when it raises, that is reported, and it is tried again until it succeeds.

Called where a table brings tasks that nobody alive has. What comes for a bolt's task waits meanwhile, which holds its senders back.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from pasps.api.blueprint import ComponentPlan
from pasps.clock import Clock
from pasps.errors import Interrupt
from pasps.runtime.executor import BoltExecutor
from pasps.runtime.hosting import Hosting, SpoutStart
from pasps.runtime.replica_pool import Key
from pasps.runtime.residents import Residents
from pasps.runtime.spout_executor import SpoutExecutor
from pasps.runtime.task_slot import TaskSlot

_PAUSE_SECONDS = 1.0
_REST = 9.0
"""Pauses are at least so many times as long as the try was: one that waits for a server in vain must not hold up the worker."""


class LateStarts:
    """One for each worker. Until `live` a failure is raised: the worker does not come up, and others go on without it."""

    def __init__(self, residents: Residents, hosting: Hosting, clock: Clock, call_at: Callable[[float, Callable[[], None]], None]) -> None:
        self.live = False
        self.moves: Callable[[Key], bool] = lambda _: False
        """Whether a task is on its way to or from another worker."""
        self.place_spouts: Callable[[], None] = lambda: None
        """Asks for the spouts that are missing once more."""
        self.started: Callable[[Key], None] = lambda _: None
        """Told the replica of a bolt's task that has got its instance after all."""
        self._residents = residents
        self._hosting = hosting
        self._clock = clock
        self._call_at = call_at
        self._spouts_due: dict[int, float] = {}

    def fill(self, slot: TaskSlot, executor: BoltExecutor) -> None:
        """Give the task a fresh instance, now or as soon as that succeeds; until then its slot holds what comes."""
        begun = self._clock.now()
        try:
            self._hosting.fill(slot, executor)
        except Interrupt:
            raise
        except BaseException as error:
            if not self.live:
                raise
            slot.instance = None
            slot.hold()
            self._hosting.report(executor, error)
            self._call_at(self._next(begun), partial(self._fill_again, slot))

    def _fill_again(self, slot: TaskSlot) -> None:
        key, executor = (slot.component, slot.task), slot.host
        if self._residents.slots.get(key) is not slot or slot.instance is not None or not isinstance(executor, BoltExecutor):
            return
        if self.moves(key):  # whoever hosts it then starts it, or has its state
            self._call_at(self._clock.now() + _PAUSE_SECONDS, partial(self._fill_again, slot))
            return
        self.fill(slot, executor)
        if slot.instance is not None:
            slot.release()
            self.started((executor.plan.id, executor.replica))

    def spout(self, plan: ComponentPlan, replica: int, start: SpoutStart) -> SpoutExecutor | None:
        """A spout task that goes on here; None when it could not be started now."""
        task_id, begun = plan.first_task + replica, self._clock.now()
        if begun < self._spouts_due.get(task_id, begun):
            return None
        try:
            executor = self._hosting.spout_executor(plan, replica, start)
        except Interrupt:
            raise
        except BaseException as error:
            if not self.live:
                raise
            self._hosting.report_start(plan, replica, error)
            self._spouts_due[task_id] = self._next(begun)
            self._call_at(self._spouts_due[task_id], self.place_spouts)
            return None
        self._spouts_due.pop(task_id, None)
        return executor

    def _next(self, begun: float) -> float:
        now = self._clock.now()
        return now + max(_PAUSE_SECONDS, _REST * (now - begun))
