"""How often a worker may die, how long it is waited for before it is started again, and when it is said that it cannot live. Pure."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from pasps.clock import Clock

WINDOW_SECONDS = 60.0
MOST_DEATHS = 5
"""So many in a minute, of its own accord or because it did not answer: it cannot live."""
MOST_KILLS = 12
"""So many in a minute, of any kind: somebody who kills workers on purpose kills fewer."""
_PAUSES = (0.05, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0)


@dataclass(frozen=True, slots=True)
class CrashLoop:
    """A worker that dies again and again."""

    worker: str
    deaths: int
    """Within the last minute, when it died last."""
    cause: str
    pause_seconds: float

    def __str__(self) -> str:
        return (
            f"worker {self.worker} cannot live: it died {self.deaths} times within a minute, the last time because {self.cause}; "
            f"it is started again every {self.pause_seconds:g} s"
        )


@dataclass
class _Life:
    """`deaths` are those within the window: when, and whether of its own accord."""

    deaths: deque[tuple[float, bool]] = field(default_factory=deque)
    loop: CrashLoop | None = None


class Lives:
    """States of a worker: well -> (too many deaths in a minute) in a crash loop -> (a minute of life) well."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lives: dict[str, _Life] = {}

    def died(self, worker: str, cause: str, lived_seconds: float, *, by_itself: bool) -> float:
        """Note a death; how long to wait before it is started again: the longer, the more often it died in the last minute."""
        now, life = self._clock.now(), self._lives.setdefault(worker, _Life())
        while life.deaths and now - life.deaths[0][0] > WINDOW_SECONDS:
            life.deaths.popleft()
        life.deaths.append((now, by_itself))
        pause = _PAUSES[min(len(life.deaths), len(_PAUSES)) - 1]
        own = sum(by_itself for _, by_itself in life.deaths)
        if own >= MOST_DEATHS or len(life.deaths) >= MOST_KILLS:
            life.loop = CrashLoop(worker, len(life.deaths), cause, pause)
        elif lived_seconds >= WINDOW_SECONDS:
            life.loop = None
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
