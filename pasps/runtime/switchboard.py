"""A worker's side of its connections: who is there, what they sent, and what could not be sent to them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from pasps.errors import ProtocolError, WireError
from pasps.runtime.ack_courier import AckCourier
from pasps.runtime.batch import Batch
from pasps.runtime.draining import Draining
from pasps.runtime.lending import Lending
from pasps.runtime.load_reports import LoadReports
from pasps.runtime.parts import Parts
from pasps.runtime.peer import Peer, received
from pasps.runtime.table_keeper import TableKeeper
from pasps.runtime.task_moves import TaskMoves
from pasps.transport.codec import Refusal
from pasps.transport.connection import Connection
from pasps.transport.messages import Ask, Bundle, Echo, Gave, Handover, Mark, Message, Probe, Took

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
        lending: Lending,
        report: Report,
    ) -> None:
        self._parts = parts
        self._names = list(parts.blueprint.components)
        self._keeper = keeper
        self._moves = moves
        self._draining = draining
        self._courier = courier
        self._loads = loads
        self._lending = lending
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
        self._lending.link_lost(peer.id)

    def lose(self, worker: str, connection: Connection) -> None:
        """A connection is lost; what had not been sent fails, what was under way is failed by the fence that follows."""
        peer = self._parts.peers.get(worker)
        if peer is not None and peer.connection is connection:
            peer.lose()
            self._keeper.resolve()  # what is emitted from now on waits for the next connection
            self._moves.link_lost(worker)
            self._lending.link_lost(worker)
            self._parts.reports.link_lost(worker, peer.incarnation)

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
                self._moves.handed(worker, message)
            case Took():
                self._moves.took(worker, message)
            case Probe(number):
                peer.send(Echo(number))
            case Echo(number):
                self._moves.echoed(worker, number)
                self._draining.go_on()
            case Ask(component):
                self._lending.asked(peer, self._known(worker, component))
            case Gave(component, count):
                self._lending.gave(peer, self._known(worker, component), count)

    def _known(self, worker: str, component: int) -> str:
        if not 0 <= component < len(self._names):
            raise ProtocolError(f"worker {worker} names component {component!r}, expected a number below {len(self._names)}")
        return self._names[component]

    def _current(self, worker: str, connection: Connection) -> Peer | None:
        peer = self._parts.peers.get(worker)
        if peer is not None and peer.connection is connection:
            return peer
        connection.abort(f"worker {worker} is not at its other end any more")
        return None

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
            self._lending.news(self._names[load.component])

    def take_early(self) -> None:
        """What was routed by tables that this worker has applied meanwhile."""
        table = self._keeper.table
        for peer in self._parts.peers.values():
            while peer.early and table is not None and peer.early[0][0] <= table.version:
                self.take_in(peer.early.popleft()[1])

    def take_in(self, batch: Batch) -> None:
        """Give a batch to its task; one that is not here any more is sent on to where it is, without credit."""
        component = self._parts.blueprint.edges[batch.edge].target
        residents = self._parts.residents
        here = residents.inboxes.get(component) or residents.slots.get((component, batch.task))
        if here is not None:
            here.accept(batch)
            return
        door = self._parts.targets[component][batch.task].door
        if door is not None:
            door.accept(batch)
            return
        self._fail(batch)
        _log.warning("%d tuples for %s[%d] had nowhere to go", len(batch.rows), component, batch.task)

    # ---- what cannot travel

    def _refuse(self, batch: Batch, error: WireError) -> None:
        """A tuple that cannot travel fails, is reported where it was emitted, and holds no credit."""
        edge = self._parts.blueprint.edges[batch.edge]
        self._fail(batch)
        self.release(edge.target)(batch, len(batch.rows))
        self._report(edge.source, batch.source, error.of(edge.source, edge.stream))

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
