"""One spout task: asks for tuples when there is room, keeps the ledger of those that are tracked, tells the spout their fate.

Its step starts a tuple's walk; `settle_acks` and the time-out end it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pasps.api.blueprint import ComponentPlan
from pasps.clock import Clock
from pasps.errors import EndOfInput
from pasps.ids import IdSource
from pasps.runtime.ack_ledger import Entry
from pasps.runtime.batch import Row
from pasps.runtime.emitter import Delivery, Port
from pasps.runtime.executor import Executor, Schedule
from pasps.runtime.fates import Fates
from pasps.runtime.pace import STEP_SECONDS
from pasps.runtime.spout_collector import SpoutCollector

_FIRST_WAIT = 0.0005
_LONGEST_WAIT = 0.020
_QUIET_SECONDS = 5.0
_QUIET_WAIT = 0.050  # after so long without a tuple: see docs/decisions/0007
_LONGEST_ERROR_WAIT = 1.0


class SpoutExecutor(Executor):
    """States: ASLEEP (before activate and after deactivate), RUNNING, FINISHED (raised EndOfInput; a failure wakes it again).

    `next_tuple` is not called while anything it emitted is parked, while `max_pending` tuples are pending,
    or before the time that it asked for.
    """

    __slots__ = (
        "_call_at", "_emitted_at", "_error_wait", "_report", "_timer_at", "_wait", "_wake_at", "awake", "collector", "fates", "finished",
        "instance", "max_pending", "most", "task_id", "tracking",
    )  # fmt: skip

    def __init__(
        self,
        plan: ComponentPlan,
        task: int,
        rank: int,
        clock: Clock,
        schedule: Schedule,
        ids: IdSource,
        report: Callable[[BaseException], None],
        call_at: Callable[[float, Callable[[], None]], None],
    ) -> None:
        super().__init__(plan, task, rank, clock, schedule)
        self.task_id = plan.first_task + task
        self.fates = Fates(self.task_id, clock, ids, self.meter, report)
        self.instance: Any = None
        self.collector: SpoutCollector
        self.awake = False
        self.finished = False
        self.tracking = True
        self.max_pending: int | None = None
        self.most = 512
        self._report = report
        self._call_at = call_at
        self._wait = _FIRST_WAIT
        self._error_wait = _FIRST_WAIT
        self._wake_at = 0.0
        self._timer_at = 0.0
        self._emitted_at = clock.now()

    # ---- emitting

    def step(self) -> None:
        """Ask the spout for up to 2 ms of tuples and hand them over."""
        if self.emitter.parked:
            self.emitter.unpark()
        if not self.awake or self.finished or self.note_held_back():
            return
        now = self.clock.now()
        if now < self._wake_at:
            self._call_when_due()
            return
        delay = self._ask(now + STEP_SECONDS)
        emitted = self.collector.count
        if emitted:
            self._emitted_at = now
            self.flush()
        if self.finished or (self.emitter.parked and self.note_held_back()):
            return
        if delay is None and emitted:
            self._wait = _FIRST_WAIT
            self.wake()
            return
        if delay is None:
            delay = self._wait
            longest = _LONGEST_WAIT if now - self._emitted_at < _QUIET_SECONDS else _QUIET_WAIT
            self._wait = min(longest, 2 * self._wait)
        if delay <= 0.0:
            self.wake()
            return
        self._wake_at = self.clock.now() + delay
        self._call_when_due()

    def _ask(self, until: float) -> float | None:
        """Call `next_tuple` until the time or the batch is full, or the spout has nothing; returns the wait it asked for."""
        next_tuple, collector, now, before = self.instance.next_tuple, self.collector, self.clock.now, -1
        try:
            while collector.count < self.most and collector.count != before and not self._full():
                before = collector.count
                delay: float | None = next_tuple()
                if delay is not None:
                    return max(0.0, float(delay))
                if now() >= until:
                    break
        except EndOfInput:
            self.finished = True
        except Exception as error:  # noqa: BLE001 - the step's door: reported, asked again later
            self._report(error)
            self._error_wait = min(_LONGEST_ERROR_WAIT, 4 * self._error_wait)
            return self._error_wait
        return None

    def _full(self) -> bool:
        most = self.max_pending
        return most is not None and len(self.fates.ledger) + self.collector.count >= most

    def note_held_back(self) -> bool:
        """Whether there is no room for more; counted. Cuts ask too, since a spout that waits for room takes no steps."""
        held_back = bool(self.emitter.parked) or self._full()
        self.meter.held_back += held_back
        return held_back

    def _call_when_due(self) -> None:
        """One timer at a time, however often it is woken in between."""
        if not self._timer_at or self._timer_at > self._wake_at:
            self._timer_at = self._wake_at
            self._call_at(self._wake_at, self._timer_fired)

    def _timer_fired(self) -> None:
        self._timer_at = 0.0
        self.wake()

    def flush(self) -> None:
        """Hand over what the spout emitted, in order."""
        for port, rows, tup_ids in self.collector.take():
            untracked = tup_ids.count(None)
            self.fates.count_replays(tup_ids)
            if not self.tracking or untracked == len(rows):
                self.emitter.route(port, rows, None, None)
                if untracked < len(rows):
                    self.fates.tell_acked([tup_id for tup_id in tup_ids if tup_id is not None])
                continue
            roots = self.fates.track(tup_ids, untracked)
            self.emitter.route(port, rows, roots, roots)

    def emitted_first(self) -> int:
        """First emissions so far, those included that wait for the end of the step."""
        return sum(port.emitted for port in self.emitter.ports.values()) + self.collector.count - self.meter.replayed

    def settled_first(self) -> int:
        """What a position that is saved now covers, as far as can be told; negative while a dead worker's emissions are to come again."""
        return self.emitted_first() - self.fates.replays.debt - len(self.fates.ledger) - self.collector.count

    def emit_now(self, port: Port, row: Row, tup_id: Any, deliveries: list[Delivery]) -> None:
        """Hand one row over to receivers that are chosen already, after what was emitted before it."""
        self.flush()
        self.fates.count_replays([tup_id])
        port.emitted += 1
        if tup_id is None or not self.tracking:
            self.emitter.deliver(port, deliveries, [row], None, None, None, self.task_id)
            self.fates.tell_acked([] if tup_id is None else [tup_id])
            return
        roots = self.fates.track([tup_id], 0)
        self.emitter.deliver(port, deliveries, [row], roots, roots, None, self.task_id)

    # ---- the fate of what was emitted

    def settle_acks(self, roots: list[int], deltas: list[int] | None) -> None:
        """Acks from the ack box or from a peer."""
        if self.fates.settle(roots, deltas):
            if self.collector.count and not self.awake:  # emitted in `ack`
                self.flush()
            if self.awake and not self.finished and self.max_pending is not None:
                self.wake()

    def settle_fails(self, roots: list[int]) -> None:
        """Failures from the ack box or from a peer."""
        self._failed(self.fates.ledger.fail(roots))

    def expire(self) -> None:
        """One message time-out has passed."""
        self._failed(self.fates.ledger.rotate())

    def fail_all(self) -> None:
        """A worker or a connection was lost: whatever is pending may be with it."""
        self._failed(self.fates.ledger.fail_all())

    def _failed(self, entries: list[Entry]) -> None:
        if not entries:
            return
        self.fates.tell_failed(entries)
        if self.collector.count:  # emitted in `fail`; goes out even if the spout is asleep
            self.flush()
        self.finished = False
        self._wake_at = 0.0  # there is something to emit again, whatever it asked for before
        if self.awake:
            self.wake()

    # ---- lifecycle

    def activate(self) -> None:
        """Begin, or go on."""
        if not self.awake:
            self.awake = True
            self._wake_at = 0.0
            self._lifecycle("activate")
            self.wake()

    def deactivate(self) -> None:
        """Ask for no more tuples; what was emitted is still accounted for."""
        if self.awake:
            self.awake = False
            self._lifecycle("deactivate")

    def _lifecycle(self, name: str) -> None:
        try:
            getattr(self.instance, name)()
        except Exception as error:  # noqa: BLE001 - a hook of the user's: reported
            self._report(error)

    def idle(self) -> bool:
        """Whether everything it emitted is settled and has left."""
        return not len(self.fates.ledger) and not self.emitter.parked
