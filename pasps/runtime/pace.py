"""How many tuples the next chunk of a step may have: as many as should fit into the time a step may take."""

from __future__ import annotations

STEP_SECONDS = 0.002
_CHUNK_SECONDS = 0.001
_MOST_OUTPUT = 1024


class Whole:
    """For bolts that take batches: as many as there are, whatever a call takes, since a call is one unit of their work."""

    __slots__ = ("size",)

    def __init__(self, most: int) -> None:
        self.size = most

    def learn(self, count: int, seconds: float, produced: int) -> None:
        """Nothing to learn."""


class Pace:
    """Learns from each chunk; grows at most fourfold at a time. One tuple when it cannot tell."""

    __slots__ = ("_most", "seconds_each", "size")

    def __init__(self, most: int) -> None:
        self._most = most
        self.size = 1
        self.seconds_each = 0.0

    def learn(self, count: int, seconds: float, produced: int) -> None:
        """A chunk of `count` tuples took `seconds` and produced so many."""
        # believed by half: one chunk may have been slow because another process had the core
        self.seconds_each = (seconds / count + self.seconds_each) / 2 if self.seconds_each else seconds / count
        size = min(4 * count, self._most, int(_CHUNK_SECONDS / max(self.seconds_each, 1e-9)))
        if produced > count:
            size = min(size, _MOST_OUTPUT * count // produced)
        self.size = max(1, size)
