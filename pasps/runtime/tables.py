"""Applies activation tables to a worker: what it hosts, who is active, where every task of the topology is reached, who may park.

The worker calls `TableKeeper.apply` between two steps, and `Draining.go_on` while changes are under way. What cannot be started when a
table brings it is reported and tried again; what comes for it waits meanwhile, which holds its senders back.
"""

from __future__ import annotations

from collections.abc import Mapping

from pasps.activation import ActivationTable, Routing, moves
from pasps.api.blueprint import ComponentPlan
from pasps.api.splitting import TargetView
from pasps.config import RuntimeSettings
from pasps.errors import Interrupt
from pasps.groupings.load import LoadTable
from pasps.runtime.executor import BoltExecutor, CallAt, Executor
from pasps.runtime.hosting import Hosting, Key
from pasps.runtime.moves import TaskMoves, next_try
from pasps.runtime.peer import Peer
from pasps.runtime.reports import Reports
from pasps.runtime.target import Target


class LostCredit:
    """Of one worker. Gives up too much rather than too little: an inbox may for once hold more than its window."""

    def __init__(self, targets: dict[str, list[Target]]) -> None:
        self._targets = targets
        self._was_on: dict[Key, set[str]] = {}  # where a target was before, while there is still credit out

    def change(self, old: ActivationTable, table: ActivationTable, lost: list[str]) -> None:
        """Workers are lost between two tables: with them what was sent to them, also before a task or replica went elsewhere."""
        for name, routing in old.components.items():
            for task in range(routing.pool):
                target, before = self._targets[name][task], routing.worker_of(task)
                places = self._was_on.pop((name, task), set())
                if not places.isdisjoint(lost) or before in lost:
                    target.forget()
                if before != table.components[name].worker_of(task):
                    places.add(before)
                if target.outstanding and places:
                    self._was_on[name, task] = places

    def reconnect(self, table: ActivationTable, worker: str) -> None:
        """A connection was made anew: what the one before had taken may have been lost with it."""
        for name, routing in table.components.items():
            for task in range(routing.pool):
                # also for a task that went elsewhere while the connection was down: what was given to it then failed at once
                if routing.worker_of(task) == worker or worker in self._was_on.get((name, task), ()):
                    self._targets[name][task].forget()


LEAST_WINDOW = 64
"""Credit that a sender has at a task at least, however many tasks share a replica."""

Positions = Mapping[int, bytes]
"""What spout tasks saved last, by task id, packed: where they go on."""


