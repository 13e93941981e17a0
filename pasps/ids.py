"""Random 64-bit ids for tuples, made a batch at a time; standard library only.

A root id carries the spout task that owns it in its lowest `OWNER_BITS` bits, so that an ack finds its ledger.
All other bits of it, and all bits of an edge id, are random: a plain counter would cancel under XOR (1 ^ 2 ^ 3 = 0).
Id 0 means "not tracked" and is never made.
"""

from __future__ import annotations

from random import Random, SystemRandom
from sys import byteorder

OWNER_BITS = 16
OWNER_MASK = (1 << OWNER_BITS) - 1
MOST_TASKS = OWNER_MASK  # task ids start at 1, so that no root id is 0


class IdSource:
    """Makes ids; one per worker, seeded from the operating system unless a test gives a seed."""

    __slots__ = ("_getrandbits", "_masks", "_randbytes")

    def __init__(self, seed: int | None = None) -> None:
        random = Random(SystemRandom().getrandbits(128) if seed is None else seed)
        self._randbytes = random.randbytes
        self._getrandbits = random.getrandbits
        self._masks: dict[int, tuple[int, int, int]] = {}  # by owner: for so many ids, what is cleared and what is stamped

    def edges(self, count: int) -> list[int]:
        """`count` random edge ids."""
        return memoryview(self._randbytes(8 * count)).cast("Q").tolist()

    def roots(self, count: int, owner: int) -> list[int]:
        """`count` fresh root ids that belong to spout task `owner`."""
        most, clear, stamp = self._masks.get(owner) or (0, 0, 0)
        if count > most:
            clear = int.from_bytes((~OWNER_MASK & 0xFFFF_FFFF_FFFF_FFFF).to_bytes(8, byteorder) * count, byteorder)
            stamp = int.from_bytes(owner.to_bytes(8, byteorder) * count, byteorder)
            self._masks[owner] = (count, clear, stamp)
        elif count < most:
            # every id is masked alike, so the mask of fewer is a piece of the mask of more: one is kept for each owner
            clear >>= 64 * (most - count)
            stamp >>= 64 * (most - count)
        # one operation on one large integer costs less than one on each of many small ones
        bits = (self._getrandbits(64 * count) & clear) | stamp
        return memoryview(bits.to_bytes(8 * count, byteorder)).cast("Q").tolist()
