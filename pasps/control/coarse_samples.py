"""Samples of several seconds, as the published controllers take them, for forecasters that take a sample a second. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pasps.control.forecaster import Forecaster
from pasps.control.situation import Forecast


@dataclass(frozen=True, slots=True)
class CoarseSamples:
    """A `Forecasts` that asks another one with the last `most` sums of `seconds` each; its steps are so long."""

    asked: Forecaster
    seconds: int
    most: int

    async def forecast(self, samples: Sequence[float], seconds: float, now: float) -> Forecast | None:
        """See `pasps.control.loop.Forecasts`."""
        step = self.seconds
        ends = range(len(samples), step - 1, -step)[: self.most]
        sums = [sum(samples[end - step : end]) for end in reversed(ends)]
        # to the forecaster a step is what a second is
        found = await self.asked.forecast(sums, seconds / step, now / step)
        return None if found is None else replace(found, made_at=found.made_at * step, step_seconds=float(step))