class TableKeeper:
    """One for each worker. The first `apply` may raise what `initialize` raises."""

    def __init__(
        self,
        hosting: Hosting,
        moving: TaskMoves,
        peers: dict[str, Peer],
        targets: dict[str, list[Target]],
        reports: Reports,
        workers: int,
        call_at: CallAt,
    ) -> None:
        self._me = hosting.me
        self._blueprint = hosting.blueprint
        self._residents = hosting.residents
        self._hosting = hosting
        self._moving = moving
        self._positions: Positions = {}
        self._spouts_due: dict[int, float] = {}  # by task: when it is tried again to start it
        self._peers = peers
        self._reports = reports
        self._targets = targets
        self._workers = workers
        self._call_at = call_at
        self.credit = LostCredit(targets)
        self.table: ActivationTable | None = None
        self.loads = {name: LoadTable(plan.pool) for name, plan in hosting.blueprint.components.items()}

    def apply(self, table: ActivationTable, positions: Positions) -> None:
        """Go over to a newer table; an older one is ignored."""
        old = self.table
        if old is not None and table.version <= old.version:
            return
        lost = self._lost(old, table)
        if old is not None:
            # before 6: the credit of what that sends would be forgotten with the rest, and an inbox hold more than its window
            self.credit.change(old, table, lost)  # 1. nothing comes back from the dead
        self.table = table
        if old is not None and self._me not in old.workers:
            self._drop_strangers(table)
        self._positions = positions
        self._place(table)  # 2. host what the table places here
        self._move(old, table)  # 3. keyed tasks
        # behind 3, which takes back what was on its way to the dead: to forget that first would lose the only copy of its state
        for worker in lost:
            self._moving.worker_lost(worker)
        self._set_states(table)  # 4. who works, who drains
        for peer in self._peers.values():  # 5. tell every peer that it has the last of the old
            if peer.id in table.workers:
                peer.mark(table.version)
        self.resolve()  # 6. route by the new table; what is parked too, so the marks must be out before
        self._reports.applied(table.version)
        self._hosting.live = self._hosting.restarted = True  # what is made from the next table on makes up for a loss

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

    def _place_spouts(self) -> None:
        """Start what could not be started when its table came."""
        if self.table is not None:
            self._place(self.table)
            self.resolve()

    def _start(self, plan: ComponentPlan, replica: int) -> None:
        """Have a spout task go on here; it is tried again when it cannot be started now."""
        clock, task_id = self._hosting.clock, plan.first_task + replica
        begun = clock.now()
        if begun < self._spouts_due.get(task_id, begun):
            return
        try:
            spout = self._hosting.spout_executor(plan, replica, self._positions.get(task_id))
        except Interrupt:
            raise
        except BaseException as error:
            if not self._hosting.live:
                raise
            self._hosting.report_start(plan, replica, error)
            self._spouts_due[task_id] = next_try(begun, clock.now())
            self._call_at(self._spouts_due[task_id], self._place_spouts)
            return
        self._spouts_due.pop(task_id, None)
        self._residents.spouts[task_id] = spout
        if self._hosting.awake:
            spout.activate()

    def _place(self, table: ActivationTable) -> None:
        for name, routing in table.components.items():
            plan = self._blueprint.components[name]
            for replica, worker in enumerate(routing.places):
                if worker != self._me:
                    continue
                if plan.is_spout:
                    task_id = plan.first_task + replica
                    if task_id not in self._residents.spouts:
                        self._start(plan, replica)
                elif (name, replica) not in self._residents.executors:
                    executor = self._hosting.bolt_executor(plan, replica)
                    self._residents.executors[name, replica] = executor
                    if not plan.keyed:
                        slot = self._hosting.slot(plan, replica, executor)
                        self._residents.attach(slot, executor)
                        self._moving.fill(slot, executor)

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
        activated, _ = self._hosting.pool.apply(table.version, listed, placed)
        for key in activated:
            self._hosting.lifecycle(key, "activate")
        self._hosting.share_out()

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
                target.here = worker == self._me
                if target.here:
                    target.door = self._residents.inboxes.get(name) or self._residents.slots.get((name, target.task))
                else:
                    # a peer that was started anew is no door before the table that names its new incarnation
                    peer = self._peers.get(worker)
                    named = peer is not None and peer.incarnation == table.workers.get(worker)
                    target.door = peer if peer is not None and named and peer.connection is not None else None
                many = self._sharers(name, routing, worker)
                # this may be less than what is out there now: then nothing goes until enough of it was taken
                target.limit, target.most_bytes = window * many, most_bytes * many
        views = {name: self._view(name, routing) for name, routing in table.components.items()}
        executors: list[Executor] = [*self._residents.executors.values(), *self._residents.spouts.values()]
        for executor in executors:
            # what was parked for a task that is put out may leave at once, and then nobody's credit would wake who waits behind it
            waits = bool(executor.emitter.parked)
            try:
                executor.emitter.refresh(views.__getitem__, self._serves)
            except Interrupt:
                raise
            except BaseException as error:
                if not self._hosting.live:
                    raise
                self._hosting.report(executor, error)
            if waits or executor.emitter.parked:
                executor.wake()

    def _window(self, name: str, routing: Routing) -> tuple[int, int]:
        """Tuples and bytes that each worker may have at each task."""
        settings = self._hosting.settings[name]
        size, most_bytes = settings.receive_buffer_size // self._workers, settings.receive_buffer_bytes // self._workers
        if routing.hosts is not None:
            # its tasks share the buffers of the active replicas; but with less than this a busy one would wait for the network
            # (docs/decisions/0005)
            size = max(min(size, LEAST_WINDOW), size * len(routing.active) // routing.pool)
            most_bytes = most_bytes * len(routing.active) // routing.pool
        return max(1, size), max(1, most_bytes)

    def _sharers(self, name: str, routing: Routing, worker: str) -> int:
        """How many replicas stand behind a target of the bolt in that worker: all that are active there, when they share an inbox."""
        if not self._hosting.shared[name]:
            return 1
        return max(1, sum(routing.places[replica] == worker for replica in routing.active))

    def _view(self, name: str, routing: Routing) -> TargetView:
        targets, active, weights = self._targets[name], routing.active, dict[int, int]()
        if self._hosting.shared[name]:
            active = queues_of(routing)
            # replicas that compute share their worker's core: together they do no more than one
            if self._blueprint.components[name].execution != "inline":
                weights = {index: self._sharers(name, routing, routing.places[index]) for index in active}
        local = frozenset(index for index in active if routing.places[index] == self._me)
        return TargetView(
            active,
            local,
            routing.pool,
            self.loads[name],
            lambda index: targets[index].room(),
            weights,
            lambda index: targets[index].occupancy(),
            self._homes(routing) if self._blueprint.components[name].observed else {},
        )

    def _homes(self, routing: Routing) -> dict[int, object]:
        """By replica or task that may be named: its worker, the incarnation of that, and how often it was connected."""
        assert self.table is not None
        named = routing.active if routing.hosts is None else range(routing.pool)
        homes: dict[int, object] = {}
        for index in named:
            worker = routing.worker_of(index)
            peer = self._peers.get(worker)
            homes[index] = (worker, self.table.workers.get(worker), 0 if peer is None else peer.met)
        return homes

    def _serves(self, target: Target) -> bool:
        assert self.table is not None
        routing = self.table.components[target.component]
        return routing.hosts is not None or target.task in routing.active


def queues_of(routing: Routing) -> tuple[int, ...]:
    """The inboxes of a bolt whose replicas share them: for each worker with an active one, the first replica that is placed there."""
    return tuple(sorted({routing.places.index(routing.places[replica]) for replica in routing.active}))


class Draining:
    """One for each worker; `go_on` must be called after steps while it is `busy`, and whenever a mark came in."""

    def __init__(self, hosting: Hosting, keeper: TableKeeper, moves: TaskMoves, peers: dict[str, Peer], reports: Reports) -> None:
        self._hosting = hosting
        self._residents, self._pool = hosting.residents, hosting.pool
        self._settings = RuntimeSettings.from_config(hosting.blueprint.config)
        self._keeper = keeper
        self._moves = moves
        self._peers = peers
        self._reports = reports
        self._still: dict[tuple[str, int], tuple[int, float]] = {}
        """By draining replica: what it had executed, and since when that is so."""
        self._leaving = False
        """Whether a replica at rest, which lives elsewhere now, has still to say its last or to get rid of it."""

    def busy(self) -> bool:
        """Whether anything is under way."""
        return self._pool.draining() or bool(self._moves) or self._leaving

    def go_on(self) -> None:
        """Take moves further, park what has drained."""
        table = self._keeper.table
        if table is None:
            return
        marked = self.marked()
        self._moves.progress(marked)
        for (component, replica), version in self._pool.park(marked, self._is_empty):
            self._hosting.lifecycle((component, replica), "deactivate")
            self._reports.parked(component, replica, version)
            self._hosting.share_out()
        self._leaving = False
        for component, replica in self._pool.elsewhere():
            key = (component, replica)
            if self._has_keyed_tasks(key):  # its moves come first
                continue
            executor = self._residents.executors[key]
            if self._finishes(executor) or executor.emitter.parked:
                self._leaving = True
            else:
                self._retire(component, replica)

    def marked(self) -> int:
        """The newest table of which every live worker has said that it sends nothing older any more."""
        table = self._keeper.table
        if table is None:
            return 0
        peers = self._peers
        others = [worker for worker in table.workers if worker != self._hosting.me]
        # who was not met yet holds everything up: what it routes by an older table may still come
        return min((peers[worker].marked if worker in peers else 0 for worker in others), default=table.version)

    def _is_empty(self, key: tuple[str, int]) -> bool:
        executor = self._residents.executors[key]
        # what is held waits for an instance that could not be started yet
        if self._has_keyed_tasks(key) or any(slot.held for slot in executor.slots.values()) or not executor.quiet():
            return False
        inbox = executor.inbox
        if inbox.shared and inbox.count and not inbox.takers:  # it waits for an instance here that could not be started yet
            return False
        if executor.kept() and not self._forgot(key, executor):
            return False
        return not (self._is_elsewhere(key) and self._finishes(executor))

    def _is_elsewhere(self, key: tuple[str, int]) -> bool:
        table = self._keeper.table
        return table is not None and table.components[key[0]].places[key[1]] != self._hosting.me

    @staticmethod
    def _finishes(executor: BoltExecutor) -> bool:
        """Whether its instances, which end here while the topology goes on, have still to say their last."""
        if executor.unfinished():
            executor.finish()
        return executor.finishing() > 0

    def _has_keyed_tasks(self, key: tuple[str, int]) -> bool:
        return self._hosting.blueprint.components[key[0]].keyed and bool(self._residents.executors[key].slots)

    def _forgot(self, key: tuple[str, int], executor: BoltExecutor) -> bool:
        """Whether what it keeps has failed at its spouts: two time-outs after its last tuple, nothing of it can be acked any more."""
        executed, now = sum(executor.meter.executed.values()), self._hosting.clock.now()
        before, since = self._still.get(key, (-1, now))
        if before != executed:
            self._still[key] = (executed, now)
            return False
        # without time-outs its spouts give up nothing either, however long it takes (docs/decisions/0015)
        return self._settings.timeouts_enabled and now - since >= 2 * self._settings.message_timeout_seconds

    def _retire(self, component: str, replica: int) -> None:
        """The replica is placed elsewhere now: close what it has here."""
        executor = self._residents.retire((component, replica), self._hosting.me)
        self._hosting.close_all(executor)
        executor.stop()
        self._still.pop((component, replica), None)
        self._pool.drop((component, replica))
        self._hosting.share_out()
