"""The protocol by which a keyed task changes worker with its state and its queue, in order, losing nothing.

1. Table v says that the task lives elsewhere. Senders route by v at once and MARK(v) every connection; the new host holds
   what arrives for the task.
2. When the old host has the marks of all live workers it takes the task out of service, waits for a call under way,
   and sends state and queue together (HANDOVER). It keeps both until the new host has them.
3. The new host revives the instance, puts the handed queue before what it held, and answers TOOK.

When the state cannot be pickled the old host keeps it and says so (`kept`); the next table leaves the task there, and
the new host hands back what it held. When the old host dies, the new one starts afresh; when the new one dies, the next
table names the old one again, which still has everything.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pasps.api.blueprint import Blueprint
from pasps.runtime.batch import Batch
from pasps.runtime.executor import BoltExecutor
from pasps.runtime.hosting import Hosting
from pasps.runtime.movability import freeze, unmovable_now
from pasps.runtime.peer import Peer
from pasps.runtime.replica_pool import Key
from pasps.runtime.reports import Reports
from pasps.runtime.residents import Residents
from pasps.runtime.task_slot import TaskSlot
from pasps.transport.messages import Handover, Took, WireBatch

_log = logging.getLogger(__name__)


@dataclass
class Departure:
    """A task that leaves. States: WAITING for marks -> QUIET, out of service -> SENT -> gone; or KEPT, when it cannot go."""

    version: int
    to: str
    slot: TaskSlot
    state: str = "WAITING"
    queue: list[Batch] = field(default_factory=list)
    has_instance: bool = True


@dataclass
class Arrival:
    """A task that comes, or comes back. `before` is what was queued here already, older than what the handover brings."""

    version: int
    source: str
    slot: TaskSlot
    executor: BoltExecutor
    before: list[Batch] = field(default_factory=list)
    has_instance: bool = False


class TaskMoves:
    """The moves of one worker; `progress` must be called whenever marks came in or steps were made."""

    def __init__(
        self,
        me: str,
        blueprint: Blueprint,
        residents: Residents,
        hosting: Hosting,
        peers: dict[str, Peer],
        reports: Reports,
        receive: Callable[[WireBatch, str], Batch],
    ) -> None:
        self._me = me
        self._blueprint = blueprint
        self._index = {name: index for index, name in enumerate(blueprint.components)}
        self._names = list(blueprint.components)
        self._residents = residents
        self._hosting = hosting
        self._peers = peers
        self._reports = reports
        self._receive = receive
        self.departures: dict[Key, Departure] = {}
        self.arrivals: dict[Key, Arrival] = {}

    def __bool__(self) -> bool:
        return bool(self.departures or self.arrivals)

    # ---- a new table

    def leave(self, version: int, key: Key, to: str) -> None:
        """By table `version` the task lives on worker `to`."""
        departure = self.departures.get(key)
        if departure is not None:
            departure.version, departure.to = version, to
            if departure.state in ("SENT", "KEPT"):
                departure.state = "QUIET"
            return
        arrival = self.arrivals.pop(key, None)
        slot = self._residents.slots[key]
        departure = Departure(version, to, slot, has_instance=arrival is None or arrival.has_instance)
        if arrival is not None:
            departure.queue = arrival.before
            departure.state = "HELD"
        self.departures[key] = departure

    def come(self, version: int, key: Key, source: str | None, executor: BoltExecutor) -> None:
        """By table `version` the task lives here; `source` is who hosted it before, None when nobody alive did."""
        departure = self.departures.pop(key, None)
        if departure is not None:
            self._return(version, departure, source, executor)
            return
        slot = self._hosting.slot(executor.plan, key[1], executor)
        slot.hold()
        self._residents.attach(slot, executor)
        self.arrivals[key] = Arrival(version, source or "", slot, executor)
        if source is None:
            self._start_afresh(key)

    def _return(self, version: int, departure: Departure, source: str | None, executor: BoltExecutor) -> None:
        """It was on its way out, and this worker still has it."""
        slot, key = departure.slot, (departure.slot.component, departure.slot.task)
        if slot.held is None:
            slot.hold()
        if departure.state == "SENT":
            slot.instance.on_move_in(self._hosting.context(slot.component, slot.task, None))
        self._residents.attach(slot, executor)
        self.arrivals[key] = Arrival(version, source or "", slot, executor, departure.queue, departure.has_instance)
        if source is None or departure.state == "WAITING":
            # nobody holds anything newer: go on as if it had never been asked to leave
            self._finish_arrival(key, [])

    def worker_lost(self, worker: str) -> None:
        """Arrivals from there will not come: start afresh, with what is held. Nobody waits for departures to there."""
        for key, arrival in list(self.arrivals.items()):
            if arrival.source == worker:
                self._start_afresh(key)
        for key, departure in list(self.departures.items()):
            if departure.to == worker:
                del self.departures[key]
                self._residents.detach(departure.slot)

    def _start_afresh(self, key: Key) -> None:
        arrival = self.arrivals[key]
        if not arrival.has_instance:
            self._hosting.fill(arrival.slot, arrival.executor)
        self._finish_arrival(key, [])

    # ---- what peers say

    def handed(self, peer: str, message: Handover) -> None:
        """State and queue of a task arrive."""
        key = (self._names[message.component], message.task)
        arrival = self.arrivals.get(key)
        if arrival is None or arrival.source != peer:
            _log.warning("task %s[%d] handed over by %s was not awaited", *key, peer)
            return
        if message.kept:
            arrival.source = ""
            return
        if message.state is not None:
            self._hosting.revive(arrival.slot, arrival.executor, message.state)
        elif not arrival.has_instance:
            self._hosting.fill(arrival.slot, arrival.executor)
        batches = [
            self._receive(batch, origin or peer) for batch, origin in zip(message.batches, message.origins, strict=True)
        ]
        self._peers[peer].send(Took(message.version, message.component, message.task))
        self._finish_arrival(key, batches)

    def took(self, peer: str, message: Took) -> None:
        """The new host has it: forget it."""
        key = (self._names[message.component], message.task)
        departure = self.departures.get(key)
        if departure is not None and departure.to == peer and departure.state == "SENT":
            del self.departures[key]
            self._residents.detach(departure.slot)

    def _finish_arrival(self, key: Key, batches: list[Batch]) -> None:
        arrival = self.arrivals.pop(key)
        slot = arrival.slot
        for batch in (*arrival.before, *batches):
            arrival.executor.receive(batch)
        slot.release()
        self._reports.moved(arrival.version, *key)

    # ---- going on

    def progress(self, marked: int) -> None:
        """Take every departure as far as it can go now; `marked` is the newest table that every live worker has marked."""
        for key, departure in list(self.departures.items()):
            if departure.version > marked:
                continue
            if departure.state in ("WAITING", "HELD"):
                self._silence(departure)
            if departure.state == "QUIET" and not self._busy(departure):
                self._hand_over(key, departure)

    def _silence(self, departure: Departure) -> None:
        slot = departure.slot
        if departure.state == "HELD":  # it never ran here; what is held was all routed by older tables
            departure.queue += slot.held or []
            slot.held = []
        slot.hold()
        departure.state = "QUIET"
        for executor in self._residents.executors.values():
            if executor.plan.id == slot.component and executor.slots.get(slot.task) is slot:
                departure.queue += executor.inbox.remove_task(slot.task)

    def _busy(self, departure: Departure) -> bool:
        slot = departure.slot
        host = slot.host
        parked = host.emitter.parked if isinstance(host, BoltExecutor) else ()
        return slot.running > 0 or any(batch.source == slot.task_id for _, batch in parked)

    def _hand_over(self, key: Key, departure: Departure) -> None:
        slot = departure.slot
        peer = self._peers.get(departure.to)
        if peer is None or peer.connection is None:
            return
        state, kept = self._state(departure)
        component = self._index[slot.component]
        if kept:
            departure.state = "KEPT"
            peer.send(Handover(departure.version, component, slot.task, None, [], [], kept=True))
            return
        departure.state = "SENT"
        batches = [peer.wire(batch) for batch in departure.queue]
        origins = [batch.origin or self._me for batch in departure.queue]
        peer.flush()
        peer.send(Handover(departure.version, component, slot.task, state, batches, origins))

    def _state(self, departure: Departure) -> tuple[bytes | None, bool]:
        """The pickled instance; or that it has to be kept."""
        if not departure.has_instance:
            return None, False
        slot = departure.slot
        instance: Any = slot.instance
        instance.on_move_out()
        try:
            return freeze(instance), False
        except Exception as error:  # noqa: BLE001 - whatever an attribute raises: the task stays
            instance.on_move_in(self._hosting.context(slot.component, slot.task, None))
            named = unmovable_now(instance, slot.component, slot.task, error)
            self._reports.move_failed(departure.version, slot.component, slot.task, named.attribute, named.reason)
            return None, True
