"""One other worker, seen from here: what waits to be sent to it, what was sent, and how far it has marked."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence

from pasps.api.blueprint import Blueprint
from pasps.errors import ClosedError, PaspsError, WireError
from pasps.runtime.acks import AckBox
from pasps.runtime.batch import Batch, Payload
from pasps.runtime.target import Target
from pasps.transport.codec import Refusal
from pasps.transport.connection import Connection
from pasps.transport.messages import Acks, Bundle, Carried, Credit, Fails, Load, Mark, Message, WireBatch
from pasps.transport.values import RowWrapper

_log = logging.getLogger(__name__)

HEAVY_BYTES = 2**20
"""Large tuples are sent when so much waits: their frame is in memory a second time, and once more at the other end."""

Refuse = Callable[[Batch, WireError], None]
"""A tuple that cannot travel: fail it, report it, and give its credit back to its `origin`."""


class Peer:
    """A door to every task on that worker. Without a connection, what it is given fails: it is never sent later.

    `sent` and `got` count tuples by edge since the connection was made, without those that turned out to be unable to travel;
    `marked` is the newest MARK from there.
    `early` is what came behind a MARK of a table that this worker has still to apply, with the version. `met` counts connections.
    """

    __slots__ = (
        "_acks_box", "_blueprint", "_bundle", "_credits", "_most", "_refuse", "_rows", "_weight", "buffered", "connection", "early", "got",
        "id", "incarnation", "marked", "met", "sent",
    )  # fmt: skip

    def __init__(
        self,
        worker: str,
        incarnation: int,
        blueprint: Blueprint,
        rows: RowWrapper,
        acks: AckBox,
        refuse: Refuse,
        most_buffered: int,
    ) -> None:
        self.id = worker
        self.incarnation = incarnation
        self.connection: Connection | None = None
        self.marked = 0
        self.met = 0
        self.sent: dict[int, int] = {}
        self.got: dict[int, int] = {}
        self.early: deque[tuple[int, Batch]] = deque()
        self.buffered = 0
        self._weight = 0
        self._most = most_buffered
        self._blueprint = blueprint
        self._rows = rows
        self._acks_box = acks
        self._refuse = refuse
        self._bundle = Bundle([], [], [], [], [])
        self._credits: dict[tuple[int, int], int] = {}

    def connect(self, connection: Connection) -> None:
        """A new connection, on which nothing was sent yet."""
        self.connection = connection
        self.met += 1
        # both ends count from here: what was lost with the connection before would else be on its way for ever, and no drain would end
        self.sent, self.got, self.marked = {}, {}, 0
        self.early.clear()
        self._bundle, self._credits, self.buffered, self._weight = Bundle([], [], [], [], []), {}, 0, 0

    def lose(self) -> None:
        """The connection is gone, and all that waited for it."""
        self.connection = None
        self.early.clear()
        # failed, not kept for the next connection: the fence that follows fails them too, so they would come twice
        for batch in self._bundle.batches:
            self._acks_box.fail_batch(batch)
        self._bundle, self._credits, self.buffered, self._weight = Bundle([], [], [], [], []), {}, 0, 0

    def drop(self) -> None:
        """Nothing more may come from there, or go there: by the newest table that worker is gone."""
        connection = self.connection
        self.lose()
        if connection is not None:
            connection.abort("its worker is gone, by the newest table")

    def accept(self, batch: Batch, weight: int = 0) -> None:
        """Take a batch for a task over there; `weight`: its bytes where they are many, so that they do not wait for others."""
        wired = self.wire(batch)
        if not wired.rows:
            if isinstance(batch, Payload):
                self._carry(batch)
            return
        if self.connection is None:
            # the credit of these comes back with the next connection, or with the table that goes on without that worker (`LostCredit`)
            self._acks_box.fail_batch(wired)
            return
        self._bundle.batches.append(wired)
        self.buffered += len(wired.rows)
        self._weight += weight
        if self.buffered >= self._most or self._weight >= HEAVY_BYTES:
            self.flush()

    def _carry(self, payload: Payload) -> None:
        # it goes out at once, and the rows before it must not come behind it
        self.flush()
        try:
            self.send(Carried(payload.edge, payload.task, payload.source, payload.payload))
        except WireError as error:
            self._refuse(payload, error)

    def wire(self, batch: Batch) -> WireBatch:
        """The batch ready to be encoded; rows that cannot travel are refused, one by one, and taken out of it."""
        edge = self._blueprint.edges[batch.edge]
        fields = self._blueprint.components[edge.source].streams[edge.stream].fields
        try:
            rows = self._rows.wire_rows(batch.rows, edge.source, edge.stream, fields)
        except WireError:
            rows, errors = self._rows.wire_each(batch.rows, edge.source, edge.stream, fields)
            for error in errors:
                self._refuse(batch.part(error.row, error.row + 1), error)
            batch = batch.without({error.row for error in errors})
        return WireBatch(
            batch.edge, batch.task, batch.source, rows, batch.roots, None if batch.edges is batch.roots else batch.edges, batch.links
        )

    def credit(self, component: int, task: int, count: int) -> None:
        """Tell it that `count` of its tuples were taken out of the inbox here."""
        key = (component, task)
        self._credits[key] = self._credits.get(key, 0) + count
        self.buffered += count

    def ack(self, owner: int, roots: list[int], deltas: list[int] | None) -> None:
        """Acks for a spout task over there."""
        self._bundle.acks.append(Acks(owner, roots, deltas))
        self.buffered += len(roots)

    def fail(self, owner: int, roots: list[int]) -> None:
        """Failures for a spout task over there."""
        self._bundle.fails.append(Fails(owner, roots))
        self.buffered += len(roots)

    def load(self, load: Load) -> None:
        """What a replica here has before it."""
        self._bundle.loads.append(load)
        self.buffered += 1

    def waiting(self) -> dict[int, int]:
        """Tuples in the buffer, by edge."""
        counts: dict[int, int] = {}
        for batch in self._bundle.batches:
            counts[batch.edge] = counts.get(batch.edge, 0) + len(batch.rows)
        return counts

    def flush(self) -> None:
        """Send everything that waits, as one frame."""
        if not self.buffered:
            return
        bundle, self._bundle, self.buffered, self._weight = self._bundle, Bundle([], [], [], [], []), 0, 0
        bundle.credits = [Credit(component, task, count) for (component, task), count in self._credits.items()]
        self._credits = {}
        if self.connection is None:
            for batch in bundle.batches:
                self._acks_box.fail_batch(batch)
            return
        for batch in bundle.batches:
            # from now on, and not since they were buffered: a cut has those beside these (`waiting`)
            self.sent[batch.edge] = self.sent.get(batch.edge, 0) + len(batch.rows)
        refused = self._send(bundle)
        if refused is None:
            for batch in bundle.batches:
                self._acks_box.fail_batch(batch)
            return
        for refusal in refused:
            self.sent[refusal.batch.edge] -= len(refusal.batch.rows)
        self.refuse(refused)

    def mark(self, version: int) -> None:
        """Everything before this was routed by tables older than `version`."""
        # behind the mark the receiver would take what waits here for newer, and may have let its task or replica go
        self.flush()
        self.send(Mark(version))

    def send(self, message: Message) -> bool:
        """Send one message now; False when there is no connection (its loss is noticed elsewhere).

        Raises:
            WireError: it is larger than a frame, and cannot be cut.
        """
        refused = self._send(message)
        self.refuse(refused or ())
        return refused is not None

    def _send(self, message: Message) -> Sequence[Refusal] | None:
        if self.connection is None:
            return None
        try:
            return self.connection.send(message)
        except WireError:
            raise
        except (ClosedError, PaspsError) as error:
            _log.debug("worker %s: %s not sent: %s", self.id, type(message).__name__, error)
            return None

    def refuse(self, refused: Sequence[Refusal], origin: str = "") -> None:
        """These rows cannot travel; `origin` is whose credit they hold unless they say so themselves, empty for this worker's own."""
        for refusal in refused:
            self._refuse(received(refusal.batch, refusal.origin or origin), refusal.error)


def received(wired: WireBatch, origin: str) -> Batch:
    """A batch as it came from worker `origin`."""
    edges = wired.roots if wired.edges is None else wired.edges
    return Batch(wired.edge, wired.task, wired.source, wired.rows, wired.roots, edges, wired.links, origin)


def releaser(component: int, me: str, targets: list[Target], peers: dict[str, Peer]) -> Callable[[Batch, int], None]:
    """What an inbox of the component calls when rows are taken: gives credit for them back to whoever sent the batch."""

    def release(batch: Batch, count: int) -> None:
        if not batch.origin or batch.origin == me:
            targets[batch.task].release(count)
        elif (peer := peers.get(batch.origin)) is not None:
            peer.credit(component, batch.task, count)
        # else the sender is gone, or (`NOBODY`) has had it back

    return release
