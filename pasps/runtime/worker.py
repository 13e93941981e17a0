"""A worker without I/O: wires everything that it hosts, and is stepped by whoever owns the event loop.

The walk of a tuple starts and ends here: `step` runs executors, takes acks to their ledgers and flushes peers.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from pasps.activation import ActivationTable
from pasps.api.blueprint import Blueprint
from pasps.clock import Clock, Deadline
from pasps.config import Settings
from pasps.ids import IdSource
from pasps.runtime.ack_courier import AckCourier
from pasps.runtime.draining import Draining
from pasps.runtime.emitter import Emitter
from pasps.runtime.executor import BoltExecutor, raised_by
from pasps.runtime.hosting import Hosting, MakeEmitter, Services
from pasps.runtime.late_starts import LateStarts
from pasps.runtime.lending import Lending
from pasps.runtime.load_reports import LoadReports
from pasps.runtime.origin import tick_tuple
from pasps.runtime.parts import Parts, ack_box_for, targets_of
from pasps.runtime.pump import Pump
from pasps.runtime.replica_pool import Key, ReplicaState
from pasps.runtime.reports import Reports, is_raised, let_go, told_of
from pasps.runtime.switchboard import Switchboard, releaser
from pasps.runtime.table_keeper import Positions, TableKeeper
from pasps.runtime.task_moves import TaskMoves
from pasps.runtime.throttle import Throttle
from pasps.runtime.timers import Timers
from pasps.runtime.waiting_executors import Spawn
from pasps.transport.values import RowWrapper

_log = logging.getLogger(__name__)

GARBAGE_THRESHOLDS = (10_000, 10, 10)
"""For `gc.set_threshold` in a process of workers, after `gc.freeze`.

