"""When to give a replica back: once it is not likely enough to be needed again soon. Pure.

A replica that is given back and needed within the next moments costs a change; one that is kept and not needed costs its time. How
likely that is say the last minutes: how much the need rose within so many seconds, from wherever it was.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

WINDOW_SECONDS = 2.0
"""How far ahead "soon" is, at least."""
REMEMBERED_SECONDS = 120.0
"""A rise counts 1/e of what it did, so many seconds later."""
_EACH = 8
_DOUBLING = 4
_CLASSES = 48
"""Rises are counted by size: of less than a replica in eighths of it, of more in quarters of a doubling, up to a thousand replicas."""
_ENOUGH = 8.0
"""Rises that must be known before they say anything; until then nothing is given back. Who decides seldom needs no more than it sees in
as many seconds: waiting for eight decisions would cost more than a change."""
_ROUNDING = 1e-6
_TINY = 0.01
"""Counts are rounded, so what counts one is a little less."""
_HEAVIEST = 1e4
"""What counts less with time is what newer rises count more beside; from here on all are made smaller, so that no number grows for ever."""
_DIGITS = 3
"""After the point: all of it stands in every record."""


class Rises:
    """What is known of bolts: their needs, in replicas before they are rounded up, in the last window; and how often they rose how much.

    `learn` once a decision, then ask. A bolt that comes later is known from then on.
    """

    __slots__ = ("_at", "_bolts", "_enough", "_times", "_weight", "_window")

    def __init__(self, memory: Mapping[str, Any] | None = None, window_seconds: float = WINDOW_SECONDS, pace_seconds: float = 1.0) -> None:
        """From what a plan left as JSON; None: nothing is known. `window_seconds`: how far ahead "soon" is; `pace_seconds`: how often it
        is decided."""
        self._window = window_seconds
        self._enough = max(1.0, min(_ENOUGH, _ENOUGH / pace_seconds))
        memory = memory or {"at": 0.0, "times": [], "weight": 1.0, "bolts": {}}
        self._at: float = memory["at"]
        self._times: list[float] = list(memory["times"])
        """Of the needs of all bolts, newest last."""
        self._weight: float = memory["weight"]
        """What a rise counts that is seen now."""
        self._bolts: dict[str, tuple[list[float], list[float]]] = {
            name: (list(needs), list(counts)) for name, (needs, counts) in memory["bolts"].items()
        }

    def written(self) -> dict[str, Any]:
        """As JSON."""
        bolts = {name: [needs, counts] for name, (needs, counts) in self._bolts.items()}
        return {"at": self._at, "times": self._times, "weight": self._weight, "bolts": bolts}

    def learn(self, now: float, needs: Mapping[str, float]) -> None:
        """So much is needed now; how much it rose since then is known of all that is a window ago."""
        if self._times:
            self._weight *= math.exp(max(0.0, now - self._at) / REMEMBERED_SECONDS)
            if self._weight > _HEAVIEST:
                self._lighten()
        self._at = round(now, _DIGITS)
        self._times.append(self._at)
        over = 0
        while self._times[over] <= now - self._window + _ROUNDING:
            over += 1
        weight = self._weight
        for name, exact in needs.items():
            need, known = round(exact, _DIGITS), self._bolts.get(name)
            if known is None:
                known = self._bolts[name] = ([need] * (len(self._times) - 1), [])
            past, counts = known
            past.append(need)
            for _ in range(over):
                rise = max(past) - past.pop(0)
                place = int(rise * _EACH) if rise < 1.0 else min(_CLASSES - 1, int(_place(rise)))
                if place >= len(counts):
                    counts.extend([0.0] * (place + 1 - len(counts)))
                counts[place] = round(counts[place] + weight, _DIGITS)
        del self._times[:over]

    def _lighten(self) -> None:
        for _, counts in self._bolts.values():
            counts[:] = [round(count / self._weight, _DIGITS) for count in counts]
        self._weight = 1.0

    def chance(self, name: str, rise: float) -> float:
        """How likely the bolt's need rises by more than that within the window; 1 while nobody can tell."""
        counts = self._bolts[name][1] if name in self._bolts else []
        known = sum(counts)
        if known < (self._enough - _TINY) * self._weight:
            return 1.0
        # the last class may be of any size
        first = min(_CLASSES - 1, max(0, math.ceil(_place(rise) - 0.5)))
        return sum(counts[first:]) / known

    def kept(self, name: str, needed: int, active: int, change_seconds: float) -> int:
        """Of the active replicas those that are needed, or too likely to be: their time is dearer than a change, times its chance."""
        if active <= needed:
            return needed
        need = self._bolts[name][0][-1] if name in self._bolts else float(needed)
        for count in range(active, needed, -1):
            chance = self.chance(name, count - 1 - need)
            if chance * change_seconds > (1.0 - chance) * self._window:
                return count
        return needed


def _place(rise: float) -> float:
    """Where a rise of so many replicas stands among the classes."""
    return rise * _EACH if rise < 1.0 else _EACH + _DOUBLING * math.log2(rise)
