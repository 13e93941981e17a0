"""A worker without I/O: wires everything that it hosts, and is stepped by whoever owns the event loop.

The walk of a tuple starts and ends here: `step` runs executors, takes acks to their ledgers and flushes peers.
"""

from __future__ import annotations

import heapq
import logging
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count

from pasps.activation import ActivationTable
from pasps.api.blueprint import Blueprint, Edge
from pasps.clock import Clock, Deadline
from pasps.config import RuntimeSettings
from pasps.errors import ProtocolError, WireError
from pasps.ids import IdSource
from pasps.runtime.acks import AckBox
from pasps.runtime.batch import Batch, Payload
from pasps.runtime.emitter import Emitter
from pasps.runtime.executor import BoltExecutor, Pump, raised_by
from pasps.runtime.hosting import Hosting, MakeEmitter, ReplicaState
from pasps.runtime.loads import Lending, LoadReports
from pasps.runtime.moves import TaskMoves
from pasps.runtime.payloads import PayloadCourier
from pasps.runtime.peer import Peer, received, releaser
from pasps.runtime.reports import Reports, Throttle, is_raised, let_go, told_of
from pasps.runtime.tables import Draining, Positions, TableKeeper
from pasps.runtime.target import Target
from pasps.runtime.waiting_executors import Spawn
from pasps.runtime.ways import tick_tuple
from pasps.transport.codec import Refusal, Trial
from pasps.transport.connection import Connection
from pasps.transport.messages import Acks, Ask, Bundle, Carried, Echo, Fails, Gave, Handover, Mark, Message, Probe, Told, Took
from pasps.transport.values import RowWrapper


class Timers:
    """Calls by time; ties in the order of their setting."""

    __slots__ = ("_heap", "_order")

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()

    def call_at(self, when: float, call: Callable[[], None]) -> None:
        """Call once `when` is reached."""
        heapq.heappush(self._heap, (when, next(self._order), call))

    def next_at(self) -> float | None:
        """When the earliest call is due."""
        return self._heap[0][0] if self._heap else None

    def fire(self, now: float) -> None:
        """Make the calls that are due."""
        heap = self._heap
        while heap and heap[0][0] <= now:
            heapq.heappop(heap)[2]()


def ack_box_for(blueprint: Blueprint) -> AckBox:
    """A box that need not look at each root where there is but one spout task."""
    spouts = [task for plan in blueprint.components.values() if plan.is_spout for task in plan.tasks]
    return AckBox(spouts[0] if len(spouts) == 1 else 0)


def targets_of(blueprint: Blueprint) -> dict[str, list[Target]]:
    """A target for every task; where they are, the first table says."""
    return {name: [Target(name, task, 1) for task in range(plan.pool)] for name, plan in blueprint.components.items()}


_MOST_ROUNDS = 16


class AckCourier:
    """One for each worker. Needs no credit: acks must always get through."""

    def __init__(self, hosting: Hosting, keeper: TableKeeper, peers: dict[str, Peer], acks: AckBox, reports: Reports) -> None:
        self._acks = acks
        self._spouts = hosting.residents.spouts
        self._blueprint = hosting.blueprint
        self._peers = peers
        self._keeper = keeper
        self._reports = reports
        self._finished: set[int] = set()

    def deliver(self) -> None:
        """Empty the ack box. What spouts do when they hear of it may fill it again, so for some rounds; then with the next step."""
        for _ in range(_MOST_ROUNDS):
            if not self._acks:
                break
            for owner, roots, deltas in self._acks.take_acks():
                spout = self._spouts.get(owner)
                if spout is not None:
                    spout.settle_acks(roots, deltas)
                elif (peer := self._peer_of(owner)) is not None:
                    peer.ack(owner, roots, deltas)
            for owner, roots in self._acks.take_fails():
                spout = self._spouts.get(owner)
                if spout is not None:
                    spout.settle_fails(roots)
                elif (peer := self._peer_of(owner)) is not None:
                    peer.fail(owner, roots)
        if self._acks:  # a spout that emits in `ack` or `fail`, and hears of that at once, must not keep the worker for itself
            for spout in self._spouts.values():
                spout.wake()
        for task, spout in self._spouts.items():
            if spout.finished != (task in self._finished):
                self._finished ^= {task}
                self._reports.finished(task, spout.finished)

    def _peer_of(self, owner: int) -> Peer | None:
        table = self._keeper.table
        if table is None:
            return None
        plan = self._blueprint.component_of(owner)
        return self._peers.get(table.components[plan.id].worker_of(owner - plan.first_task))

    def arrived(self, acks: list[Acks], fails: list[Fails]) -> None:
        """What a peer sent for spout tasks here; for one that is not here any more it is late, and dropped."""
        for ack in acks:
            spout = self._spouts.get(ack.owner)
            if spout is not None:
                spout.settle_acks(ack.roots, ack.deltas)
        for fail in fails:
            spout = self._spouts.get(fail.owner)
            if spout is not None:
                spout.settle_fails(fail.roots)


