"""A worker without I/O: owns everything that it hosts, and is stepped by whoever owns the event loop.

The walk of a tuple starts and ends here: `step` runs executors and flushes what they left; `on_message` takes what peers sent.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from pasps.activation import ActivationTable
from pasps.api.blueprint import Blueprint
from pasps.clock import Clock
from pasps.config import Settings
from pasps.errors import ProtocolError, WireError
from pasps.ids import IdSource
from pasps.runtime.ack_box import AckBox
from pasps.runtime.batch import Batch
from pasps.runtime.emitter import Emitter
from pasps.runtime.executor import BoltExecutor
from pasps.runtime.hosting import Hosting, MakeEmitter, Services
from pasps.runtime.load_reports import LoadReports
from pasps.runtime.origin import tick_tuple
from pasps.runtime.peer import Peer
from pasps.runtime.pump import Pump
from pasps.runtime.replica_pool import ReplicaPool, ReplicaState
from pasps.runtime.reports import Reports
from pasps.runtime.residents import Residents
from pasps.runtime.table_keeper import Positions, TableKeeper
from pasps.runtime.target import Target
from pasps.runtime.task_moves import TaskMoves
from pasps.runtime.throttle import Throttle
from pasps.runtime.timers import Timers
from pasps.transport.connection import Connection
from pasps.transport.messages import Bundle, Echo, Handover, Mark, Message, Probe, Took, WireBatch
from pasps.transport.values import RowWrapper

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Surroundings:
    """What a worker needs of its process: time, randomness, somebody who reads its reports, and an event loop to borrow.

    `emitter` makes the emitters of what it hosts; a test kit puts one there that takes notes.
    """

    clock: Clock
    ids: IdSource
    reports: Reports
    rows: RowWrapper
    spawn: Callable[[Coroutine[Any, Any, None]], None]
    notify: Callable[[BoltExecutor], None]
    emitter: MakeEmitter = Emitter


class Worker:
    """Single-threaded. `step` never blocks longer than the user's code does; nothing of the user's raises out of it."""

    def __init__(self, blueprint: Blueprint, worker: str, workers: int, around: Surroundings) -> None:
        self.id = worker
        self.blueprint = blueprint
        self.clock = around.clock
        self.timers = Timers()
        self.residents = Residents()
        self.pool = ReplicaPool()
        self.peers: dict[str, Peer] = {}
        spouts = [task for plan in blueprint.components.values() if plan.is_spout for task in plan.tasks]
        self.acks = AckBox(spouts[0] if len(spouts) == 1 else 0)
        self.settings = Settings.from_config(blueprint.config)
        self.pump = Pump(len(blueprint.components), around.clock, self.settings.flush_interval_seconds)
        self._reports = around.reports
        self._rows = around.rows
        self._names = list(blueprint.components)
        self._finished: set[int] = set()
        self.awake = False
        self._throttle = Throttle(self.settings.error_throttle_seconds, self.settings.max_error_reports)
        self._targets = {name: [Target(name, task, 1) for task in range(plan.pool)] for name, plan in blueprint.components.items()}
        self.hosting = Hosting(blueprint, self._services(around))
        self.moves = TaskMoves(worker, blueprint, self.residents, self.hosting, self.peers, around.reports, self._received)
        self.keeper = TableKeeper(
            worker, blueprint, self.residents, self.hosting, self.pool, self.moves, self.peers, around.reports, self._targets, workers
        )
        self._loads = LoadReports(self.clock, self.settings.load_report_seconds, self._names, self.pump.stepped, self.keeper, self.peers)
        self._start_timers()

    def _services(self, around: Surroundings) -> Services:
        return Services(
            worker=self.id,
            clock=around.clock,
            ids=around.ids,
            acks=self.acks,
            schedule=self.pump.schedule,
            release=self._release,
            release_output=self.flush_now,
            targets=self._targets.__getitem__,
            active=self._active_tasks,
            report=self.report_error,
            spawn=around.spawn,
            notify=around.notify,
            call_at=self.timers.call_at,
            emitter=around.emitter,
        )

    def _start_timers(self) -> None:
        if self.settings.timeouts_enabled:
            self._every(self.settings.message_timeout_seconds, self._expire)
        for name, plan in self.blueprint.components.items():
            seconds = self.hosting.settings[name].tick_seconds
            if seconds is not None and not plan.is_spout:
                self._every(seconds, lambda name=name, seconds=seconds: self._tick(name, seconds))  # type: ignore[misc]

    def _every(self, seconds: float, call: Callable[[], None]) -> None:
        def again() -> None:
            call()
            self._every(seconds, call)

        self.timers.call_at(self.clock.now() + seconds, again)

    # ---- stepping

    def step(self) -> bool:
        """Run everyone who is ready once, then send what they left; True when there is more to do at once."""
        self.timers.fire(self.clock.now())
        self.pump.run_pass()
        self._settle()
        self._send()
        if self.pool.draining() or self.moves:
            self._go_on_changing()
        return self.pump.has_work()

    def next_at(self) -> float | None:
        """When `step` has something to do even if nothing arrives."""
        return self.timers.next_at()

    def _settle(self) -> None:
        """Take acks and failures to their ledgers, here or at a peer."""
        while self.acks:
            for owner, roots, deltas in self.acks.take_acks():
                spout = self.residents.spouts.get(owner)
                if spout is not None:
                    spout.settle_acks(roots, deltas)
                elif (peer := self._peer_of_spout(owner)) is not None:
                    peer.ack(owner, roots, deltas)
            for owner, roots in self.acks.take_fails():
                spout = self.residents.spouts.get(owner)
                if spout is not None:
                    spout.settle_fails(roots)
                elif (peer := self._peer_of_spout(owner)) is not None:
                    peer.fail(owner, roots)
        for task, spout in self.residents.spouts.items():
            if spout.finished != (task in self._finished):
                self._finished ^= {task}
                self._reports.finished(task, spout.finished)

    def _peer_of_spout(self, owner: int) -> Peer | None:
        table = self.keeper.table
        if table is None:
            return None
        plan = self.blueprint.component_of(owner)
        return self.peers.get(table.components[plan.id].worker_of(owner - plan.first_task))

    def _send(self) -> None:
        """Flush peers. A pass lasts no longer than the flush interval, so nothing waits longer, and at once when all is idle."""
        self._loads.send_due()
        for peer in self.peers.values():
            peer.flush()

    def flush_now(self) -> None:
        """Release everything at once: a step was slow, and what it emitted has waited long enough."""
        self._settle()
        for peer in self.peers.values():
            peer.flush()

    # ---- peers

    def meet(self, worker: str, incarnation: int, connection: Connection) -> None:
        """A connection with a peer stands; the newest wins."""
        peer = self.peers.get(worker)
        if peer is None or peer.incarnation != incarnation:
            peer = Peer(worker, incarnation, self.blueprint, self._rows, self.acks, self._refuse, self.settings.transfer_batch_size)
            self.peers[worker] = peer
        peer.connect(connection)
        self.moves.link_made(worker)
        if self.keeper.table is not None:
            self.keeper.credit.reconnect(self.keeper.table, worker)
            peer.mark(self.keeper.table.version)
        self.keeper.resolve()

    def lose(self, worker: str, connection: Connection) -> None:
        """A connection is lost; what had not been sent fails, what was under way is failed by the fence that follows."""
        peer = self.peers.get(worker)
        if peer is not None and peer.connection is connection:
            peer.lose()
            self.moves.link_lost(worker)
            self._reports.link_lost(worker, peer.incarnation)

    def on_message(self, worker: str, message: Message) -> None:
        """What a peer sent. Raises ProtocolError, which ends the connection, when it makes no sense."""
        peer = self.peers[worker]
        if isinstance(message, Bundle):
            try:
                self._on_bundle(peer, message)
            except (IndexError, KeyError) as error:
                raise ProtocolError(f"worker {worker} names what this topology does not have: {error!r}") from error
        elif isinstance(message, Mark):
            peer.marked = max(peer.marked, message.version)
            self._go_on_changing()
        elif isinstance(message, Handover):
            self.moves.handed(worker, message)
        elif isinstance(message, Took):
            self.moves.took(worker, message)
        elif isinstance(message, Probe):
            peer.send(Echo(message.number))
        elif isinstance(message, Echo):
            self.moves.echoed(worker, message.number)
            self._go_on_changing()

    def _on_bundle(self, peer: Peer, bundle: Bundle) -> None:
        table = self.keeper.table
        for wired in bundle.batches:
            batch = self._received(wired, peer.id)
            peer.got[batch.edge] = peer.got.get(batch.edge, 0) + len(batch.rows)
            if table is None or peer.marked > table.version:
                # routed by a table that this worker has not seen: its replica may be parked here, its task not here yet
                peer.early.append((peer.marked, batch))
            else:
                self._take_in(batch)
        for credit in bundle.credits:
            self._targets[self._names[credit.component]][credit.task].release(credit.count)
        for acks in bundle.acks:
            spout = self.residents.spouts.get(acks.owner)
            if spout is not None:
                spout.settle_acks(acks.roots, acks.deltas)
        for fails in bundle.fails:
            spout = self.residents.spouts.get(fails.owner)
            if spout is not None:
                spout.settle_fails(fails.roots)
        for load in bundle.loads:
            self._loads.take(self._names[load.component], load)

    def _take_in(self, batch: Batch) -> None:
        component = self.blueprint.edges[batch.edge].target
        slot = self.residents.slots.get((component, batch.task))
        if slot is not None:
            slot.accept(batch)
        else:
            self._forward(component, batch)

    @staticmethod
    def _received(wired: WireBatch, origin: str) -> Batch:
        edges = wired.roots if wired.edges is None else wired.edges
        return Batch(wired.edge, wired.task, wired.source, wired.rows, wired.roots, edges, wired.links, origin)

    def _forward(self, component: str, batch: Batch) -> None:
        """A batch for a task that is not here any more, from a sender that did not know: pass it on without credit."""
        door = self._targets[component][batch.task].door
        if door is None:
            if batch.roots is not None:
                self.acks.fail(batch.roots)
            _log.warning("%d tuples for %s[%d] had nowhere to go", len(batch.rows), component, batch.task)
            return
        door.accept(batch)

    def _release(self, component: str) -> Callable[[Batch, int], None]:
        index = self._names.index(component)
        targets = self._targets[component]

        def release(batch: Batch, count: int) -> None:
            if not batch.origin or batch.origin == self.id:
                targets[batch.task].release(count)
            elif (peer := self.peers.get(batch.origin)) is not None:
                peer.credit(index, batch.task, count)

        return release

    def _refuse(self, batch: Batch, error: WireError) -> None:
        """A tuple that cannot travel fails, is reported, and holds no credit."""
        edge = self.blueprint.edges[batch.edge]
        if batch.roots is not None:
            self.acks.fail(batch.roots)
        for links in batch.links or ():
            self.acks.fail([root for root, _ in links or ()])
        self._targets[edge.target][batch.task].release(len(batch.rows))
        self.report_error(edge.source, batch.source, error)

    def refused(self, wired: WireBatch, error: WireError) -> None:
        """A connection could not send, or could not read, one row: its tuple fails, and its credit is given back."""
        batch = self._received(wired, "")
        edge = self.blueprint.edges[batch.edge]
        target = self._targets[edge.target][batch.task]
        if isinstance(target.door, Peer):
            self._refuse(batch, error)
            return
        if batch.roots is not None:
            self.acks.fail(batch.roots)
        self.report_error(edge.source, batch.source, error)
        table, plan = self.keeper.table, self.blueprint.components[edge.source]
        if table is not None:
            batch.origin = table.components[edge.source].worker_of(batch.source - plan.first_task)
        self._release(edge.target)(batch, len(batch.rows))

    # ---- control

    def apply(self, table: ActivationTable, positions: Positions) -> None:
        """Route by this table from the next step on."""
        old = self.keeper.table
        for worker, incarnation in old.workers.items() if old is not None else ():
            peer = self.peers.get(worker)
            if peer is not None and peer.incarnation == incarnation and table.workers.get(worker) != incarnation:
                self.peers.pop(worker).lose()
                self.moves.link_lost(worker)
        self.keeper.apply(table, positions)
        for peer in self.peers.values():
            while peer.early and peer.early[0][0] <= table.version:
                self._take_in(peer.early.popleft()[1])
        if self.awake:
            self.activate()  # a spout task may have come here
        self._go_on_changing()

    def activate(self) -> None:
        """Spouts begin, or go on."""
        self.awake = True
        for spout in self.residents.spouts.values():
            spout.activate()

    def deactivate(self) -> None:
        """Spouts stop; everything else goes on."""
        self.awake = False
        for spout in self.residents.spouts.values():
            spout.deactivate()

    def fence(self) -> None:
        """Every live worker has confirmed a table without the one that was lost: fail what was emitted before now."""
        for spout in self.residents.spouts.values():
            spout.fail_all()

    def close(self) -> None:
        """Call `close` of everything; exceptions are reported."""
        for executor in self.residents.executors.values():
            for slot in executor.slots.values():
                if slot.collector is not None and slot.instance is not None:
                    self._close(slot.instance, executor.plan.id, slot.task_id)
        for task, spout in self.residents.spouts.items():
            self._close(spout.instance, spout.plan.id, task)

    def _close(self, instance: Any, component: str, task: int) -> None:
        try:
            instance.close()
        except Exception as error:  # noqa: BLE001 - a hook of the user's: reported, the others are closed too
            self.report_error(component, task, error)

    def _go_on_changing(self) -> None:
        """Park what has drained, take moves further."""
        table = self.keeper.table
        if table is None:
            return
        marked = self.marked()
        if self.moves:
            self.moves.progress(marked)
        for (component, replica), version in self.pool.park(marked, self._is_empty):
            self.keeper.lifecycle((component, replica), "deactivate")
            self._reports.parked(component, replica, version)
            if table.components[component].places[replica] != self.id:
                self._retire(component, replica)

    def marked(self) -> int:
        """The newest table of which every live worker has said that it sends nothing older any more."""
        table = self.keeper.table
        if table is None:
            return 0
        others = [worker for worker in table.workers if worker != self.id]
        marks = [self.peers[worker].marked if worker in self.peers else 0 for worker in others]
        return min(marks, default=table.version) if marks else table.version

    def _is_empty(self, key: tuple[str, int]) -> bool:
        executor = self.residents.executors[key]
        keyed = self.blueprint.components[key[0]].keyed
        return executor.idle() and not (keyed and executor.slots)

    def _retire(self, component: str, replica: int) -> None:
        executor = self.residents.executors.pop((component, replica))
        for slot in list(executor.slots.values()):
            self.residents.slots.pop((component, slot.task), None)
            if slot.collector is not None:
                self._close(slot.instance, component, slot.task_id)
        self.pool.drop((component, replica))

    def _active_tasks(self, component: str) -> list[int]:
        table, plan = self.keeper.table, self.blueprint.components[component]
        return [] if table is None else [plan.first_task + replica for replica in table.components[component].active]

    # ---- timers

    def _expire(self) -> None:
        for spout in self.residents.spouts.values():
            spout.expire()

    def _tick(self, component: str, seconds: float) -> None:
        tup = tick_tuple(seconds)
        for (name, replica), executor in self.residents.executors.items():
            if name == component and self.pool.states.get((name, replica)) not in (None, ReplicaState.INACTIVE):
                executor.tick(tup)

    def report_error(self, component: str, task: int, error: BaseException | str) -> None:
        """Tell the controller of an exception of user code, unless its component has told enough for now."""
        text = error if isinstance(error, str) else "".join(traceback.format_exception(error)).rstrip()
        for line in self._throttle.pass_on(component, text, self.clock.now()):
            _log.error("component %s, task %d: %s", component, task, line)
            self._reports.error(component, task, line)
