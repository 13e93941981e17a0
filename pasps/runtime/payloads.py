"""Takes what observers tell to the splitters of their senders, here or at peers; and what rows carried to their observers here."""

from __future__ import annotations

from pasps.api.blueprint import Edge
from pasps.errors import GroupingError, Interrupt, ProtocolError
from pasps.runtime.batch import Payload
from pasps.runtime.executor import Executor
from pasps.runtime.hosting import Hosting
from pasps.runtime.peer import Peer
from pasps.runtime.tables import TableKeeper
from pasps.transport.messages import Carried, Told


class PayloadCourier:
    """One for each worker. What is for somebody who cannot be reached, or is not here any more, is dropped: nobody may wait for it."""

    def __init__(self, hosting: Hosting, keeper: TableKeeper, peers: dict[str, Peer]) -> None:
        self._hosting = hosting
        self._blueprint = hosting.blueprint
        self._keeper = keeper
        self._peers = peers

    def tell(self, edge: Edge, task: int, payload: bytes, sender: int | None) -> None:
        """From an observer here: one sender hears it, or all of the edge do.

        Raises:
            GroupingError: there is no such sender.
            WireError: it is larger than a frame.
        """
        plan, table = self._blueprint.components[edge.source], self._keeper.table
        if sender is not None and sender not in plan.tasks:
            raise GroupingError(
                f"component {edge.target!r}, {edge.grouping}: an observer tells {sender!r}, which is no task of {edge.source!r}"
            )
        if table is None:
            return
        places = table.components[edge.source].places
        for worker in dict.fromkeys(places if sender is None else (places[sender - plan.first_task],)):
            if worker == self._hosting.me:
                self._have_heard(edge, task, payload, sender)
            elif (peer := self._peers.get(worker)) is not None:
                peer.send(Told(edge.index, task, sender or 0, payload))

    def told(self, worker: str, message: Told) -> None:
        """From an observer at a peer.

        Raises:
            ProtocolError: it names what is not observed, or not there.
        """
        edge = self._observed(worker, message)
        self._have_heard(edge, message.task, message.payload, message.sender or None)

    def carried(self, worker: str, message: Carried) -> Payload:
        """From a sender at a peer, as it stands among that one's batches.

        Raises:
            ProtocolError: it names what is not observed, or not there.
        """
        edge = self._observed(worker, message)
        return Payload(edge.index, message.task, message.sender, message.payload)

    def _observed(self, worker: str, message: Told | Carried) -> Edge:
        edges = self._blueprint.edges
        edge = edges[message.edge] if 0 <= message.edge < len(edges) else None
        if edge is None or not edge.grouping.observed:
            raise ProtocolError(f"worker {worker} names edge {message.edge}, expected an edge with observers")
        if not 0 <= message.task < self._blueprint.components[edge.target].pool:
            raise ProtocolError(f"worker {worker} names task {message.task} of {edge.target!r}, which has fewer")
        return edge

    def take_in(self, payload: Payload) -> None:
        """Put it behind what has come for its task, if that is here."""
        slot = self._hosting.residents.slots.get((self._blueprint.edges[payload.edge].target, payload.task))
        if slot is not None:
            slot.accept_payload(payload)

    def _have_heard(self, edge: Edge, task: int, payload: bytes, sender: int | None) -> None:
        residents = self._hosting.residents
        executors: list[Executor] = [*residents.executors.values(), *residents.spouts.values()]
        for executor in executors:
            if executor.plan.id != edge.source or (sender is not None and executor.emitter.source != sender):
                continue
            for lane in executor.emitter.ports[edge.stream].lanes:
                if lane.edge != edge.index or lane.heard is None:
                    continue
                try:
                    lane.heard(task, payload)
                except Interrupt:
                    raise
                except BaseException as error:  # noqa: BLE001 - somebody else's code: reported
                    self._hosting.report(executor, error)
