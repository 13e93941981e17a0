"""A worker's side of its connections: who is there, what they sent, and what could not be sent to them."""

from __future__ import annotations

import logging
from collections.abc import Callable

from pasps.errors import ProtocolError, WireError
from pasps.runtime.ack_courier import AckCourier
from pasps.runtime.batch import Batch
from pasps.runtime.draining import Draining
from pasps.runtime.load_reports import LoadReports
from pasps.runtime.parts import Parts
from pasps.runtime.peer import Peer
from pasps.runtime.table_keeper import TableKeeper
from pasps.runtime.task_moves import TaskMoves
from pasps.transport.connection import Connection
from pasps.transport.messages import Bundle, Echo, Handover, Mark, Message, Probe, Took, WireBatch

_log = logging.getLogger(__name__)

Report = Callable[[str, int, BaseException | str], None]


class Switchboard:
    """One for each worker."""

    def __init__(
        self,
        parts: Parts,
        keeper: TableKeeper,
        moves: TaskMoves,
        draining: Draining,
        courier: AckCourier,
        loads: LoadReports,
        report: Report,
    ) -> None:
        self._parts = parts
        self._names = list(parts.blueprint.components)
        self._keeper = keeper
        self._moves = moves
        self._draining = draining
        self._courier = courier
        self._loads = loads
        self._report = report

    def meet(self, worker: str, incarnation: int, connection: Connection) -> None:
        """A connection with a peer stands; the newest wins."""
        parts, table = self._parts, self._keeper.table
        peer = parts.peers.get(worker)
        if peer is not None and peer.connection is not None:
            self._replace(peer, peer.connection)
        if peer is None or peer.incarnation != incarnation:
            most = parts.settings.transfer_batch_size
            peer = Peer(worker, incarnation, parts.blueprint, parts.rows, parts.acks, self._refuse, most)
            parts.peers[worker] = peer
        peer.connect(connection)
        self._moves.link_made(worker)
        if table is not None:
            self._keeper.credit.reconnect(table, worker)
            peer.mark(table.version)
        self._keeper.resolve()

    def _replace(self, peer: Peer, connection: Connection) -> None:
        """A peer connects anew before the loss of its earlier connection was noticed here: nothing more may come on that one.

        The peer, or its successor, has told the controller of the loss; the fence that follows is for both ends.
        """
        connection.abort("replaced by a newer one")
        peer.lose()
        self._moves.link_lost(peer.id)

    def lose(self, worker: str, connection: Connection) -> None:
        """A connection is lost; what had not been sent fails, what was under way is failed by the fence that follows."""
        peer = self._parts.peers.get(worker)
        if peer is not None and peer.connection is connection:
            peer.lose()
            self._keeper.resolve()  # what is emitted from now on waits for the next connection
            self._moves.link_lost(worker)
            self._parts.reports.link_lost(worker, peer.incarnation)

    # ---- what peers send

    def on_message(self, worker: str, message: Message) -> None:
        """Take it. Raises ProtocolError, which ends the connection, when it makes no sense."""
        peer = self._parts.peers[worker]
        match message:
            case Bundle():
                try:
                    self._on_bundle(peer, message)
                except (IndexError, KeyError) as error:
                    raise ProtocolError(f"worker {worker} names what this topology does not have: {error!r}") from error
            case Mark(version):
                peer.marked = max(peer.marked, version)
                self._draining.go_on()
            case Handover():
                self._moves.handed(worker, message)
            case Took():
                self._moves.took(worker, message)
            case Probe(number):
                peer.send(Echo(number))
            case Echo(number):
                self._moves.echoed(worker, number)
                self._draining.go_on()

    def _on_bundle(self, peer: Peer, bundle: Bundle) -> None:
        table = self._keeper.table
        for wired in bundle.batches:
            batch = received(wired, peer.id)
            peer.got[batch.edge] = peer.got.get(batch.edge, 0) + len(batch.rows)
            if table is None or peer.marked > table.version:
                # routed by a table that this worker has not seen: its replica may be parked here, its task not here yet
                peer.early.append((peer.marked, batch))
            else:
                self.take_in(batch)
        for credit in bundle.credits:
            self._parts.targets[self._names[credit.component]][credit.task].release(credit.count)
        self._courier.arrived(bundle.acks, bundle.fails)
        for load in bundle.loads:
            self._loads.take(self._names[load.component], load)

    def take_early(self) -> None:
        """What was routed by tables that this worker has applied meanwhile."""
        table = self._keeper.table
        for peer in self._parts.peers.values():
            while peer.early and table is not None and peer.early[0][0] <= table.version:
                self.take_in(peer.early.popleft()[1])

    def take_in(self, batch: Batch) -> None:
        """Give a batch to its task; one that is not here any more is sent on to where it is, without credit."""
        component = self._parts.blueprint.edges[batch.edge].target
        slot = self._parts.residents.slots.get((component, batch.task))
        if slot is not None:
            slot.accept(batch)
            return
        door = self._parts.targets[component][batch.task].door
        if door is not None:
            door.accept(batch)
            return
        self._fail(batch)
        _log.warning("%d tuples for %s[%d] had nowhere to go", len(batch.rows), component, batch.task)

    # ---- what cannot travel

    def _refuse(self, batch: Batch, error: WireError) -> None:
        """A tuple that cannot be sent fails, is reported, and holds no credit."""
        edge = self._parts.blueprint.edges[batch.edge]
        self._fail(batch)
        self._parts.targets[edge.target][batch.task].release(len(batch.rows))
        self._report(edge.source, batch.source, error)

    def refused(self, wired: WireBatch, error: WireError) -> None:
        """A connection could not send, or could not read, one row: its tuple fails, and its sender gets its credit back."""
        batch = received(wired, "")
        edge, table = self._parts.blueprint.edges[batch.edge], self._keeper.table
        if table is None or isinstance(self._parts.targets[edge.target][batch.task].door, Peer):
            self._refuse(batch, error)
            return
        self._fail(batch)
        self._report(edge.source, batch.source, error)
        first_task = self._parts.blueprint.components[edge.source].first_task
        batch.origin = table.components[edge.source].worker_of(batch.source - first_task)
        self.release(edge.target)(batch, len(batch.rows))

    def _fail(self, batch: Batch) -> None:
        if batch.roots is not None:
            self._parts.acks.fail(batch.roots)
        for links in batch.links or ():
            self._parts.acks.fail([root for root, _ in links or ()])

    def release(self, component: str) -> Callable[[Batch, int], None]:
        """What an inbox of the component calls when rows are taken: their sender gets credit back."""
        return releaser(self._parts, component)


def releaser(parts: Parts, component: str) -> Callable[[Batch, int], None]:
    """Gives credit for rows of a batch back to whoever sent it."""
    index = list(parts.blueprint.components).index(component)
    targets, peers, me = parts.targets[component], parts.peers, parts.me

    def release(batch: Batch, count: int) -> None:
        if not batch.origin or batch.origin == me:
            targets[batch.task].release(count)
        elif (peer := peers.get(batch.origin)) is not None:
            peer.credit(index, batch.task, count)

    return release


def received(wired: WireBatch, origin: str) -> Batch:
    """A batch as it came from worker `origin`."""
    edges = wired.roots if wired.edges is None else wired.edges
    return Batch(wired.edge, wired.task, wired.source, wired.rows, wired.roots, edges, wired.links, origin)
