"""When to give a replica back: as long as it is cheaper to keep it idle than to fetch it again, by how long the pauses were of late. Pure.

A replica that is not needed now costs its time while it is kept, and a change when it was given back and is needed again. Who knew how
long each pause lasts would give it back at once, or not at all. What is known are the pauses of the last minutes: the patience that
would have cost least over them is the one to have now.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

EDGES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
"""Pauses are counted by length, in seconds: up to each of these, and longer ones."""
PATIENCES = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0)
"""What there is to choose from, in seconds."""
REMEMBERED_SECONDS = 120.0
"""A pause counts 1/e of what it did, so many seconds later."""
_ENOUGH = 4.0
"""Pauses that must be known before they say anything; until then the patience is what a change costs, which is never twice too dear."""
_LENGTHS = tuple(math.sqrt(low * high) for low, high in zip((0.25, *EDGES), (*EDGES, 4 * EDGES[-1]), strict=True))


@dataclass(frozen=True, slots=True)
class Pauses:
    """What is known of one bolt: when each replica, by place, was needed last (None: never), and how many pauses there were by length.

    `at` is when they were counted last.
    """

    needed: tuple[float | None, ...] = ()
    counts: tuple[float, ...] = (0.0,) * len(_LENGTHS)
    at: float = 0.0

    @classmethod
    def of(cls, memory: Any) -> Pauses:
        """From what a plan left as JSON; None: nothing is known."""
        return cls() if memory is None else cls(tuple(memory["needed"]), tuple(memory["counts"]), memory["at"])

    def written(self) -> Mapping[str, Any]:
        """As JSON, without more digits than matter."""
        needed = [None if at is None else round(at, 3) for at in self.needed]
        return {"needed": needed, "counts": [round(count, 3) for count in self.counts], "at": round(self.at, 3)}

    def after(self, now: float, need: int, active: int, pace_seconds: float) -> Pauses:
        """What is known when `need` replicas are needed now, and `active` are there; it is asked every `pace_seconds`."""
        faded = math.exp(-max(0.0, now - self.at) / REMEMBERED_SECONDS) if self.at else 0.0
        counts = [count * faded for count in self.counts]
        most = max(need, active, len(self.needed))
        # who is there at the beginning was needed until now, as far as anybody knows
        before: Sequence[float | None] = self.needed or (now,) * active
        needed = [*before, *(None,) * (most - len(before))]
        for place in range(need):
            last = needed[place]
            if last is not None and now - last > 1.5 * pace_seconds:
                counts[_class_of(now - last)] += 1.0
            needed[place] = now
        return replace(self, needed=tuple(needed), counts=tuple(counts), at=now)

    def patience(self, change_seconds: float) -> float:
        """The seconds that a replica that is not needed is to be kept, when a change is worth so many seconds of a replica."""
        if sum(self.counts) < _ENOUGH:
            return min(change_seconds, PATIENCES[-1])
        return min(PATIENCES, key=lambda patience: self._cost(patience, change_seconds))

    def _cost(self, patience: float, change_seconds: float) -> float:
        pauses = zip(_LENGTHS, self.counts, strict=True)
        return sum(count * (length if length <= patience else patience + change_seconds) for length, count in pauses)

    def kept(self, now: float, change_seconds: float) -> int:
        """Replicas that are needed, or not to be given back yet."""
        patience = self.patience(change_seconds)
        return sum(at is not None and (at >= now or now - at < patience) for at in self.needed)


def _class_of(seconds: float) -> int:
    return next((place for place, edge in enumerate(EDGES) if seconds <= edge), len(EDGES))
