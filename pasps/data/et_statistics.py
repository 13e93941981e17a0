"""From the seconds of single tuples to what one tuple takes: mean, et, percentiles, and how much it depends on the tuple. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

Passes = Sequence[Sequence[float]]
"""Seconds of each tuple, in the order in which they came, for each pass over the same tuples. A pass may have ended early."""

VARIES = 0.1
"""From here on a bolt counts as one whose cost depends on the event."""
FEWEST = 10
"""Of fewer tuples nobody can say whether they differ, nor what one takes but roughly."""
_CHANCE = 3.0
"""A correlation of chance has a standard deviation of 1 / sqrt(n); below three of these it counts as none."""
_ROUNDING = 1 + 1e-9


@dataclass(frozen=True, slots=True)
class Summary:
    """Seconds of one tuple. `samples` tuples were measured, most of them several times.

    `of_passes` has of each pass the mean without what lies further than one standard deviation from it; `et` is the mean of these.
    `varies` is the standard deviation between tuples as a part of the mean; None: not known.
    """

    samples: int
    mean: float
    standard_deviation: float
    et: float
    p50: float
    p95: float
    p99: float
    varies: float | None
    of_passes: tuple[float, ...]


def without_warm_up(passes: Passes, most: int) -> list[Sequence[float]]:
    """The passes without their first `most` tuples, or the first half where that is less: something must be left of the longest."""
    warm_up = min(most, max(map(len, passes), default=0) // 2)
    return [costs[warm_up:] for costs in passes if len(costs) > warm_up]


def summary(passes: Passes) -> Summary:
    """Of all that was measured; at least one pass must have a tuple."""
    costs = sorted(cost for each in passes for cost in each)
    mean, deviation = statistics.fmean(costs), statistics.pstdev(costs)
    of_passes = tuple(_without_outliers(each) for each in passes if each)
    return Summary(
        samples=max(map(len, passes)),
        mean=mean,
        standard_deviation=deviation,
        et=statistics.fmean(of_passes),
        p50=_quantile(costs, 0.50),
        p95=_quantile(costs, 0.95),
        p99=_quantile(costs, 0.99),
        varies=varies(passes),
        of_passes=of_passes,
    )


def _without_outliers(costs: Sequence[float]) -> float:
    """The mean of one pass. Of all passes at once one that is slower as a whole, as a worker may be, would count as an outlier."""
    mean, deviation = statistics.fmean(costs), statistics.pstdev(costs)
    return statistics.fmean(cost for cost in costs if abs(cost - mean) <= deviation * _ROUNDING)


def _quantile(ordered: Sequence[float], share: float) -> float:
    """The smallest that so many are not above."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def varies(passes: Passes) -> float | None:
    """How much the cost depends on the tuple: the standard deviation between tuples as a part of the mean; None: cannot be told.

    What differs between tuples shows in every pass, what disturbs a measurement only in one. So the passes are dealt into two
    groups; of each tuple the cheapest measurement in each group counts, because a disturbance only adds; and the covariance of
    the two over all tuples is the variance between tuples, in which noise has no part. What chance explains counts as 0.
    """
    if len(passes) < 2:
        return None
    count = min(map(len, passes))
    if count < FEWEST:
        return None
    one, other = ([min(costs) for costs in zip(*group, strict=False)] for group in (passes[0::2], passes[1::2]))
    one, other = one[:count], other[:count]
    spreads = statistics.pstdev(one), statistics.pstdev(other)
    mean = (statistics.fmean(one) + statistics.fmean(other)) / 2
    if not all(spreads) or not mean:
        return 0.0
    covariance = statistics.covariance(one, other)
    if covariance / (spreads[0] * spreads[1]) * math.sqrt(count) < _CHANCE:
        return 0.0
    return math.sqrt(covariance) / mean
