"""What the executors of a worker settled since the last flush, on its way to the ledgers. Lists are kept by reference."""

from __future__ import annotations

from operator import itemgetter

from pasps.ids import OWNER_MASK

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
