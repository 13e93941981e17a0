"""How a keyed task changes replica, or worker, with its state and its queue, in order, losing nothing.

Within a worker it goes by reference, once no call of its instance is under way and what it emitted before has left. Between workers:

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
from functools import partial
from typing import Any

from pasps.api.component import Component
from pasps.errors import Interrupt, WireError
from pasps.runtime.batch import Batch
from pasps.runtime.executor import BoltExecutor, CallAt
from pasps.runtime.hosting import Hosting, Key
from pasps.runtime.inbox import TaskSlot
from pasps.runtime.movability import freeze, unmovable_now
from pasps.runtime.peer import Peer, received
from pasps.runtime.reports import Reports, said_by
from pasps.transport.messages import Handover, Probe, Took


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
    sent: bool = False  # somebody may have taken it, and gone on with it
    frozen: bytes | None = None  # its state as it was sent, for another connection: `on_move_out` has been called


@dataclass
class Arrival:
    """A task that comes, or comes back. `before` is what was queued here already, older than what the handover brings.

    `handed` is what came of the handover before its last part.
    `spare`: instance and `before` were given away already; they count only if the worker that got them dies.
    """

    version: int
    source: str
    slot: TaskSlot
    executor: BoltExecutor
    before: list[Batch] = field(default_factory=list)
    has_instance: bool = False
    spare: bool = False
    handed: list[Batch] = field(default_factory=list)


class HostChanges:
    """Of one worker. While a task waits, its slot holds what arrives for it, in order."""

    def __init__(self, hosting: Hosting) -> None:
        self._residents = hosting.residents
        self._hosting = hosting
        self._waiting: dict[Key, tuple[TaskSlot, list[BoltExecutor]]] = {}

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def attach(self, slot: TaskSlot, executor: BoltExecutor) -> tuple[list[Batch], list[BoltExecutor]]:
        """Make `executor` the host; returns what was queued at the one before, and who that was."""
        before = slot.host
        if before is executor or not isinstance(before, BoltExecutor):
            return [], []
        queued = before.inbox.remove_task(slot.task)
        self._residents.attach(slot, executor)
        self._hosting.adopt(slot, executor)
        return queued, [before]

    def resume(self, slot: TaskSlot, queued: list[Batch], former: list[BoltExecutor]) -> None:
        """Run the task, `queued` first: at once, or when it is not `in_use` any more where it ran before."""
        slot.held = [*queued, *(slot.held or [])]
        # those too that it waited for already: it may have moved on before it could run, with output still to send at each of them
        hosts = [*self.give_up(slot), *former]
        if in_use(slot, hosts):
            self._waiting[slot.component, slot.task] = (slot, hosts)
        else:
            slot.release()

    def give_up(self, slot: TaskSlot) -> list[BoltExecutor]:
        """The task goes elsewhere: wait for it no more; returns its former hosts."""
        return self._waiting.pop((slot.component, slot.task), (slot, []))[1]

    def progress(self) -> None:
        """Let go of every task that need not wait any more."""
        for key, (slot, hosts) in list(self._waiting.items()):
            if not in_use(slot, hosts):
                del self._waiting[key]
                slot.release()


def in_use(slot: TaskSlot, former: list[BoltExecutor]) -> bool:
    """Whether a call of the instance is under way, or output of it waits for credit where it ran before."""
    # what it emits next leaves by another emitter, and would overtake what is parked in this one
    return slot.running > 0 or any(batch.source == slot.task_id for executor in former for _, batch in executor.emitter.parked)


class Departures:
    """Of one worker, by component and task index."""

    def __init__(self, hosting: Hosting, hosts: HostChanges, peers: dict[str, Peer], reports: Reports) -> None:
        self._me = hosting.me
        self._blueprint = hosting.blueprint
        self._names = list(hosting.blueprint.components)
        self._index = {name: index for index, name in enumerate(self._names)}
        self._residents = hosting.residents
        self._hosting = hosting
        self._hosts = hosts
        self._peers = peers
        self._reports = reports
        self._probes = 0
        self.by_key: dict[Key, Departure] = {}
        self._hushed: set[BoltExecutor] = set()

    # ---- what peers say

    def took(self, peer: str, message: Took) -> None:
        """The new host has it: forget it."""
        key = (self._names[message.component], message.task)
        departure = self.by_key.get(key)
        # in every other state what is here may be all that there is of the task
        if departure is not None and departure.to == peer and departure.state == "SENT":
            del self.by_key[key]
            self._residents.detach(departure.slot)

    def echoed(self, peer: str, number: int) -> None:
        """That worker has all that was sent to it before the probe."""
        for departure in self.by_key.values():
            if departure.probe == number:
                departure.awaited.discard(peer)

    def link_lost(self, peer: str) -> None:
        """No echo will come from there."""
        # nor is anything left to overtake: what had not come there is lost with the connection, and the fence fails it
        for departure in self.by_key.values():
            departure.awaited.discard(peer)

    def link_made(self, peer: str) -> None:
        """What was handed over by an earlier connection may not have arrived: hand it over again."""
        for departure in self.by_key.values():
            if departure.to == peer and departure.state == "SENT":
                departure.state = "QUIET"

    # ---- going on

    def progress(self, marked: int) -> None:
        """Take every departure as far as it can go now; `marked` is the newest table that every live worker has marked."""
        waiting: set[BoltExecutor] = set()
        for departure in list(self.by_key.values()):
            # somebody may still send here by an older table: what came behind the handover would be left with nobody
            if departure.version > marked:
                continue
            if departure.state in ("WAITING", "HELD"):
                self._silence(departure)
            if departure.state == "QUIET" and not in_use(departure.slot, departure.former):
                self._probe(departure)
            if departure.state == "PROBING" and not departure.awaited:
                host = departure.slot.host
                # its hook runs on the thread that it shares with other tasks, and the loop is not to wait for their calls
                if isinstance(host, BoltExecutor) and departure.frozen is None and _has_hook(departure) and not host.hush():
                    waiting.add(host)
                else:
                    self._hand_over(departure)
        for host in self._hushed - waiting:
            host.unhush()
        self._hushed = waiting

    def _silence(self, departure: Departure) -> None:
        """All that older tables routed here has come: take it and the task out of service."""
        slot = departure.slot
        departure.state = "QUIET"
        departure.former = self._hosts.give_up(slot)
        host = slot.host
        if isinstance(host, BoltExecutor):
            departure.former.append(host)
            departure.queue += host.inbox.remove_task(slot.task)
        departure.queue += slot.held or []  # when it never ran here, or paused
        # a list and not None: no tick and no `finish` may change an instance whose state is about to be pickled, or was
        slot.held = []

    def _probe(self, departure: Departure) -> None:
        """See to it that nothing that the task emitted here is overtaken by what it emits over there."""
        self._probes += 1
        departure.state, departure.probe, departure.awaited = "PROBING", self._probes, set()
        if not departure.has_instance or not self._blueprint.components[departure.slot.component].streams:
            return
        # to everybody, not to the new host alone: what the task emits there may go to any of them
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
        batches, origins = [batch for batch, _ in wired], [origin for _, origin in wired]
        message = Handover(departure.version, component, slot.task, state, batches, origins, finished=slot.finished, unacked=slot.open)
        try:
            peer.send(message)
        except WireError as error:
            departure.sent, departure.frozen = False, None
            self.call_back_in(slot)
            self._reports.move_failed(departure.version, slot.component, slot.task, "its state", str(error))
            self._keep(departure, peer)
            return
        # instance and queue stay here until TOOK: if the new host dies before, this is the only copy
        departure.state, departure.sent, departure.frozen = "SENT", True, state

    def _keep(self, departure: Departure, peer: Peer) -> None:
        departure.state = "KEPT"
        slot = departure.slot
        peer.send(Handover(departure.version, self._index[slot.component], slot.task, None, [], [], kept=True))

    def _state(self, departure: Departure) -> tuple[bytes | None, bool]:
        """The pickled instance; or that it has to be kept."""
        slot = departure.slot
        if not departure.has_instance or slot.collector is None:  # a function has no state
            return None, False
        if departure.frozen is not None:  # nothing has called it since, and it was told once that it leaves
            return departure.frozen, False
        instance: Any = slot.instance
        try:
            if _has_hook(departure):
                self._call(slot, instance.on_move_out)
            return freeze(instance), False
        except Interrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever an attribute raises: the task stays
            self.call_back_in(slot)
            named = unmovable_now(instance, slot.component, slot.task, error)
            self._reports.move_failed(departure.version, slot.component, slot.task, named.attribute, named.reason)
            return None, True

    def call_back_in(self, slot: TaskSlot) -> None:
        """`on_move_in` of an instance that stays after all."""
        if slot.collector is None or slot.instance is None:
            return
        instance, host = slot.instance, slot.host
        if type(instance).on_move_in is Component.on_move_in or not isinstance(host, BoltExecutor):
            return
        host.hook(lambda: instance.on_move_in(self._hosting.context(slot.component, slot.task, None)), partial(self._hosting.told, host))

    @staticmethod
    def _call(slot: TaskSlot, hook: Callable[[], None]) -> None:
        if isinstance(slot.host, BoltExecutor):
            slot.host.call(hook)


def _has_hook(departure: Departure) -> bool:
    """Whether its instance wants to know that it leaves."""
    instance = departure.slot.instance
    return departure.has_instance and isinstance(instance, Component) and type(instance).on_move_out is not Component.on_move_out


_PAUSE_SECONDS = 1.0
_REST = 9.0
"""Pauses are at least so many times as long as the try was: one that waits for a server in vain must not hold up the worker."""


def next_try(begun: float, now: float) -> float:
    """When to try again to start something, after a try in vain since `begun`."""
    return now + max(_PAUSE_SECONDS, _REST * (now - begun))


_log = logging.getLogger(__name__)


class TaskMoves:
    """The moves of one worker; `progress` must be called whenever marks came in or steps were made."""

    def __init__(self, hosting: Hosting, peers: dict[str, Peer], reports: Reports, call_at: CallAt) -> None:
        self._names = list(hosting.blueprint.components)
        self._residents = hosting.residents
        self._hosting = hosting
        self._peers = peers
        self._reports = reports
        self._clock = hosting.clock
        self._call_at = call_at
        self._hosts = HostChanges(hosting)
        self._leaving = Departures(hosting, self._hosts, peers, reports)
        self.departures = self._leaving.by_key
        self.arrivals: dict[Key, Arrival] = {}
        self.took = self._leaving.took
        self.echoed = self._leaving.echoed
        self.link_made = self._leaving.link_made

    def __bool__(self) -> bool:
        return bool(self.departures or self.arrivals or self._hosts)

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
            # of a spare the queue was given away with the state: whoever has that brings it along, and from here it would come twice
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
        if departure.sent:
            self._leaving.call_back_in(slot)
        self.arrivals[key] = Arrival(version, source or "", slot, executor, departure.queue, departure.has_instance, spare=departure.sent)
        if source is None:
            self._start_afresh(key)

    def worker_lost(self, worker: str) -> None:
        """Arrivals from there will not come: start afresh, with what is held. Nobody waits for departures to there."""
        for key, arrival in list(self.arrivals.items()):
            if arrival.source == worker:
                self._start_afresh(key)
        for key, departure in list(self.departures.items()):
            # what the newest table gives back to this worker is no departure any more: `come` has taken it out
            if departure.to == worker:
                del self.departures[key]
                self._residents.detach(departure.slot)

    def _start_afresh(self, key: Key) -> None:
        arrival = self.arrivals[key]
        if not arrival.has_instance:
            self.fill(arrival.slot, arrival.executor)
        self._finish_arrival(key, [])

    # ---- fresh instances

    def fill(self, slot: TaskSlot, executor: BoltExecutor) -> None:
        """Give the task a fresh instance, now or as soon as that succeeds; until then its slot holds what comes."""
        begun = self._clock.now()
        try:
            self._hosting.fill(slot, executor)
        except Interrupt:
            raise
        except BaseException as error:
            if not self._hosting.live:
                raise
            slot.instance = None
            slot.hold()
            self._hosting.report(executor, error)
            self._call_at(next_try(begun, self._clock.now()), partial(self._fill_again, slot))

    def _fill_again(self, slot: TaskSlot) -> None:
        key, executor = (slot.component, slot.task), slot.host
        if self._residents.slots.get(key) is not slot or slot.instance is not None or not isinstance(executor, BoltExecutor):
            return
        if key in self.departures or key in self.arrivals:  # whoever hosts it then starts it, or has its state
            self._call_at(self._clock.now() + _PAUSE_SECONDS, partial(self._fill_again, slot))
            return
        self.fill(slot, executor)
        if slot.instance is not None:
            slot.release()
            self._hosting.started((executor.plan.id, executor.replica))

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
        # not before the instance is there: by this its sender forgets the one that it has
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
                self.fill(slot, arrival.executor)
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
    # not by the slot while it arrives: what an `on_move_in` that raised has left there is not what its sender kept
    return slot.instance is not None if arrival is None else arrival.has_instance and not arrival.spare
