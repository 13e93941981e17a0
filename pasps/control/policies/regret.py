"""When to give a replica back: once it is not likely enough to be needed again soon. Pure.

A replica that is given back and needed within the next moments costs a change; one that is kept and not needed costs its time. How
likely that is say the last minutes: how much the need rose within so many seconds, from wherever it was.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

WINDOW_SECONDS = 2.0
"""How far ahead "soon" is."""
REMEMBERED_SECONDS = 120.0
"""A rise counts 1/e of what it did, so many seconds later."""
_EACH = 8
_DOUBLING = 4
_CLASSES = 48
"""Rises are counted by size: of less than a replica in eighths of it, of more in quarters of a doubling, up to a thousand replicas."""
_ENOUGH = 8.0
"""Rises that must be known before they say anything; until then nothing is given back."""
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class Rises:
    """What is known of one bolt: its need, in replicas before they are rounded up, in the last window; and how often it rose how much.

    `at` is when they were counted last.
    """

    needs: tuple[tuple[float, float], ...] = ()
    counts: tuple[float, ...] = (0.0,) * _CLASSES
    at: float = 0.0

    @classmethod
    def of(cls, memory: Any) -> Rises:
        """From what a plan left as JSON; None: nothing is known."""
        if memory is None:
            return cls()
        counts = (*memory["counts"], *(0.0,) * (_CLASSES - len(memory["counts"])))
        return cls(tuple((at, need) for at, need in memory["needs"]), counts, memory["at"])

    def written(self) -> dict[str, Any]:
        """As JSON, without what says nothing: digits, and noughts at the end."""
        counts = [round(count, 2) for count in self.counts]
        while counts and not counts[-1]:
            counts.pop()
        return {"needs": [[round(at, 3), round(need, 3)] for at, need in self.needs], "counts": counts, "at": round(self.at, 3)}

    def after(self, now: float, need: float) -> Rises:
        """What is known when so much is needed now; how much it rose since then is known of all that is a window ago."""
        faded = math.exp(-max(0.0, now - self.at) / REMEMBERED_SECONDS)
        counts = [count * faded for count in self.counts]
        needs = [*self.needs, (now, need)]
        while needs[0][0] <= now - WINDOW_SECONDS + _ROUNDING:
            _, then = needs.pop(0)
            rise = max(later for _, later in needs) - then
            counts[min(_CLASSES - 1, int(_place(max(0.0, rise))))] += 1.0
        return Rises(tuple(needs), tuple(counts), now)

    def chance(self, rise: float) -> float:
        """How likely the need rises by more than that within the window; 1 while nobody can tell."""
        known = sum(self.counts)
        if known < _ENOUGH:
            return 1.0
        # the last class may be of any size
        first = min(_CLASSES - 1, max(0, math.ceil(_place(rise) - 0.5)))
        return sum(self.counts[first:]) / known

    def kept(self, needed: int, active: int, change_seconds: float) -> int:
        """Of the active replicas those that are needed, or too likely to be: their time is dearer than a change, times its chance."""
        need = self.needs[-1][1] if self.needs else float(needed)
        for count in range(active, needed, -1):
            chance = self.chance(count - 1 - need)
            if chance * change_seconds > (1.0 - chance) * WINDOW_SECONDS:
                return count
        return needed


def _place(rise: float) -> float:
    """Where a rise of so many replicas stands among the classes."""
    return rise * _EACH if rise < 1.0 else _EACH + _DOUBLING * math.log2(rise)
