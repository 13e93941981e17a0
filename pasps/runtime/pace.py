"""How many tuples the next chunk of a step may have: as many as should fit into the time a step may take."""

from __future__ import annotations

STEP_SECONDS = 0.002
_CHUNK_SECONDS = 0.0005
_MOST_OUTPUT = 1024


class Pace:
    """Learns from each chunk; grows at most fourfold at a time, shrinks at once. One tuple when it cannot tell."""

    __slots__ = ("_most", "seconds_each", "size")

    def __init__(self, most: int) -> None:
        self._most = most
        self.size = 1
        self.seconds_each = 0.0

    def learn(self, count: int, seconds: float, produced: int) -> None:
        """A chunk of `count` tuples took `seconds` and produced so many."""
        each = seconds / count
        # a slow chunk is believed at once, a fast one half: what was slow may be slow again
        self.seconds_each = each if each > self.seconds_each else (each + self.seconds_each) / 2
        size = min(4 * count, self._most, int(_CHUNK_SECONDS / max(self.seconds_each, 1e-9)))
        if produced > count:
            size = min(size, _MOST_OUTPUT * count // produced)
        self.size = max(1, size)