Tuples come and go by the thousand and hardly ever form circles, and Python's own 700 costs up to 3% of the time. But where user
code makes circles, a parsed document for each tuple, so many objects wait with all that they hold: no more than that.
"""

_CLOSE_SECONDS = 3.0
"""How long the end of a worker waits for calls that are under way on threads; its controller ends it after five anyway."""


@dataclass(frozen=True)
class Surroundings:
    """What a worker needs of its process: time, randomness, somebody who reads its reports, and an event loop to borrow."""

    clock: Clock
    ids: IdSource
    reports: Reports
    rows: RowWrapper
    spawn: Spawn
    notify: Callable[[BoltExecutor], None]
    emitter: MakeEmitter = Emitter
    restarted: bool = False
    """Whether it is started in place of a worker that was lost."""


class Worker:
    """Single-threaded. `step` never blocks longer than the user's code does; nothing of the user's raises out of it."""

    def __init__(self, blueprint: Blueprint, worker: str, workers: int, around: Surroundings) -> None:
        self.settings = Settings.from_config(blueprint.config)
        self.timers = Timers()
        self.pump = Pump(len(blueprint.components), around.clock, self.settings.flush_interval_seconds)
        self.awake = False
        self._closed = False
        acks, targets = ack_box_for(blueprint), targets_of(blueprint)
        parts = Parts(worker, workers, blueprint, self.settings, around.clock, around.reports, around.rows, acks, targets)
        self._parts = parts
        self.id, self.blueprint, self.clock, self.acks = worker, blueprint, around.clock, acks
        self.residents, self.pool, self.peers = parts.residents, parts.pool, parts.peers
        self._throttle = Throttle(self.settings.error_throttle_seconds, self.settings.max_error_reports)
        self.hosting = Hosting(blueprint, self._services(around))
        late = LateStarts(self.residents, self.hosting, around.clock, self.timers.call_at)
        self.moves = TaskMoves(parts, self.hosting, late)
        self.keeper = TableKeeper(parts, self.hosting, self.moves, late)
        late.moves, late.place_spouts, late.started = self.moves.has, self._place_spouts, self._started
        self._draining = Draining(parts, self.keeper, self.moves, self.hosting)
        self._courier = AckCourier(parts, self.keeper)
        self._loads = LoadReports(parts, self.pump.stepped, self.keeper)
        self._lending = Lending(parts, self.keeper)
        self.switchboard = Switchboard(
            parts, self.keeper, self.moves, self._draining, self._courier, self._loads, self._lending, self.report_error
        )
        self._start_timers()

    def _services(self, around: Surroundings) -> Services:
        return Services(
            worker=self.id,
            clock=around.clock,
            ids=around.ids,
            acks=self.acks,
            schedule=self.pump.schedule,
            release=partial(releaser, self._parts),
            release_output=self.flush,
            targets=self._parts.targets.__getitem__,
            active=self._active_tasks,
            report=self.report_error,
            spawn=around.spawn,
            notify=around.notify,
            call_at=self.timers.call_at,
            inboxes=self.residents.inboxes,
            dry=None if self._parts.workers == 1 else self._dry,
            emitter=around.emitter,
            restarted=around.restarted,
        )

    def _start_timers(self) -> None:
        if self.settings.timeouts_enabled:
            self._every(self.settings.message_timeout_seconds, self._expire)
        for name, plan in self.blueprint.components.items():
            seconds = self.hosting.settings[name].tick_seconds
            if seconds is not None and not plan.is_spout:
                self._every(seconds, partial(self._tick, name, seconds))

    def _every(self, seconds: float, call: Callable[[], None]) -> None:
        def again() -> None:
            call()
            self._every(seconds, call)

        self.timers.call_at(self.clock.now() + seconds, again)

    # ---- stepping

    def step(self) -> bool:
        """Run everyone who is ready once, then send what they left; True when there is more to do at once.

        A pass lasts no longer than the flush interval, so nothing waits longer, and nothing waits when all is idle.
        """
        if self._closed:  # whoever owns the loop may still have a step to make; no user code runs behind its `close`
            return False
        self.timers.fire(self.clock.now())
        self.pump.run_pass()
        self._loads.send_due()
        self.flush()
        if self._draining.busy():
            self._draining.go_on()
        return self.pump.has_work()

    def flush(self) -> None:
        """Take acks to their ledgers, and send every peer what waits for it."""
        self._courier.deliver()
        for peer in self.peers.values():
            peer.flush()
        if self.acks:  # of tuples that turned out to be unable to travel
            self._courier.deliver()
            for peer in self.peers.values():
                peer.flush()

    def next_at(self) -> float | None:
        """When `step` has something to do even if nothing arrives."""
        return self.timers.next_at()

    # ---- control

    def apply(self, table: ActivationTable, positions: Positions) -> None:
        """Route by this table from the next step on."""
        old = self.keeper.table
        for worker, incarnation in old.workers.items() if old is not None else ():
            peer = self.peers.get(worker)
            if peer is not None and peer.incarnation == incarnation and table.workers.get(worker) != incarnation:
                self.peers.pop(worker).drop()
                self.moves.link_lost(worker)
                self._lending.link_lost(worker)
        self.keeper.apply(table, positions)
        self.switchboard.take_early()
        if self.awake:
            self.activate()  # a spout task may have come here
        self._draining.go_on()

    def _place_spouts(self) -> None:
        self.keeper.place_spouts()
        if self.awake:
            self.activate()

    def _started(self, key: Key) -> None:
        if self.keeper.state(key) is ReplicaState.ACTIVE:
            self.keeper.lifecycle(key, "activate")
        self.keeper.share_out()

    def activate(self) -> None:
        """Spouts begin, or go on."""
        self.awake = True
        for spout in self.residents.spouts.values():
            spout.activate()

    def deactivate(self) -> None:
        """Spouts stop; everything else goes on."""
        self.awake = False
        self._closed = False
        for spout in self.residents.spouts.values():
            spout.deactivate()

    def fence(self) -> None:
        """Every live worker has confirmed a table without the one that was lost: fail what was emitted before now."""
        for spout in self.residents.spouts.values():
            spout.fail_all()

    def finish(self, component: str) -> None:
        """Have `finish` called on every instance of a bolt that needs it, on replicas that are not active too."""
        for (name, _), executor in self.residents.executors.items():
            if name == component:
                executor.finish()

    def close(self) -> None:
        """Call `close` of everything; exceptions are reported. Steps do nothing from now on."""
        self._closed = True
        for executor in self.residents.executors.values():
            self.hosting.close_all(executor)
            executor.stop()
        for spout in self.residents.spouts.values():
            self.hosting.close(spout, spout.instance)
        # threads close one beside the other; a blocking call that is under way is given a while
        deadline = Deadline(self.clock, _CLOSE_SECONDS)
        for executor in self.residents.executors.values():
            executor.wait_stopped(deadline.remaining() or 0.0)

    def _dry(self, component: str) -> None:
        self._lending.dry(component)

    def _active_tasks(self, component: str) -> list[int]:
        table, plan = self.keeper.table, self.blueprint.components[component]
        return [] if table is None else [plan.first_task + replica for replica in table.components[component].active]

    # ---- timers

    def _expire(self) -> None:
        seconds = self.settings.message_timeout_seconds
        for spout in self.residents.spouts.values():
            spout.expire(seconds)
        for executor in self.residents.executors.values():
            for task_id, text in executor.late_calls(seconds):
                limit = f"that is longer than the time-out (topology.message.timeout.secs is {seconds:g}), so its tuples have failed"
                self.report_error(executor.plan.id, task_id, f"{text}; {limit}")

    def _tick(self, component: str, seconds: float) -> None:
        tup = tick_tuple(seconds)
        for (name, replica), executor in self.residents.executors.items():
            if name == component and self.pool.states.get((name, replica)) not in (None, ReplicaState.INACTIVE):
                executor.tick(tup)

    def report_error(self, component: str, task: int, error: BaseException | str) -> None:
        """Tell the controller of an exception of user code, unless its component has told enough for now.

        The exception has no traceback afterwards.
        """
        for line in self._throttle.pass_on(component, lambda: told_of(error), self.clock.now()):
            self._parts.reports.error(component, task, line)
            raised_by(partial(_log.error, "component %s, task %d: %s", component, task, line))  # handlers and filters are users' too
        if is_raised(error):
            let_go(error)
