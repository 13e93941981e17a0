"""Values by Zipf's law, and a bolt to which large ones are dear."""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from collections.abc import Mapping
from functools import cache
from itertools import accumulate
from typing import Any

from pasps import Tuple
from pasps.errors import ConfigError
from topologies.work import ROUNDS_PER_MILLISECOND, WorkingBolt, work

MOST_VALUE = 256
SKEW = 1.5


@cache
def _shares(skew: float) -> list[float]:
    """The share of all events that have this value or a smaller one, from value 1 on."""
    sums = list(accumulate(value**-skew for value in range(1, MOST_VALUE + 1)))
    return [part / sums[-1] for part in sums]


def zipf_value(dice: random.Random, skew: float = SKEW) -> int:
    """From 1 to MOST_VALUE: v comes with a share like 1 / v ** skew, so 0 makes all alike."""
    return 1 + bisect_right(_shares(skew), dice.random(), hi=MOST_VALUE - 1)


def skew_of(conf: Mapping[str, Any], component: str) -> float:
    """`values.skew` of a component's configuration: of Zipf's law, 0 for values that are all alike.

    Raises:
        ConfigError: it is no number of at least 0.
    """
    skew = conf.get("values.skew")
    if skew is None:
        return SKEW
    if isinstance(skew, bool) or not isinstance(skew, int | float) or not 0 <= skew < math.inf:
        raise ConfigError("values.skew", f"must be a number of at least 0, got {skew!r}", where=f"component {component!r}")
    return float(skew)


class Sensitive(WorkingBolt):
    """A function that costs `work.rounds` (1000) for each one of the value: 256 is as dear as 256 ones."""

    outputs = ["event", "value", "result"]
    usual_rounds = ROUNDS_PER_MILLISECOND // 4

    def process(self, tup: Tuple) -> None:
        event, value = tup.values
        self.emit([event, value, work(value * self.rounds, value)])
