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
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pasps.api.blueprint import Blueprint
from pasps.errors import WireError
from pasps.runtime.batch import Batch
from pasps.runtime.executor import BoltExecutor
from pasps.runtime.hosting import Hosting
from pasps.runtime.movability import freeze, unmovable_now
from pasps.runtime.peer import Peer
from pasps.runtime.replica_pool import Key
from pasps.runtime.reports import Reports
from pasps.runtime.residents import Residents
from pasps.runtime.task_slot import TaskSlot
from pasps.transport.messages import Handover, Probe, Took, WireBatch

_log = logging.getLogger(__name__)


@dataclass
class Departure:
    """A task that leaves. States: WAITING for marks -> QUIET, out of service -> PROBING -> SENT -> gone; KEPT when it cannot go.

    HELD instead of WAITING: it had not arrived here yet when it had to leave again.
    """

    version: int
    to: str
    slot: TaskSlot
    state: str = "WAITING"
    queue: list[Batch] = field(default_factory=list)
    has_instance: bool = True
    former: list[BoltExecutor] = field(default_factory=list)  # who may still have output of it to send
    probe: int = 0
    awaited: set[str] = field(default_factory=set)  # workers whose echo is missing


@dataclass
class Arrival:
    """A task that comes, or comes back. `before` is what was queued here already, older than what the handover brings.

    `spare`: instance and `before` were given away already; they count only if the worker that got them dies.
    """

    version: int
    source: str
    slot: TaskSlot
    executor: BoltExecutor
    before: list[Batch] = field(default_factory=list)
    has_instance: bool = False
    spare: bool = False


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
        self._pausing: dict[Key, tuple[TaskSlot, list[BoltExecutor]]] = {}
        self._probes = 0

    def __bool__(self) -> bool:
        return bool(self.departures or self.arrivals or self._pausing)

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
        departure = Departure(version, to, slot, has_instance=arrival is None or (arrival.has_instance and not arrival.spare))
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
            self._call_back_in(slot)
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
            self._hosting.fill(arrival.slot, arrival.executor)
        self._finish_arrival(key, [])

    # ---- what peers say

    def handed(self, peer: str, message: Handover) -> None:
        """State and queue of a task arrive."""
        key = (self._names[message.component], message.task)
        arrival = self.arrivals.get(key)
        if arrival is None or arrival.source != peer:
            if key in self._residents.slots and key not in self.departures and arrival is None:
                self._peers[peer].send(Took(message.version, message.component, message.task))  # it was here: the answer got lost
            else:
                _log.warning("task %s[%d] handed over by %s was not awaited", *key, peer)
            return
        if message.kept or not self._take_state(arrival, message):
            return
        batches = [
            self._receive(batch, origin or peer) for batch, origin in zip(message.batches, message.origins, strict=True)
        ]
        self._peers[peer].send(Took(message.version, message.component, message.task))
        self._finish_arrival(key, batches)

    def echoed(self, peer: str, number: int) -> None:
        """That worker has all that was sent to it before the probe."""
        for departure in self.departures.values():
            if departure.probe == number:
                departure.awaited.discard(peer)

    def link_lost(self, peer: str) -> None:
        """No echo will come from there."""
        for departure in self.departures.values():
            departure.awaited.discard(peer)

    def link_made(self, peer: str) -> None:
        """What was handed over by an earlier connection may not have arrived: hand it over again."""
        for departure in self.departures.values():
            if departure.to == peer and departure.state == "SENT":
                departure.state = "QUIET"

    def _take_state(self, arrival: Arrival, message: Handover) -> bool:
        """Give the slot its instance; False when that failed: then it goes back to where it came from."""
        slot = arrival.slot
        if arrival.spare and (message.state is not None or slot.collector is None):
            # the other one had taken it, and worked off what it was given: its state is newer than the one kept here
            arrival.before, arrival.spare = [], False
        try:
            if message.state is not None:
                self._hosting.revive(slot, arrival.executor, message.state)
            elif not arrival.has_instance:
                self._hosting.fill(slot, arrival.executor)
        except Exception as error:  # noqa: BLE001 - the user's `__setstate__`, `on_move_in` or `initialize`
            self._hosting.report(arrival.executor, error)
            self._reports.move_failed(arrival.version, slot.component, slot.task, "on_move_in", f"{type(error).__name__}: {error}")
            return False
        return True

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
        self.resume(slot, [*arrival.before, *batches], [])
        self._reports.moved(arrival.version, *key)

    # ---- within this worker

    def change_host(self, slot: TaskSlot, executor: BoltExecutor) -> None:
        """Another executor of this worker runs the task from now on; what is queued for it goes along."""
        before = slot.host
        if before is executor or not isinstance(before, BoltExecutor):
            return
        queued = before.inbox.remove_task(slot.task)
        self._residents.attach(slot, executor)
        self._hosting.adopt(slot, executor)
        if (slot.component, slot.task) not in self.arrivals:
            self.resume(slot, queued, [before])

    def resume(self, slot: TaskSlot, queued: list[Batch], former: list[BoltExecutor]) -> None:
        """Run the task, `queued` first: at once, or when its call under way is over and what `former` hosts emitted has left."""
        key = (slot.component, slot.task)
        slot.held = [*queued, *(slot.held or [])]
        hosts = [*self._pausing.pop(key, (slot, []))[1], *former]
        if _in_use(slot, hosts):
            self._pausing[key] = (slot, hosts)
        else:
            slot.release()

    # ---- going on

    def progress(self, marked: int) -> None:
        """Take every departure as far as it can go now; `marked` is the newest table that every live worker has marked."""
        for key, (slot, hosts) in list(self._pausing.items()):
            if not _in_use(slot, hosts):
                del self._pausing[key]
                slot.release()
        for key, departure in list(self.departures.items()):
            if departure.version > marked:
                continue
            if departure.state in ("WAITING", "HELD"):
                self._silence(departure)
            if departure.state == "QUIET" and not _in_use(departure.slot, departure.former):
                self._probe(departure)
            if departure.state == "PROBING" and not departure.awaited:
                self._hand_over(departure)

    def _silence(self, departure: Departure) -> None:
        """All that older tables routed here has come: take it and the task out of service."""
        slot = departure.slot
        departure.state = "QUIET"
        departure.former = self._pausing.pop((slot.component, slot.task), (slot, []))[1]
        host = slot.host
        if isinstance(host, BoltExecutor):
            departure.former.append(host)
            departure.queue += host.inbox.remove_task(slot.task)
        departure.queue += slot.held or []  # when it never ran here, or paused
        slot.held = []

    def _probe(self, departure: Departure) -> None:
        """See to it that nothing that the task emitted here is overtaken by what it emits over there."""
        self._probes += 1
        departure.state, departure.probe, departure.awaited = "PROBING", self._probes, set()
        if not departure.has_instance or not self._blueprint.components[departure.slot.component].streams:
            return
        for peer in self._peers.values():
            peer.flush()
            if peer.send(Probe(self._probes)):
                departure.awaited.add(peer.id)

    def _hand_over(self, departure: Departure) -> None:
        slot = departure.slot
        peer = self._peers.get(departure.to)
        if peer is None or peer.connection is None:
            return
        state, kept = self._state(departure)
        component = self._index[slot.component]
        if kept:
            self._keep(departure, peer)
            return
        wired = [(peer.wire(batch), batch.origin or self._me) for batch in departure.queue]
        wired = [(batch, origin) for batch, origin in wired if batch.rows]  # those that cannot travel have failed
        peer.flush()
        message = Handover(departure.version, component, slot.task, state, [batch for batch, _ in wired], [origin for _, origin in wired])
        try:
            peer.send(message)
        except WireError as error:
            self._call_back_in(slot)
            self._reports.move_failed(departure.version, slot.component, slot.task, "its state", str(error))
            self._keep(departure, peer)
            return
        departure.state = "SENT"

    def _keep(self, departure: Departure, peer: Peer) -> None:
        departure.state = "KEPT"
        slot = departure.slot
        peer.send(Handover(departure.version, self._index[slot.component], slot.task, None, [], [], kept=True))

    def _state(self, departure: Departure) -> tuple[bytes | None, bool]:
        """The pickled instance; or that it has to be kept."""
        slot = departure.slot
        if not departure.has_instance or slot.collector is None:  # a function has no state
            return None, False
        instance: Any = slot.instance
        try:
            instance.on_move_out()
            return freeze(instance), False
        except Exception as error:  # noqa: BLE001 - whatever an attribute raises: the task stays
            self._call_back_in(slot)
            named = unmovable_now(instance, slot.component, slot.task, error)
            self._reports.move_failed(departure.version, slot.component, slot.task, named.attribute, named.reason)
            return None, True

    def _call_back_in(self, slot: TaskSlot) -> None:
        """`on_move_in` of an instance that stays after all."""
        if slot.collector is None:
            return
        try:
            slot.instance.on_move_in(self._hosting.context(slot.component, slot.task, None))
        except Exception as error:  # noqa: BLE001 - a hook of the user's: reported
            if isinstance(slot.host, BoltExecutor):
                self._hosting.report(slot.host, error)


def _in_use(slot: TaskSlot, former: list[BoltExecutor]) -> bool:
    """Whether a call of the instance is under way, or output of it waits for credit where it ran before."""
    return slot.running > 0 or any(batch.source == slot.task_id for executor in former for _, batch in executor.emitter.parked)
