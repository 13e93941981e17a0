"""What is due later in a worker: a heap of calls, fired by its `step`. No clock and no waiting of its own."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count


class Timers:
    """Calls by time; ties in the order of their setting."""

    __slots__ = ("_heap", "_order")

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()

    def call_at(self, when: float, call: Callable[[], None]) -> None:
        """Call once `when` is reached."""
        heapq.heappush(self._heap, (when, next(self._order), call))

    def next_at(self) -> float | None:
        """When the earliest call is due."""
        return self._heap[0][0] if self._heap else None

    def fire(self, now: float) -> None:
        """Make the calls that are due."""
        heap = self._heap
        while heap and heap[0][0] <= now:
            heapq.heappop(heap)[2]()
