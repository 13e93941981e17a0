"""How busy replicas may be while a latency is kept: less after a second in which too many events were late, else a little more. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pasps.control.situation import Second
from pasps.metrics import Histogram

_LEAST, _MOST = 0.3, 8.0
_FULL = 1.5
"""As a utilisation no more than this; beyond it queues may last longer instead."""
_ALLOWED = 0.02
"""The share of late events that it settles at: well below the 5% that the 95th percentile leaves, since loads come in bursts."""
_GAIN = 0.5
_MOST_STEP = 0.15
"""How much it changes in one second, at most: as a logarithm."""
_ENOUGH = 20.0
"""Events in a second that say as much as any number; fewer say their part of it."""


@dataclass(frozen=True, slots=True)
class Ease:
    """How much is made of the replicas: what was learned until then, and the share of late events in the last second that had any."""

    ease: float
    until: float = -1.0
    late: float = 0.0

    @classmethod
    def of(cls, memory: Any, start: float) -> Ease:
        """From what a plan left as JSON; None: nothing is known, and `start` holds."""
        return cls(start) if memory is None else cls(memory["ease"], memory["until"], memory["late"])

    def written(self) -> dict[str, Any]:
        """As JSON."""
        return {"ease": round(self.ease, 5), "until": round(self.until, 3), "late": round(self.late, 4)}

    @property
    def target(self) -> float:
        """The share of its time that a replica is to be busy."""
        return min(_FULL, self.ease)

    @property
    def drain(self) -> float:
        """How many times as long as usual queues may last."""
        return max(1.0, self.ease / _FULL) ** 2

    def after(self, history: Sequence[Second], limit: float, *, carried: bool) -> Ease:
        """With what the seconds say that it has not seen. Not `carried`: no pool could do more, and that is no reason to ask for more."""
        found = self
        for second in history:
            finished = sum(second.latency.values())
            if second.ended <= found.until or not finished:
                continue
            late = Histogram(second.latency).above(limit) / finished
            step = max(-_MOST_STEP, _GAIN * (_ALLOWED - late) * min(1.0, finished / _ENOUGH))
            if step < 0 and not carried:
                step = 0.0
            found = Ease(min(_MOST, max(_LEAST, found.ease * math.exp(step))), second.ended, late)
        return found
