"""Storm's XOR ledger for the tuples of one spout task. Pure: ids in, finished tuple ids out. Called by the spout executor.

Every root id starts with itself as its value; each ack XORs a delta into it; at zero all descendants are done.
The root's own id serves as the edge id of its first copy, so a chain of one-to-one steps comes back as "delta = root".
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from itertools import repeat
from typing import Any

Entry = tuple[Any, float]
"""The user's tuple id, and when it was emitted."""


class AckLedger:
    """Pending spout tuples in two buckets that rotate once per time-out, so that an entry expires after 1 to 2 time-outs.

    A root is unknown, pending, or done (forgotten). pending -> done by ack (value zero), by fail, or by expiry.
    What arrives for an unknown root is late and is dropped, as in Storm. But of the last that expired it is told when they were
    done after all (`late`), which says how long the work takes.

    What was added in one go often comes back in one go: the same list of roots, each acked whole. So it is kept as it came, and
    entered root by root only when anything else has to be looked up.
    """

    __slots__ = ("_count", "_expired", "_new", "_old", "_partial", "_together", "late")

    _MOST_EXPIRED = 4096

    def __init__(self) -> None:
        self._together: dict[int, tuple[list[int], list[Any], float]] = {}  # by the id() of the roots, which are held here
        self._count = 0  # tuples in there
        self._new: dict[int, Entry] = {}
        self._old: dict[int, Entry] = {}
        self._partial: dict[int, int] = {}  # values of the roots that some ack has touched
        self._expired: OrderedDict[int, tuple[int, float]] = OrderedDict()  # value, and when it was emitted
        self.late: list[float] = []
        """When those were emitted that were done after they had expired, since somebody last emptied this."""

    def __len__(self) -> int:
        return len(self._new) + len(self._old) + self._count

    def add(self, roots: list[int], tup_ids: list[Any], now: float) -> None:
        """Start to track `roots`; must come before anything is handed over that carries them. The lists must not change afterwards."""
        self._together[id(roots)] = (roots, tup_ids, now)
        self._count += len(roots)

    def ack_together(self, roots: list[int], deltas: list[int] | None) -> tuple[list[Any], float] | None:
        """The tuple ids, and when they were emitted, if this very list of roots was added and all are done now; else None."""
        if deltas is not None and deltas is not roots:
            return None
        found = self._together.pop(id(roots), None)
        if found is None:
            return None
        self._count -= len(roots)
        return found[1], found[2]

    def _enter(self) -> None:
        """Have an entry for each root."""
        for roots, tup_ids, now in self._together.values():
            self._new.update(zip(roots, zip(tup_ids, repeat(now)), strict=False))
        self._together.clear()
        self._count = 0

    def ack(self, roots: list[int], deltas: list[int] | None) -> list[Entry]:
        """Apply acks; `deltas` None means that each equals its root. Returns the entries that are done now."""
        if self._together:
            self._enter()
        if deltas is not None and deltas is not roots and deltas != roots:
            return self._ack_each(roots, deltas)
        # a value that an earlier delta has changed is not made zero by its root alone
        if self._partial and not self._partial.keys().isdisjoint(roots):
            return self._ack_each(roots, roots)
        done = self._pop(roots)
        if self._expired and len(done) < len(roots):
            for root in roots:
                self._ack_expired(root, root)
        return done

    def _ack_each(self, roots: list[int], deltas: list[int]) -> list[Entry]:
        done: list[int] = []
        partial, new, old = self._partial, self._new, self._old
        for root, delta in zip(roots, deltas, strict=True):
            if root not in new and root not in old:
                self._ack_expired(root, delta)
                continue
            value = partial.get(root, root) ^ delta
            if value:
                partial[root] = value
            else:
                partial.pop(root, None)
                done.append(root)
        return self._pop(done)

    def _ack_expired(self, root: int, delta: int) -> None:
        """Too late for the spout, but it shows how long the work took."""
        found = self._expired.get(root)
        if found is None:
            return
        value, emitted = found[0] ^ delta, found[1]
        if value:
            self._expired[root] = (value, emitted)
        else:
            del self._expired[root]
            self.late.append(emitted)

    def _pop(self, roots: list[int]) -> list[Entry]:
        found = list(map(self._new.pop, roots, repeat(None)))
        if None not in found:
            return found  # type: ignore[return-value]
        if self._old:
            missing = [root for root, entry in zip(roots, found, strict=True) if entry is None]
            found += map(self._old.pop, missing, repeat(None))
        return [entry for entry in found if entry is not None]

    def fail(self, roots: list[int]) -> list[Entry]:
        """Give up `roots`; returns the entries that were still pending."""
        self._enter()
        for root in roots:
            self._partial.pop(root, None)
            self._expired.pop(root, None)
        return self._pop(roots)

    def fail_all(self) -> list[Entry]:
        """Give up everything that is pending."""
        self._enter()
        entries = [*self._old.values(), *self._new.values()]
        self._old, self._new, self._partial = {}, {}, {}
        self._expired.clear()
        return entries

    def rotate(self) -> list[Entry]:
        """One time-out has passed: returns what expired, oldest first."""
        self._enter()
        expired = self._old
        self._old, self._new = self._new, {}
        for root, (_, emitted) in expired.items():
            # with what acks have made of it so far: the others may still come
            self._expired[root] = (self._partial.pop(root, root), emitted)
            if len(self._expired) > self._MOST_EXPIRED:
                self._expired.popitem(last=False)
        return list(expired.values())


@dataclass(slots=True)
class Repeat:
    """A tuple id that failed `count` times and was not acked since the first, at `since`; next told of at `tell_at` times."""

    count: int
    since: float
    tell_at: int


class Repeats:
    """Counts by tuple id how often one failed without an ack in between, and says when that is worth telling.

    First at ten times, then at each tenfold; and one tuple in ten seconds at most, the one that failed most. Bounded: those that
    failed longest ago are forgotten.
    """

    __slots__ = ("_quiet_until", "_seen")

    FIRST = 10
    _FACTOR = 10
    _PAUSE_SECONDS = 10.0
    _MOST = 10_000

    def __init__(self) -> None:
        self._seen: OrderedDict[Hashable, Repeat] = OrderedDict()  # in the order of their last failures
        self._quiet_until = -math.inf

    def __len__(self) -> int:
        return len(self._seen)

    def failed(self, tup_ids: list[Any], now: float) -> tuple[Any, Repeat] | None:
        """These failed. The id to tell of, if there is one now."""
        seen = self._seen
        worst: tuple[Any, Repeat] | None = None
        for tup_id in tup_ids:
            found = seen.get(tup_id)
            if found is None:
                found = seen[tup_id] = Repeat(0, now, self.FIRST)
            else:
                seen.move_to_end(tup_id)
            found.count += 1
            if found.count >= found.tell_at and (worst is None or found.count > worst[1].count):
                worst = (tup_id, found)
        while len(seen) > self._MOST:
            seen.popitem(last=False)
        if worst is None or now < self._quiet_until:
            return None
        worst[1].tell_at = self._FACTOR * worst[1].count
        self._quiet_until = now + self._PAUSE_SECONDS
        return worst

    def acked(self, tup_ids: list[Any]) -> None:
        """These are done, so what they failed before is forgotten."""
        for tup_id in tup_ids:
            self._seen.pop(tup_id, None)

    def others(self) -> int:
        """How many beside one failed so often."""
        return sum(found.count >= self.FIRST for found in self._seen.values()) - 1
