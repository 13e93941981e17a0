"""Edge ids are owned and split, and what was settled waits here until the end of a pass, when the worker takes it to the ledgers.

Whoever owns an id must see to it that the ids it hands on XOR back to it. An input with one output hands its id on; with several,
all but one get fresh ids and the last what is missing; with none it is acked. So a synchronous step tells the ledger something only
where a branch of the tree ends.
"""

from __future__ import annotations

from operator import itemgetter

from pasps.ids import OWNER_MASK, IdSource
from pasps.runtime.batch import Batch, Links
from pasps.transport.messages import WireBatch


def split_edges(edges: list[int], counts: list[int], ids: IdSource) -> list[int]:
    """One id for each output, input i having `counts[i]`; the ids of an input's outputs XOR to the input's."""
    fresh = iter(ids.edges(max(0, sum(counts) - sum(map(bool, counts)))))
    out: list[int] = []
    for edge, count in zip(edges, counts, strict=True):
        for _ in range(count - 1):
            part = next(fresh)
            out.append(part)
            edge ^= part
        # the last one gets what is missing: with one output that is the input's own id, and the ledger need not hear of the step
        if count:
            out.append(edge)
    return out


def split_links(links: Links, count: int, ids: IdSource) -> list[Links]:
    """The same for a row with several roots: every root's ids XOR to what the row had for that root."""
    parts: list[Links] = []
    for fresh in ids.edges(max(0, count - 1)):
        parts.append(tuple((root, fresh) for root, _ in links))
        links = tuple((root, edge ^ fresh) for root, edge in links)
    return [*parts, links] if count else []


Settled = tuple[int, list[int], list[int] | None]
"""The spout task that owns the roots, the roots, and their deltas (None: each equals its root)."""


class AckBox:
    """Filled by executors, emptied by the worker's flush."""

    __slots__ = ("_acks", "_fails", "_only")

    def __init__(self, only: int = 0) -> None:
        """`only` is the topology's spout task when it has one alone."""
        self._only = only
        self._acks: list[tuple[list[int], list[int]]] = []
        self._fails: list[int] = []

    def ack(self, roots: list[int], edges: list[int]) -> None:
        """These (root, delta) pairs go to the ledger; the lists must not change afterwards."""
        self._acks.append((roots, edges))

    def ack_one(self, root: int, delta: int) -> None:
        """One pair."""
        self._acks.append(([root], [delta]))

    def fail(self, roots: list[int]) -> None:
        """These roots failed."""
        self._fails += roots

    def ack_batch(self, batch: Batch) -> None:
        """Every row is done."""
        if batch.roots is not None and batch.edges is not None:
            self.ack(batch.roots, batch.edges)
            for pairs in batch.links or ():
                for root, edge in pairs or ():
                    self.ack_one(root, edge)

    def fail_batch(self, batch: Batch | WireBatch) -> None:
        """Every row has failed."""
        if batch.roots is not None:
            self.fail(batch.roots)
        for pairs in batch.links or ():
            self.fail([root for root, _ in pairs or ()])

    def __bool__(self) -> bool:
        return bool(self._acks or self._fails)

    def take_acks(self) -> list[Settled]:
        """Everything acked, by owner; leaves the box empty."""
        acks, self._acks = self._acks, []
        settled: list[Settled] = []
        for roots, deltas in acks:
            if self._only:  # the topology has one spout task: whatever is tracked is its
                settled.append((self._only, roots, None if deltas is roots else deltas))
                continue
            owners = set(map(OWNER_MASK.__and__, roots))
            # where every delta is its root they are one list, and one list travels
            same = deltas is roots
            if len(owners) == 1:
                owner = owners.pop()
                if owner:
                    settled.append((owner, roots, None if same else deltas))
                continue
            owners.discard(0)  # rows that nobody tracks
            for owner in owners:
                at = [i for i, root in enumerate(roots) if root & OWNER_MASK == owner]
                settled.append((owner, _at(roots, at), None if same else _at(deltas, at)))
        return settled

    def take_fails(self) -> list[tuple[int, list[int]]]:
        """Everything failed, by owner; leaves the box empty."""
        fails, self._fails = self._fails, []
        by_owner: dict[int, list[int]] = {}
        for root in fails:
            if root:
                by_owner.setdefault(root & OWNER_MASK, []).append(root)
        return list(by_owner.items())


def _at(values: list[int], positions: list[int]) -> list[int]:
    if len(positions) == 1:
        return [values[positions[0]]]
    return list(itemgetter(*positions)(values))
