"""How often a worker may die, how long it is waited for before it is started again, and when it is said that it cannot live. Pure."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

from pasps.clock import Clock

WINDOW_SECONDS = 60.0
"""Who lives for so long is well."""
MOST_DEATHS = 5
"""So many in a minute, of its own accord or because it did not answer: it cannot live."""
MOST_KILLS = 12
"""So many in a minute, of any kind: somebody who kills workers on purpose kills fewer."""
PATIENCE_SECONDS = 300.0
"""As many of any kind, and no minute of life in so long: somebody who kills workers on purpose has stopped by then."""
# most deaths are single ones, so the first pause is hardly felt; the last is short enough that who can live again is soon back
_PAUSES = (0.05, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0)


@dataclass(frozen=True, slots=True)
class CrashLoop:
    """A worker that dies again and again."""

    worker: str
    deaths: int
    """Since it last lived for a minute, when it died last."""
    seconds: float
    """From the first of them to the last."""
    cause: str
    pause_seconds: float

    def __str__(self) -> str:
        minutes = max(1, math.ceil(self.seconds / 60))
        within = "a minute" if minutes == 1 else f"{minutes} minutes, and lived for a minute at no time"
        return (
            f"worker {self.worker} cannot live: it died {self.deaths} times within {within}, the last time because {self.cause}; "
            f"it is started again every {self.pause_seconds:g} s"
        )


@dataclass
class _Life:
    """What became of it since it last lived for a minute."""

    since: float
    deaths: int = 0
    recent: deque[tuple[float, bool]] = field(default_factory=deque)
    """Deaths of the last minute: when, and whether of its own accord."""
    loop: CrashLoop | None = None


class Lives:
    """States of a worker: well -> (too many deaths without a minute of life between) in a crash loop -> (a minute of life) well."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lives: dict[str, _Life] = {}

    def died(self, worker: str, cause: str, lived_seconds: float, *, by_itself: bool) -> float:
        """Note a death; how long to wait before it is started again: the longer, the more often it died in the last minute."""
        now = self._clock.now()
        # a minute of life forgives everything: what kills it now is something else
        if worker not in self._lives or lived_seconds >= WINDOW_SECONDS:
            self._lives[worker] = _Life(now)
        life = self._lives[worker]
        while life.recent and now - life.recent[0][0] > WINDOW_SECONDS:
            life.recent.popleft()
        life.recent.append((now, by_itself))
        life.deaths += 1
        pause = _PAUSES[min(len(life.recent), len(_PAUSES)) - 1]
        own, lasts = sum(by_itself for _, by_itself in life.recent), now - life.since
        soon = own >= MOST_DEATHS or len(life.recent) >= MOST_KILLS
        if soon or life.loop is not None or (life.deaths >= MOST_KILLS and lasts >= PATIENCE_SECONDS):
            life.loop = CrashLoop(worker, life.deaths, lasts, cause, pause)
        return pause

    def crash_loop(self, worker: str) -> CrashLoop | None:
        """What is known of it since it died last; None: it may live."""
        life = self._lives.get(worker)
        return None if life is None else life.loop

    def crash_loops(self, ages: dict[str, float]) -> list[CrashLoop]:
        """Of those that cannot live; `ages` are those of the workers that live now."""
        for worker, life in self._lives.items():
            if life.loop is not None and ages.get(worker, 0.0) >= WINDOW_SECONDS:
                life.loop = None
        return [life.loop for life in self._lives.values() if life.loop is not None]
