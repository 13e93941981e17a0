"""What came at the sinks, and when: read from their files while they are written. Pure but for reading."""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from pathlib import Path

WINDOW_SECONDS = 1.0
FULL = 0.9
_STEP_SECONDS = 0.02


class Arrivals:
    """All files of a directory; `read` takes what was appended since the last time."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._offsets: dict[Path, int] = {}
        self.first: dict[int, float] = {}
        self.copies = 0

    def read(self) -> None:
        """Take what is new, whole lines only."""
        for path in self._directory.glob("*.kept"):
            with path.open("rb") as file:
                file.seek(self._offsets.get(path, 0))
                data = file.read()
            whole = data[: data.rfind(b"\n") + 1]
            self._offsets[path] = self._offsets.get(path, 0) + len(whole)
            for line in whole.splitlines():
                at, *numbers = line.split()
                for number in map(int, numbers):
                    self.copies += 1
                    self.first[number] = min(float(at), self.first.get(number, float(at)))

    @property
    def duplicates(self) -> int:
        """What came more than once."""
        return self.copies - len(self.first)

    def missing(self) -> list[int]:
        """The numbers below the largest that did not come."""
        return [] if not self.first else sorted(set(range(max(self.first) + 1)) - self.first.keys())

    def times(self) -> list[float]:
        """When each number came for the first time, in order."""
        return sorted(self.first.values())


def back_after(times: list[float], begin: float, end: float, rate: float) -> float | None:
    """Seconds from `begin` until the flow is full again, and stays so to `end`; 0: it always was. None: it never is.

    The flow is full at a moment when in the second that begins there at least nine tenths of the rate come.
    """
    windows = int((end - WINDOW_SECONDS - begin) / _STEP_SECONDS)
    last_thin = None
    for number in range(windows + 1):
        at = begin + number * _STEP_SECONDS
        came = bisect_left(times, at + WINDOW_SECONDS) - bisect_left(times, at)
        if came < FULL * rate * WINDOW_SECONDS:
            last_thin = at
    if last_thin is None:
        return 0.0
    return None if last_thin + _STEP_SECONDS > begin + windows * _STEP_SECONDS else last_thin + _STEP_SECONDS - begin


def longest_silence(times: list[float], begin: float, end: float) -> float:
    """The longest time between two arrivals, or the bounds."""
    inside = [begin, *times[bisect_left(times, begin) : bisect_left(times, end)], end]
    return max(later - earlier for earlier, later in pairwise(inside))
