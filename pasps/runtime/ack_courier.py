"""Takes what was settled to the ledgers of its spout tasks: in this worker, or at a peer."""

from __future__ import annotations

from pasps.runtime.parts import Parts
from pasps.runtime.peer import Peer
from pasps.runtime.table_keeper import TableKeeper
from pasps.transport.messages import Acks, Fails

_MOST_ROUNDS = 16


class AckCourier:
    """One for each worker. Needs no credit: acks must always get through."""

    def __init__(self, parts: Parts, keeper: TableKeeper) -> None:
        self._acks = parts.acks
        self._spouts = parts.residents.spouts
        self._blueprint = parts.blueprint
        self._peers = parts.peers
        self._keeper = keeper
        self._reports = parts.reports
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
