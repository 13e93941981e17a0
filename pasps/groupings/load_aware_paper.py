"""The paper's load-aware grouping, Eq. 1 and Algorithm 1 as printed, for comparison with the default one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from heapq import heapify, heapreplace
from random import Random

from pasps.api.splitting import Loads, Pick, Row, TargetView
from pasps.groupings.load import REPORT_SECONDS, LoadTable
from pasps.groupings.shuffle import Ring


class LoadAwarePaperSplitter:
    """The active replica with the lowest utilisation U = done * et / td wins, and its U grows by et / td.

    Of equal ones the first wins (lines 1 to 6). When all are equal, as the text around the algorithm says, or the lowest
    is 1 or more (line 7), the choice is round robin and no U grows. Each sender has its own U; a replica's report resets it.
    """

    fan: int | None = 1

    def __init__(self, random: Random) -> None:
        self._ring = Ring(random)
        self._loads: Loads = LoadTable(0)
        self._version = -1
        self._seen: dict[int, int] = {}
        self._heap: list[tuple[float, int]] = []
        self._highest = 0.0
        self._step = 0.0

    def refresh(self, view: TargetView) -> None:
        self._ring.refresh(view.active, {})
        self._loads = view.loads
        self._version = -1

    def split(self, rows: Sequence[Row]) -> list[tuple[int, Pick]]:
        count = len(rows)
        if not count:
            return []
        if len(self._ring.targets) == 1:
            return [(self._ring.targets[0], None)]
        if self._version != self._loads.version:
            self._learn()
        picked: defaultdict[int, list[int]] = defaultdict(list)
        position = self._by_utilisation(count, picked)
        ring = self._ring
        if count - position == 1:
            picked[ring.next()].append(position)
        elif position < count:
            # nothing grows in round robin, so that all the rest of the batch stays in it
            size = len(ring.targets)
            for offset, (target, _) in enumerate(ring.take(count - position)):
                picked[target] += range(position + offset, count, size)
        if len(picked) == 1:
            return [(target, None) for target in picked]
        return list(picked.items())

    def _by_utilisation(self, count: int, picked: defaultdict[int, list[int]]) -> int:
        """Lines 1 to 6, 10 and 12 for as many rows as they apply to; returns how many."""
        heap, step, highest = self._heap, self._step, self._highest
        position = 0
        while position < count:
            used, index = heap[0]
            if used == highest or used >= 1.0:
                break
            used += step
            heapreplace(heap, (used, index))
            if used > highest:
                highest = used
            picked[index].append(position)
            position += 1
        self._highest = highest
        return position

    def _learn(self) -> None:
        """Eq. 1 for the active replicas that have reported since, or are new to this sender."""
        loads = self._loads
        self._version = loads.version
        each = loads.component_each()
        self._step = each / REPORT_SECONDS
        known = {index: used for used, index in self._heap}
        heap = []
        for index in self._ring.targets:
            if index not in known or self._seen.get(index) != loads.reports[index]:
                self._seen[index] = loads.reports[index]
                known[index] = loads.done[index] * each / REPORT_SECONDS
            heap.append((known[index], index))
        heapify(heap)
        self._heap, self._highest = heap, max(heap)[0]
