"""Storm's load-aware shuffle (STORM-162), which PA-SPS's published pool grouping is cut from; for comparisons.

What the published code does wrong is not repeated: replicas that were just activated have their weight at once, and no draw falls
through to replica 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from random import Random

from pasps.api.splitting import Pick, Row, TargetView
from pasps.clock import Clock
from pasps.errors import GroupingError
from pasps.groupings.picks import by_target

_REFRESH_SECONDS = 1.0


class LoadAwareStormSplitter:
    """Each row to an active replica that is drawn with the weight int(101 - 100 * load), load being how full its queue is.

    Weights are computed once a second, and when the view changes.
    """

    fan: int | None = 1

    def __init__(self, clock: Clock, random: Random) -> None:
        self._now = clock.now
        self._random = random
        self._due = 0.0

    def refresh(self, view: TargetView) -> None:
        """See `Splitter`."""
        if not view.active:
            raise GroupingError("no active replica to send to; a component keeps at least one")
        self._targets, self._occupancy = view.active, view.occupancy
        self._weigh(self._now())

    def _weigh(self, now: float) -> None:
        self._due = now + _REFRESH_SECONDS
        self._weights = list(accumulate(int(101 - 100 * self._occupancy(index)) for index in self._targets))

    def split(self, rows: Sequence[Row]) -> list[tuple[int, Pick]]:
        """See `Splitter`."""
        if len(self._targets) == 1:
            return [(self._targets[0], None)] if rows else []
        now = self._now()
        if now >= self._due:
            self._weigh(now)
        return by_target(self._random.choices(self._targets, cum_weights=self._weights, k=len(rows)))
