"""Capacity that takes a while to come: replicas that are asked for now are there later, and given back at once. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class Orders:
    """What was asked for of each bolt, and when it is there. Who asks for less than before gets the latest orders cancelled first."""

    lead_seconds: float = 0.0
    ordered: dict[str, int] = field(default_factory=dict)
    """By bolt what it has and what is on its way; that is what is paid."""
    _due: dict[str, list[float]] = field(default_factory=dict)

    def order(self, wanted: Mapping[str, int], there: Mapping[str, int], now: float) -> None:
        """So many are wanted from now on, of bolts that have so many."""
        for name, count in wanted.items():
            due = self._due.setdefault(name, [])
            more = count - there[name] - len(due)
            due.extend([now + self.lead_seconds] * more)
            del due[max(0, count - there[name]) :]
            self.ordered[name] = count

    def gather(self, wanted: Mapping[str, int], there: Mapping[str, int]) -> float:
        """So many are wanted to begin together, and paid from now on; in how many seconds they are there. `gathered` comes next."""
        for name, count in wanted.items():
            self._due.pop(name, None)
            self.ordered[name] = max(count, there[name])
        return self.lead_seconds if any(count > there[name] for name, count in wanted.items()) else 0.0

    def gathered(self, wanted: Mapping[str, int]) -> None:
        """They have begun, and others were given back."""
        if self.lead_seconds:
            self.ordered |= wanted

    def come(self, now: float, there: Mapping[str, int]) -> dict[str, int]:
        """The bolts that change now, and what they have then, when they had so many."""
        found = {}
        for name, count in there.items():
            due = self._due.get(name, [])
            arrived = sum(at <= now for at in due)
            del due[:arrived]
            then = min(self.ordered.get(name, count), count + arrived)
            if then != count:
                found[name] = then
        return found

    def next(self) -> float | None:
        """When the next one is there; None: nothing is on its way."""
        return min((due[0] for due in self._due.values() if due), default=None)
