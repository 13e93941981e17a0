"""The leaving side of a task's move: out of service, probes, handover; see `task_moves` for the protocol."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from pasps.api.component import Component
from pasps.errors import Interrupt, WireError
from pasps.runtime.executor import BoltExecutor
from pasps.runtime.host_changes import HostChanges, in_use
from pasps.runtime.hosting import Hosting
from pasps.runtime.movability import freeze, unmovable_now
from pasps.runtime.move_records import Departure
from pasps.runtime.parts import Parts
from pasps.runtime.peer import Peer
from pasps.runtime.replica_pool import Key
from pasps.runtime.task_slot import TaskSlot
from pasps.transport.messages import Handover, Probe, Took


class Departures:
    """Of one worker, by component and task index."""

    def __init__(self, parts: Parts, hosting: Hosting, hosts: HostChanges) -> None:
        self._me = parts.me
        self._blueprint = parts.blueprint
        self._index = {name: index for index, name in enumerate(parts.blueprint.components)}
        self._names = list(parts.blueprint.components)
        self._residents = parts.residents
        self._hosting = hosting
        self._hosts = hosts
        self._peers = parts.peers
        self._reports = parts.reports
        self._probes = 0
        self.by_key: dict[Key, Departure] = {}
        self._hushed: set[BoltExecutor] = set()

    # ---- what peers say

    def took(self, peer: str, message: Took) -> None:
        """The new host has it: forget it."""
        key = (self._names[message.component], message.task)
        departure = self.by_key.get(key)
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
            if departure.version > marked:
                continue
            if departure.state in ("WAITING", "HELD"):
                self._silence(departure)
            if departure.state == "QUIET" and not in_use(departure.slot, departure.former):
                self._probe(departure)
            if departure.state == "PROBING" and not departure.awaited:
                host = departure.slot.host
                # its hook runs on the thread that it shares with other tasks, and the loop is not to wait for their calls
                if isinstance(host, BoltExecutor) and _has_hook(departure) and not host.hush():
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
        batches, origins = [batch for batch, _ in wired], [origin for _, origin in wired]
        message = Handover(departure.version, component, slot.task, state, batches, origins, finished=slot.finished, unacked=slot.open)
        try:
            peer.send(message)
        except WireError as error:
            self.call_back_in(slot)
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
