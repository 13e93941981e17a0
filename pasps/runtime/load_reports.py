"""How senders learn what receivers have before them: at intervals, and only of inboxes from which something was taken."""

from __future__ import annotations

from dataclasses import dataclass

from pasps.groupings.load import REPORT_SECONDS
from pasps.runtime.executor import BoltExecutor, Executor
from pasps.runtime.inbox import Inbox
from pasps.runtime.parts import Parts
from pasps.runtime.replica_pool import Key, ReplicaState
from pasps.runtime.table_keeper import TableKeeper
from pasps.transport.messages import Load


@dataclass
class _Told:
    """What was last said of an inbox; `whole` is what had been done of it when the last whole second ended.

    `replicas` take from it; the first of them is whose load this is to others.
    """

    replicas: list[BoltExecutor]
    executed: int = 0
    seconds: float = 0.0
    queued: int = 0
    each: float = 0.0
    whole: int = 0
    rate: int = 0


class LoadReports:
    """Feeds the load tables of this worker, and those of its peers.

    What is queued goes out every interval; how many tuples were done goes out for whole seconds, as the paper has it.
    """

    def __init__(self, parts: Parts, stepped: set[Executor], keeper: TableKeeper) -> None:
        self._clock = parts.clock
        self._interval = parts.settings.load_report_seconds
        self._index = {name: index for index, name in enumerate(parts.blueprint.components)}
        self._stepped = stepped
        self._keeper = keeper
        self._peers = parts.peers
        self._due = self._second_due = 0.0
        self._residents = parts.residents
        self._told: dict[Inbox, _Told] = {}

    def send_due(self) -> None:
        """Report if the interval is over; called after every pass, so an idle worker reports nothing."""
        if not self._stepped:
            return
        now = self._clock.now()
        if now < self._due:
            return
        self._due = now + self._interval
        for executor in self._stepped:
            if isinstance(executor, BoltExecutor):
                inbox, name = executor.inbox, executor.plan.id
                self._told.setdefault(inbox, _Told([])).replicas = self._residents.replicas(name) if inbox.shared else [executor]
        self._stepped.clear()
        whole = now >= self._second_due
        if whole:
            self._second_due = now + REPORT_SECONDS
        for inbox, told in list(self._told.items()):
            self._tell(inbox, told, now, whole=whole)

    def _tell(self, inbox: Inbox, told: _Told, now: float, *, whole: bool) -> None:
        executed = sum(sum(executor.meter.executed.values()) for executor in told.replicas)
        seconds, queued = sum(executor.meter.seconds for executor in told.replicas), inbox.count
        done = executed - told.executed
        if done:
            told.each = (seconds - told.seconds) / done
        changed = done or queued != told.queued
        rate = executed - told.whole if whole else None
        if rate is not None:
            changed = changed or rate != told.rate
            told.rate, told.whole = rate, executed
            if not changed and not rate and not queued:
                del self._told[inbox]  # until something is taken from it again
                return
        told.executed, told.seconds, told.queued = executed, seconds, queued
        if changed:
            self._report(inbox, told, rate, now)

    def _report(self, inbox: Inbox, told: _Told, done: int | None, now: float) -> None:
        first = told.replicas[0]
        key: Key = (first.plan.id, first.replica)
        if not inbox.shared and self._keeper.state(key) is not ReplicaState.ACTIVE:
            return
        waiting = inbox.count + sum(executor.in_hand for executor in told.replicas)
        known = self._keeper.loads[key[0]].each[key[1]]
        load = Load(self._index[key[0]], key[1], waiting * (told.each or known), told.each, done)
        self.take(key[0], load, now)
        for peer in self._peers.values():
            peer.load(load)

    def take(self, component: str, load: Load, now: float | None = None) -> None:
        """A report, of a replica here or at a peer."""
        when = self._clock.now() if now is None else now
        self._keeper.loads[component].report(load.replica, load.waiting, load.seconds_each, load.done, when)
