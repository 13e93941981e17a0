"""How senders learn what receivers have before them: at intervals, and only of replicas that did something."""

from __future__ import annotations

from pasps.clock import Clock
from pasps.runtime.executor import BoltExecutor
from pasps.runtime.peer import Peer
from pasps.runtime.replica_pool import Key, ReplicaState
from pasps.runtime.residents import Residents
from pasps.runtime.table_keeper import TableKeeper
from pasps.transport.messages import Load


class LoadReports:
    """Feeds the load tables of this worker, and those of its peers."""

    def __init__(
        self, clock: Clock, interval: float, names: list[str], residents: Residents, keeper: TableKeeper, peers: dict[str, Peer]
    ) -> None:
        self._clock = clock
        self._interval = interval
        self._index = {name: index for index, name in enumerate(names)}
        self._residents = residents
        self._keeper = keeper
        self._peers = peers
        self._due = 0.0
        self._before: dict[Key, tuple[int, float]] = {}
        self._queued: dict[Key, int] = {}

    def send_due(self) -> None:
        """Report if the interval is over; called after every pass, so an idle worker reports nothing."""
        now = self._clock.now()
        if now < self._due:
            return
        self._due = now + self._interval
        for key, executor in self._residents.executors.items():
            executed = sum(executor.meter.executed.values())
            before, seconds = self._before.get(key, (0, 0.0))
            queued = executor.inbox.count
            if executed == before and queued == self._queued.get(key, 0):
                continue
            self._before[key] = (executed, executor.meter.seconds)
            self._queued[key] = queued
            done = executed - before
            each = (executor.meter.seconds - seconds) / done if done else 0.0
            self._report(key, executor, queued, each, done, now)

    def _report(self, key: Key, executor: BoltExecutor, queued: int, each: float, done: int, now: float) -> None:
        if self._keeper.state(key) is not ReplicaState.ACTIVE:
            return
        known = self._keeper.loads[key[0]].each[key[1]]
        running = sum(slot.open for slot in executor.slots.values())
        load = Load(self._index[key[0]], key[1], (queued + running) * (each or known), each, done)
        self.take(key[0], load, now)
        for peer in self._peers.values():
            peer.load(load)

    def take(self, component: str, load: Load, now: float | None = None) -> None:
        """A report, of a replica here or at a peer."""
        when = self._clock.now() if now is None else now
        self._keeper.loads[component].report(load.replica, load.waiting, load.seconds_each, load.done, when)