_log = logging.getLogger(__name__)


_CLOSE_SECONDS = 3.0
"""How long the end of a worker waits for calls that are under way on threads; its controller ends it after five anyway."""


class Worker:
    """Single-threaded. `step` never blocks longer than the user's code does; nothing of the user's raises out of it."""

    def __init__(
        self,
        blueprint: Blueprint,
        worker: str,
        workers: int,
        *,
        clock: Clock,
        ids: IdSource,
        reports: Reports,
        rows: RowWrapper,
        spawn: Spawn,
        notify: Callable[[BoltExecutor], None],
        emitter: MakeEmitter = Emitter,
        restarted: bool = False,
    ) -> None:
        """`worker` of the topology's `workers`, with what it needs of its process.

        Args:
            reports: who is told what happens here.
            spawn: starts a coroutine on the event loop that this worker borrows.
            notify: has an executor woken from another thread.
            restarted: it is started in place of a worker that was lost.
        """
        self.id, self.blueprint, self.clock = worker, blueprint, clock
        self.settings = settings = RuntimeSettings.from_config(blueprint.config)
        self._names = list(blueprint.components)
        self._reports, self._rows = reports, rows
        self._throttle = Throttle(settings.error_throttle_seconds, settings.max_error_reports)
        self._closed = False
        # what executors and peers share
        self.timers = Timers()
        self.pump = Pump(len(blueprint.components), clock, settings.flush_interval_seconds)
        self.acks, self.targets = ack_box_for(blueprint), targets_of(blueprint)
        self.peers: dict[str, Peer] = {}
        # who lives here
        self.hosting = Hosting(
            blueprint,
            worker,
            clock=clock,
            ids=ids,
            acks=self.acks,
            targets=self.targets,
            peers=self.peers,
            schedule=self.pump.schedule,
            call_at=self.timers.call_at,
            trial=Trial(rows, settings.max_frame_bytes) if workers > 1 else None,
            spawn=spawn,
            notify=notify,
            emitter=emitter,
            report=self.report_error,
            flush=self.flush,
            active=self._active_tasks,
            dry=None if workers == 1 else self._dry,
            tell=self._tell,
            restarted=restarted,
        )
        self.residents, self.pool = self.hosting.residents, self.hosting.pool
        # how that changes
        self.moves = TaskMoves(self.hosting, self.peers, reports, self.timers.call_at)
        self.keeper = TableKeeper(self.hosting, self.moves, self.peers, self.targets, reports, workers, self.timers.call_at)
        self._draining = Draining(self.hosting, self.keeper, self.moves, self.peers, reports)
        # what goes to others
        self._courier = AckCourier(self.hosting, self.keeper, self.peers, self.acks, reports)
        self._payloads = PayloadCourier(self.hosting, self.keeper, self.peers)
        self._loads = LoadReports(self.hosting, self.keeper, self.peers, self.pump.stepped, self.timers.call_at, reports.pressed)
        self._lending = Lending(self.hosting, self.keeper, self.peers, self.targets)
        self._start_timers()

    def _start_timers(self) -> None:
        if self.settings.timeouts_enabled:
            self._every(self.settings.message_timeout_seconds, self._expire)
        for name, plan in self.blueprint.components.items():
            seconds = self.hosting.settings[name].tick_seconds
            if seconds is not None and not plan.is_spout:
                self._every(seconds, partial(self._tick, name, seconds))

    def _every(self, seconds: float, call: Callable[[], None]) -> None:
        def again() -> None:
            call()
            self._every(seconds, call)

        self.timers.call_at(self.clock.now() + seconds, again)

    # ---- stepping

    def step(self) -> bool:
        """Run everyone who is ready once, then send what they left; True when there is more to do at once.

        A pass lasts no longer than the flush interval, so nothing waits longer, and nothing waits when all is idle.
        """
        if self._closed:  # whoever owns the loop may still have a step to make; no user code runs behind its `close`
            return False
        self.timers.fire(self.clock.now())
        self.pump.run_pass()
        # before the flush: what it tells goes along with the frame that goes out anyway
        self._loads.send_due()
        self.flush()
        if self._draining.busy():
            self._draining.go_on()
        return self.pump.has_work()

    def flush(self) -> None:
        """Take acks to their ledgers, and send every peer what waits for it."""
        self._courier.deliver()
        for peer in self.peers.values():
            peer.flush()
        if self.acks:  # of tuples that turned out to be unable to travel
            self._courier.deliver()
            for peer in self.peers.values():
                peer.flush()

    def next_at(self) -> float | None:
        """When `step` has something to do even if nothing arrives."""
        return self.timers.next_at()

    # ---- control

    def apply(self, table: ActivationTable, positions: Positions) -> None:
        """Route by this table from the next step on."""
        old = self.keeper.table
        for worker, incarnation in old.workers.items() if old is not None else ():
            peer = self.peers.get(worker)
            if peer is not None and peer.incarnation == incarnation and table.workers.get(worker) != incarnation:
                self.peers.pop(worker).drop()
                self.moves.link_lost(worker)
                self._lending.link_lost(worker)
        self.keeper.apply(table, positions)
        # behind the table, which has made a place for what it has routed here
        self._take_early()
        self._draining.go_on()

    def activate(self) -> None:
        """Spouts begin, or go on."""
        self.hosting.awake = True
        for spout in self.residents.spouts.values():
            spout.activate()

    def deactivate(self) -> None:
        """Spouts stop; everything else goes on."""
        self.hosting.awake = False
        for spout in self.residents.spouts.values():
            spout.deactivate()

    def fence(self) -> None:
        """Every live worker has confirmed a table without the one that was lost: fail what was emitted before now."""
        for spout in self.residents.spouts.values():
            spout.fail_all()

    def finish(self, component: str) -> None:
        """Have `finish` called on every instance of a bolt that needs it, on replicas that are not active too."""
        for (name, _), executor in self.residents.executors.items():
            if name == component:
                executor.finish()

    def close(self) -> None:
        """Call `close` of everything; exceptions are reported. Steps do nothing from now on."""
        self._closed = True
        for executor in self.residents.executors.values():
            self.hosting.close_all(executor)
            executor.stop()
        for spout in self.residents.spouts.values():
            self.hosting.close(spout, spout.instance)
        # threads close one beside the other; a blocking call that is under way is given a while
        deadline = Deadline(self.clock, _CLOSE_SECONDS)
        for executor in self.residents.executors.values():
            executor.wait_stopped(deadline.remaining() or 0.0)

    def _dry(self, component: str) -> None:
        self._lending.dry(component)

    def _tell(self, edge: Edge, task: int, payload: bytes, sender: int | None) -> None:
        self._payloads.tell(edge, task, payload, sender)

    def _active_tasks(self, component: str) -> list[int]:
        table, plan = self.keeper.table, self.blueprint.components[component]
        return [] if table is None else [plan.first_task + replica for replica in table.components[component].active]

    # ---- peers

    def meet(self, worker: str, incarnation: int, connection: Connection) -> None:
        """A connection with a peer stands; the newest wins."""
        table = self.keeper.table
        peer = self.peers.get(worker)
        if peer is not None and peer.connection is not None:
            self._replace(peer, peer.connection)
        if peer is None or peer.incarnation != incarnation:
            most = self.settings.transfer_batch_size
            peer = Peer(worker, incarnation, self.blueprint, self._rows, self.acks, self._refuse, most)
            self.peers[worker] = peer
        peer.connect(connection)
        self.moves.link_made(worker)
        # both before `resolve`, which sends what is parked: the credit of that would be forgotten too, and without a mark before it the
        # peer would take it for routed by a table that it knows
        if table is not None:
            self.keeper.credit.reconnect(table, worker)
            peer.mark(table.version)
        self.keeper.resolve()

    def _replace(self, peer: Peer, connection: Connection) -> None:
        """A peer connects anew before the loss of its earlier connection was noticed here: nothing more may come on that one.

        The peer, or its successor, has told the controller of the loss; the fence that follows is for both ends.
        """
        connection.abort("replaced by a newer one")
        peer.lose()
        self.moves.link_lost(peer.id)
        self._lending.link_lost(peer.id)

    def lose(self, worker: str, connection: Connection) -> None:
        """A connection is lost; what had not been sent fails, what was under way is failed by the fence that follows."""
        peer = self.peers.get(worker)
        # else it was replaced before its end was noticed, and this was done then
        if peer is not None and peer.connection is connection:
            peer.lose()
            self.keeper.resolve()  # what is emitted from now on waits for the next connection
            self.moves.link_lost(worker)
            self._lending.link_lost(worker)
            self._reports.link_lost(worker, peer.incarnation)

    # ---- what peers send

    def on_message(self, worker: str, connection: Connection, message: Message) -> None:
        """Take it. Raises ProtocolError, which ends the connection, when it makes no sense.

        What comes on a connection that is not, or not any more, the one with that worker is dropped, whatever it is: the worker
        was lost, by the table that is applied here or in the eyes of its successor, and what it sent last was still on the way.
        Its tuples and acks belong to roots that the fence of that loss fails, its credit was given up, and its marks would be
        taken for those of its successor.
        """
        peer = self._current(worker, connection)
        if peer is None:
            return
        match message:
            case Bundle():
                try:
                    self._on_bundle(peer, message)
                except (IndexError, KeyError) as error:
                    raise ProtocolError(f"worker {worker} names what this topology does not have: {error!r}") from error
            case Mark(version):
                peer.marked = max(peer.marked, version)
                self._draining.go_on()
                self._lending.news_of_all()
            case Handover():
                self.moves.handed(worker, message)
            case Took():
                self.moves.took(worker, message)
            case Probe(number):
                peer.send(Echo(number))
            case Echo(number):
                self.moves.echoed(worker, number)
                self._draining.go_on()
            case Ask(component):
                self._lending.asked(peer, self._known(worker, component))
            case Gave(component, count):
                self._lending.gave(peer, self._known(worker, component), count)
            case Carried():
                self._on_carried(peer, self._payloads.carried(worker, message))
            case Told():
                self._payloads.told(worker, message)

    def _known(self, worker: str, component: int) -> str:
        if not 0 <= component < len(self._names):
            raise ProtocolError(f"worker {worker} names component {component!r}, expected a number below {len(self._names)}")
        return self._names[component]

    def _current(self, worker: str, connection: Connection) -> Peer | None:
        peer = self.peers.get(worker)
        if peer is not None and peer.connection is connection:
            return peer
        connection.abort(f"worker {worker} is not at its other end any more")
        return None

    def _on_bundle(self, peer: Peer, bundle: Bundle) -> None:
        table = self.keeper.table
        for wired in bundle.batches:
            batch = received(wired, peer.id)
            peer.got[batch.edge] = peer.got.get(batch.edge, 0) + len(batch.rows)
            if table is None or peer.marked > table.version:
                # routed by a table that this worker has not seen: its replica may be parked here, its task not here yet
                peer.early.append((peer.marked, batch))
            else:
                self._take_in(batch)
        for credit in bundle.credits:
            self.targets[self._names[credit.component]][credit.task].release(credit.count)
        self._courier.arrived(bundle.acks, bundle.fails)
        for load in bundle.loads:
            self._loads.take(self._names[load.component], load)
            self._lending.news(self._names[load.component], peer.id)

    def _on_carried(self, peer: Peer, payload: Payload) -> None:
        """It stays behind the rows that came before it."""
        table = self.keeper.table
        if table is None or peer.marked > table.version:
            peer.early.append((peer.marked, payload))
        else:
            self._payloads.take_in(payload)

    def _take_early(self) -> None:
        """What was routed by tables that this worker has applied meanwhile."""
        table = self.keeper.table
        for peer in self.peers.values():
            while peer.early and table is not None and peer.early[0][0] <= table.version:
                batch = peer.early.popleft()[1]
                if isinstance(batch, Payload):
                    self._payloads.take_in(batch)
                else:
                    self._take_in(batch)

    def _take_in(self, batch: Batch) -> None:
        """Give a batch to its task; one that is not here any more is sent on to where it is, without credit."""
        component = self.blueprint.edges[batch.edge].target
        here = self.residents.inboxes.get(component) or self.residents.slots.get((component, batch.task))
        if here is not None:
            here.accept(batch)
            return
        door = self.targets[component][batch.task].door
        if door is not None:
            door.accept(batch)
            return
        self.acks.fail_batch(batch)
        _log.warning("%d tuples for %s[%d] had nowhere to go", len(batch.rows), component, batch.task)

    # ---- what cannot travel

    def _refuse(self, batch: Batch, error: WireError) -> None:
        """A tuple that cannot travel fails, is reported where it was emitted, and holds no credit."""
        edge = self.blueprint.edges[batch.edge]
        self.acks.fail_batch(batch)
        releaser(self._names.index(edge.target), self.id, self.targets[edge.target], self.peers)(batch, len(batch.rows))
        self.report_error(edge.source, batch.source, error.of(edge.source, edge.stream))

    def refused(self, worker: str, connection: Connection, refused: Sequence[Refusal]) -> None:
        """Rows came from that worker which cannot be had in this process."""
        peer = self._current(worker, connection)
        if peer is None:
            return
        try:
            for refusal in refused:
                if not refusal.origin:  # else it was handed over, which is not counted as sent
                    peer.got[refusal.batch.edge] = peer.got.get(refusal.batch.edge, 0) + len(refusal.batch.rows)
            peer.refuse(refused, peer.id)
        except (IndexError, KeyError) as error:
            raise ProtocolError(f"worker {worker} names what this topology does not have: {error!r}") from error

    # ---- timers

    def _expire(self) -> None:
        seconds = self.settings.message_timeout_seconds
        for spout in self.residents.spouts.values():
            spout.expire(seconds)
        for executor in self.residents.executors.values():
            for task_id, text in executor.late_calls(seconds):
                limit = f"that is longer than the time-out (topology.message.timeout.secs is {seconds:g}), so its tuples have failed"
                self.report_error(executor.plan.id, task_id, f"{text}; {limit}")

    def _tick(self, component: str, seconds: float) -> None:
        tup = tick_tuple(seconds)
        for (name, replica), executor in self.residents.executors.items():
            if name == component and self.pool.states.get((name, replica)) not in (None, ReplicaState.INACTIVE):
                executor.tick(tup)

    def report_error(self, component: str, task: int, error: BaseException | str) -> None:
        """Tell the controller of an exception of user code, unless its component has told enough for now.

        The exception has no traceback afterwards.
        """
        for line in self._throttle.pass_on(component, lambda: told_of(error), self.clock.now()):
            self._reports.error(component, task, line)
            raised_by(partial(_log.error, "component %s, task %d: %s", component, task, line))  # handlers and filters are users' too
        if is_raised(error):
            let_go(error)
