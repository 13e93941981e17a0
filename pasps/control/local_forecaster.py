"""Forecasts beside the loop, for who decides too often to ask a service: models that learn step by step, in this process.

The models are the predictor service's; nothing of it is imported here, it is looked up where it is installed. Pure: no clock, no I/O;
a series costs some tens of microseconds a step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import import_module
from itertools import accumulate
from typing import Final, Protocol

from pasps.control.policies.policy import Needs
from pasps.control.situation import Forecast, Player, PolicySettings

AUTO: Final = "auto"
"""The model that plays beside the loop, unless a service was named."""
_WHERE, _MAKER = "predictor_service.beside", "beside"
SECOND = 1.0
MOST_STEPS = 400
"""A forecast is made of so many steps at most; what lies beyond is as their mean."""
_ROUNDING = 1e-6
_SHOWN = 0.05
"""A player with less of the forecast than this is not written down."""
_DIGITS = 4
"""Of events, after the point: a forecast stands in every record."""


class PlayerScore(Protocol):
    """How a player stands at a horizon: what a forecast of it cost of late, in events, and its share of the forecast."""

    @property
    def name(self) -> str: ...
    @property
    def cost(self) -> float: ...
    @property
    def weight(self) -> float: ...


class Learner(Protocol):
    """A model that is given one sample after the other; asked only after the first."""

    def update(self, sample: float) -> None:
        """One more step has passed, and brought so much."""

    def means(self, horizon: int) -> list[float]:
        """What each of the next steps is expected to bring, at least 0."""

    def offsets(self, levels: Sequence[float], horizon: int) -> list[list[float]]:
        """For each level how far above what is expected that quantile of the sum of the first 1, 2, ... `horizon` steps lies."""

    def scores(self, horizon: int) -> Sequence[PlayerScore]:
        """Of all players at about that horizon, the heaviest first."""


class Maker(Protocol):
    """Makes an untaught one, for steps of so many seconds, to be asked for sums of about so many steps; and for these quantiles."""

    def __call__(self, step_seconds: float, horizons: Sequence[int], *, quantiles: Sequence[float]) -> Learner: ...


def tournament() -> Maker | None:
    """Makes the service's tournament; None where the service's package is not there."""
    try:
        maker: Maker = getattr(import_module(_WHERE), _MAKER)
    except ImportError:
        return None
    return maker


def local_forecaster(needs: Needs, settings: PolicySettings) -> LocalForecaster | None:
    """One for a policy with these needs, a step a decision; None where the models are not there."""
    make = tournament()
    if make is None:
        return None
    step = min(SECOND, settings.correction_seconds) if needs.corrects else SECOND
    horizons = {step, needs.horizon(settings.interval_seconds, correction=True), needs.horizon(settings.interval_seconds)}
    return LocalForecaster(make, step, sorted(horizons), quantiles=needs.quantiles)


class _Series:
    """A count that only grows, read off at the end of each step: `reached` at the last, `count` at the last word."""

    __slots__ = ("at", "count", "learned", "learner", "next", "reached")

    def __init__(self, learner: Learner, at: float, count: float, step: float) -> None:
        self.learner = learner
        self.at, self.count, self.reached = at, count, count
        self.next = at + step
        self.learned = 0


class LocalForecaster:
    """`learn` is told each series' count as of each tick; `forecast` says what comes. Single-threaded; never waits, never raises."""

    def __init__(self, make: Maker, step_seconds: float, horizons_seconds: Sequence[float], *, quantiles: Sequence[float] = ()) -> None:
        """`horizons_seconds`: at these it is judged, since it is asked for sums over about so much time."""
        self.step_seconds = step_seconds
        self._make, self._quantiles = make, quantiles
        self._horizons = sorted({min(MOST_STEPS, max(1, round(seconds / step_seconds))) for seconds in horizons_seconds})
        self._series: dict[str, _Series] = {}

    def learn(self, name: str, at: float, count: float) -> None:
        """So much has come in all by then. Between two such words it has come evenly."""
        series, step = self._series.get(name), self.step_seconds
        if series is None:
            self._series[name] = _Series(self._make(step, self._horizons, quantiles=self._quantiles), at, count, step)
            return
        if at <= series.at:
            return
        slope = (count - series.count) / (at - series.at)
        while series.next <= at + _ROUNDING:
            reached = series.count + slope * (series.next - series.at)
            series.learner.update(max(0.0, reached - series.reached))
            series.reached = reached
            series.next += step
            series.learned += 1
        series.at, series.count = at, count

    def forecast(self, name: str, seconds: float, now: float, quantiles: Sequence[float] = ()) -> Forecast | None:
        """What is expected of the `seconds` after `now`, when it was told of `now` last; None before the first step is over."""
        series, step = self._series.get(name), self.step_seconds
        if series is None or not series.learned:
            return None
        since = step - (series.next - series.at)  # the last step ended a moment ago
        horizon = min(MOST_STEPS, max(1, math.ceil((seconds + since) / step - _ROUNDING)))
        means = [round(mean, _DIGITS) for mean in series.learner.means(horizon)]
        sums: dict[float, tuple[float, ...]] = {}
        if quantiles and self._quantiles:
            expected = list(accumulate(means))
            for level, away in zip(quantiles, series.learner.offsets(quantiles, horizon), strict=True):
                lines = (round(max(0.0, mean + off), _DIGITS) for mean, off in zip(expected, away, strict=True))
                sums[level] = tuple(accumulate(lines, max))  # a sum never shrinks
        playing = tuple(
            Player(one.name, round(one.cost, _DIGITS), round(one.weight, 2))
            for one in series.learner.scores(horizon)
            if one.weight >= _SHOWN
        )
        return Forecast(now - since, tuple(means), AUTO, step_seconds=step, quantiles=sums, players=playing)
