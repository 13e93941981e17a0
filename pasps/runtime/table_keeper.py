"""Applies activation tables to a worker: what it hosts, what is active, where every task of the topology is reached.

Called by the worker between two steps; the numbers in `apply` are the steps of decision "moving a task" and "up, down".
"""

from __future__ import annotations

from collections.abc import Mapping

from pasps.activation import ActivationTable, Routing, moves
from pasps.errors import Interrupt
from pasps.groupings.base import TargetView
from pasps.groupings.load import LoadTable
from pasps.runtime.executor import BoltExecutor, Executor
from pasps.runtime.hosting import Hosting, SpoutStart
from pasps.runtime.late_starts import LateStarts
from pasps.runtime.lost_credit import LostCredit
from pasps.runtime.parts import Parts
from pasps.runtime.replica_pool import Key, ReplicaState
from pasps.runtime.target import Target
from pasps.runtime.task_moves import TaskMoves

LEAST_WINDOW = 64
"""Credit that a sender has at a task at least, however many tasks share a replica."""

Positions = Mapping[int, SpoutStart]
"""By spout task id: where it goes on."""


class TableKeeper:
    """One for each worker. The first `apply` may raise what `initialize` raises."""

    def __init__(self, parts: Parts, hosting: Hosting, moving: TaskMoves, late: LateStarts) -> None:
        self._me = parts.me
        self._blueprint = parts.blueprint
        self._residents = parts.residents
        self._hosting = hosting
        self._pool = parts.pool
        self._moving = moving
        self._late = late
        self._positions: Positions = {}
        self._peers = parts.peers
        self._reports = parts.reports
        self._targets = parts.targets
        self._workers = parts.workers
        self.credit = LostCredit(parts.targets)
        self.table: ActivationTable | None = None
        self.loads = {name: LoadTable(plan.pool) for name, plan in parts.blueprint.components.items()}

    def apply(self, table: ActivationTable, positions: Positions) -> None:
        """Go over to a newer table; an older one is ignored."""
        old = self.table
        if old is not None and table.version <= old.version:
            return
        lost = self._lost(old, table)
        if old is not None:
            self.credit.change(old, table, lost)  # 1. nothing comes back from the dead
        self.table = table
        if old is not None and self._me not in old.workers:
            self._drop_strangers(table)
        self._positions = positions
        self._place(table)  # 2. host what the table places here
        self._move(old, table)  # 3. keyed tasks
        for worker in lost:
            self._moving.worker_lost(worker)
        self._set_states(table)  # 4. who works, who drains
        for peer in self._peers.values():  # 5. tell every peer that it has the last of the old
            if peer.id in table.workers:
                peer.mark(table.version)
        self.resolve()  # 6. route by the new table; what is parked too, so the marks must be out before
        self._reports.applied(table.version)
        self._late.live = self._hosting.restarted = True  # what is made from the next table on makes up for a loss

    @staticmethod
    def _lost(old: ActivationTable | None, table: ActivationTable) -> list[str]:
        if old is None:
            return []
        return [worker for worker, incarnation in old.workers.items() if table.workers.get(worker) != incarnation]

    def _drop_strangers(self, table: ActivationTable) -> None:
        """What was made here at the launch, by a table in which this worker was not yet alive, and went to others meanwhile."""
        residents = self._residents
        for task_id, spout in list(residents.spouts.items()):
            if table.components[spout.plan.id].worker_of(spout.replica) != self._me:
                self._hosting.close(residents.spouts.pop(task_id), spout.instance)
        for (name, task), slot in list(residents.slots.items()):
            routing = table.components[name]
            if routing.hosts is not None and routing.worker_of(task) != self._me:
                host = next(executor for executor in residents.executors.values() if executor.slots.get(task) is slot)
                residents.detach(slot)
                if slot.collector is not None:
                    self._hosting.close(host, slot.instance)

    def place_spouts(self) -> None:
        """Start what could not be started when its table came."""
        if self.table is not None:
            self._place(self.table)
            self.resolve()

    def _place(self, table: ActivationTable) -> None:
        for name, routing in table.components.items():
            plan = self._blueprint.components[name]
            for replica, worker in enumerate(routing.places):
                if worker != self._me:
                    continue
                if plan.is_spout:
                    task_id = plan.first_task + replica
                    if task_id not in self._residents.spouts:
                        spout = self._late.spout(plan, replica, self._positions.get(task_id, SpoutStart()))
                        if spout is not None:
                            self._residents.spouts[task_id] = spout
                elif (name, replica) not in self._residents.executors:
                    executor = self._hosting.bolt_executor(plan, replica)
                    self._residents.executors[name, replica] = executor
                    if not plan.keyed:
                        slot = self._hosting.slot(plan, replica, executor)
                        self._residents.attach(slot, executor)
                        self._late.fill(slot, executor)

    def _move(self, old: ActivationTable | None, table: ActivationTable) -> None:
        if old is None:
            for name, routing in table.components.items():
                for task in range(routing.pool if routing.hosts is not None else 0):
                    if routing.worker_of(task) == self._me:
                        self._moving.come(table.version, (name, task), None, self._host(name, routing, task))
            return
        for move in moves(old, table):
            key = (move.component, move.task)
            if move.source == self._me and move.target != self._me:
                self._moving.leave(table.version, key, move.target)
            elif move.target == self._me and key in self._residents.slots and key not in self._moving.departures:
                # made when this worker was launched with a table in which it was not yet alive
                self._reports.moved(table.version, *key)
            elif move.target == self._me:
                self._moving.come(table.version, key, move.source, self._host(move.component, table.components[move.component], move.task))
        self._move_within(table)

    def _move_within(self, table: ActivationTable) -> None:
        """Tasks that change replica but not worker: by reference, with what is queued for them."""
        for (name, task), slot in list(self._residents.slots.items()):
            routing = table.components[name]
            if routing.hosts is None or routing.worker_of(task) != self._me or (name, task) in self._moving.departures:
                continue
            executor = self._host(name, routing, task)
            arrival = self._moving.arrivals.get((name, task))
            if arrival is not None:
                arrival.executor = executor
            self._moving.change_host(slot, executor)

    def _host(self, name: str, routing: Routing, task: int) -> BoltExecutor:
        return self._residents.executors[name, routing.replica_of(task)]

    # ---- states

    def _set_states(self, table: ActivationTable) -> None:
        listed, placed = set(), set()
        for name, routing in table.components.items():
            if self._blueprint.components[name].is_spout:
                continue
            listed |= {(name, replica) for replica in routing.active}
            placed |= {(name, replica) for replica, worker in enumerate(routing.places) if worker == self._me}
        activated, _ = self._pool.apply(table.version, listed, placed)
        for key in activated:
            self.lifecycle(key, "activate")
        self.share_out()

    def share_out(self) -> None:
        """Have those take from the bolts' shared inboxes who are to, by the states of the replicas here."""
        self._residents.share_out(self.state)

    def lifecycle(self, key: Key, hook: str) -> None:
        """Call `activate` or `deactivate` of the instances on a replica."""
        executor = self._residents.executors[key]
        for slot in executor.slots.values():
            if slot.collector is None or slot.instance is None:
                continue
            self._hosting.hook(executor, slot.instance, hook)

    def state(self, key: Key) -> ReplicaState:
        """The state of a replica of this worker."""
        return self._pool.states.get(key, ReplicaState.INACTIVE)

    # ---- routes

    def resolve(self) -> None:
        """Point every target at where its task lives, and show the groupings who is active."""
        table = self.table
        if table is None:
            return
        for name, routing in table.components.items():
            if self._blueprint.components[name].is_spout:
                continue
            window, most_bytes = self._window(name, routing)
            for target in self._targets[name]:
                worker = routing.worker_of(target.task)
                if worker == self._me:
                    target.door = self._residents.inboxes.get(name) or self._residents.slots.get((name, target.task))
                else:
                    # a peer that was started anew is no door before the table that names its new incarnation
                    peer = self._peers.get(worker)
                    named = peer is not None and peer.incarnation == table.workers.get(worker)
                    target.door = peer if peer is not None and named and peer.connection is not None else None
                many = self._sharers(name, routing, worker)
                target.limit, target.most_bytes = window * many, most_bytes * many
        views = {name: self._view(name, routing) for name, routing in table.components.items()}
        executors: list[Executor] = [*self._residents.executors.values(), *self._residents.spouts.values()]
        for executor in executors:
            try:
                executor.emitter.refresh(views.__getitem__, self._serves)
            except Interrupt:
                raise
            except BaseException as error:
                if not self._late.live:
                    raise
                self._hosting.report(executor, error)
            if executor.emitter.parked:
                executor.wake()

    def _window(self, name: str, routing: Routing) -> tuple[int, int]:
        """Tuples and bytes that each worker may have at each task."""
        settings = self._hosting.settings[name]
        size, most_bytes = settings.receive_buffer_size // self._workers, settings.receive_buffer_bytes // self._workers
        if routing.hosts is not None:
            size = max(min(size, LEAST_WINDOW), size * len(routing.active) // routing.pool)
            most_bytes = most_bytes * len(routing.active) // routing.pool
        return max(1, size), max(1, most_bytes)

    def _sharers(self, name: str, routing: Routing, worker: str) -> int:
        """How many replicas stand behind a target of the bolt in that worker: all that are active there, when they share an inbox."""
        if not self._blueprint.components[name].shared:
            return 1
        return max(1, sum(routing.places[replica] == worker for replica in routing.active))

    def _view(self, name: str, routing: Routing) -> TargetView:
        targets, active = self._targets[name], routing.active
        if self._blueprint.components[name].shared:
            active = queues_of(routing)
        local = frozenset(index for index in active if routing.places[index] == self._me)
        return TargetView(active, local, routing.pool, self.loads[name], lambda index: targets[index].room())

    def _serves(self, target: Target) -> bool:
        assert self.table is not None
        routing = self.table.components[target.component]
        return routing.hosts is not None or target.task in routing.active


def queues_of(routing: Routing) -> tuple[int, ...]:
    """The inboxes of a bolt whose replicas share them: for each worker with an active one, the first replica that is placed there."""
    return tuple(sorted({routing.places.index(routing.places[replica]) for replica in routing.active}))
