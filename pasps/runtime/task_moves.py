"""The protocol by which a keyed task changes worker with its state and its queue, in order, losing nothing.

1. Table v says that the task lives elsewhere. Senders route by v at once and MARK(v) every connection; the new host holds
   what arrives for the task.
2. When the old host has the marks of all live workers it takes the task out of service, waits for a call under way and
   until what the task emitted has reached every worker (PROBE, ECHO: else the new host's output could overtake it), and
   sends state and queue together (HANDOVER). It keeps both until the new host has them.
3. The new host revives the instance, puts the handed queue before what it held, and answers TOOK.

When the state cannot be pickled the old host keeps it and says so (`kept`); the next table leaves the task there, and
the new host hands back what it held. When the old host dies, the new one starts afresh; when the new one dies, the next
table names the old one again, which still has everything.
"""

from __future__ import annotations

import logging

from pasps.errors import Interrupt
from pasps.runtime.batch import Batch
from pasps.runtime.departures import Departures
from pasps.runtime.executor import BoltExecutor
from pasps.runtime.host_changes import HostChanges
from pasps.runtime.hosting import Hosting
from pasps.runtime.late_starts import LateStarts
from pasps.runtime.move_records import Arrival, Departure
from pasps.runtime.parts import Parts
from pasps.runtime.peer import received
from pasps.runtime.replica_pool import Key
from pasps.runtime.reports import said_by
from pasps.runtime.task_slot import TaskSlot
from pasps.transport.messages import Handover, Took

_log = logging.getLogger(__name__)


class TaskMoves:
    """The moves of one worker; `progress` must be called whenever marks came in or steps were made."""

    def __init__(self, parts: Parts, hosting: Hosting, late: LateStarts) -> None:
        self._names = list(parts.blueprint.components)
        self._residents = parts.residents
        self._hosting = hosting
        self._peers = parts.peers
        self._reports = parts.reports
        self._late = late
        self._hosts = HostChanges(parts.residents, hosting)
        self._leaving = Departures(parts, hosting, self._hosts)
        self.departures = self._leaving.by_key
        self.arrivals: dict[Key, Arrival] = {}
        self.took = self._leaving.took
        self.echoed = self._leaving.echoed
        self.link_made = self._leaving.link_made

    def __bool__(self) -> bool:
        return bool(self.departures or self.arrivals or self._hosts)

    def has(self, key: Key) -> bool:
        """Whether that task is on its way to or from here."""
        return key in self.departures or key in self.arrivals

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
        departure = Departure(version, to, slot, has_instance=_has_instance(slot, arrival))
        if arrival is not None:
            departure.queue = [] if arrival.spare else arrival.before
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
        if departure.state == "WAITING":  # nobody holds anything newer: go on as if it had never been asked to leave
            self.change_host(slot, executor)
            self._reports.moved(version, *key)
            return
        slot.hold()
        self._residents.attach(slot, executor)
        self._hosting.adopt(slot, executor)
        sent = departure.state == "SENT"
        if sent:
            self._leaving.call_back_in(slot)
        self.arrivals[key] = Arrival(version, source or "", slot, executor, departure.queue, departure.has_instance, spare=sent)
        if source is None:
            self._start_afresh(key)

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
            self._late.fill(arrival.slot, arrival.executor)
        self._finish_arrival(key, [])

    # ---- what peers say

    def handed(self, peer: str, message: Handover) -> None:
        """State and queue of a task arrive."""
        key = (self._names[message.component], message.task)
        arrival = self.arrivals.get(key)
        if arrival is None or arrival.source != peer:
            if message.more:
                return
            if key in self._residents.slots and key not in self.departures and arrival is None:
                self._peers[peer].send(Took(message.version, message.component, message.task))  # it was here: the answer got lost
            else:
                _log.warning("task %s[%d] handed over by %s was not awaited", *key, peer)
            return
        batches = [received(batch, origin or peer) for batch, origin in zip(message.batches, message.origins, strict=True)]
        if message.more:
            arrival.handed += batches
            return
        if message.kept or not self._take_state(arrival, message):
            return
        arrival.handed += batches
        self._peers[peer].send(Took(message.version, message.component, message.task))
        self._finish_arrival(key, arrival.handed)

    def link_lost(self, peer: str) -> None:
        """What was on the way to or from there is lost; it is handed over again, from the beginning, by the next connection."""
        self._leaving.link_lost(peer)
        for arrival in self.arrivals.values():
            if arrival.source == peer:
                arrival.handed = []

    def _take_state(self, arrival: Arrival, message: Handover) -> bool:
        """Give the slot its instance; False when that failed: then it goes back to where it came from."""
        slot = arrival.slot
        if arrival.spare and (message.state is not None or slot.collector is None):
            # the other one had taken it, and worked off what it was given: its state is newer than the one kept here
            arrival.before, arrival.spare = [], False
        try:
            if message.state is not None:
                self._hosting.revive(slot, arrival.executor, message.state, message.finished)
                slot.open = message.unacked
            elif not arrival.has_instance:
                self._late.fill(slot, arrival.executor)
        except Interrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - the user's `__setstate__` or `on_move_in`
            self._hosting.report(arrival.executor, error)
            self._reports.move_failed(arrival.version, slot.component, slot.task, "on_move_in", f"{type(error).__name__}: {said_by(error)}")
            return False
        return True

    def _finish_arrival(self, key: Key, batches: list[Batch]) -> None:
        arrival = self.arrivals.pop(key)
        slot = arrival.slot
        self._hosts.resume(slot, [*arrival.before, *batches], [])
        self._reports.moved(arrival.version, *key)

    # ---- going on

    def change_host(self, slot: TaskSlot, executor: BoltExecutor) -> None:
        """Another executor of this worker runs the task from now on; what is queued for it goes along."""
        queued, former = self._hosts.attach(slot, executor)
        if former and (slot.component, slot.task) not in self.arrivals:
            self._hosts.resume(slot, queued, former)

    def progress(self, marked: int) -> None:
        """Take everything as far as it can go now; `marked` is the newest table that every live worker has marked."""
        self._hosts.progress()
        self._leaving.progress(marked)


def _has_instance(slot: TaskSlot, arrival: Arrival | None) -> bool:
    """Whether the task's state is here, and here alone."""
    return slot.instance is not None if arrival is None else arrival.has_instance and not arrival.spare
