"""A tournament of forecasts: several models run beside each other, each weighed by what its forecasts would have cost of late.

Pure: no clock, no I/O, one sample after the other. The service replays a request's samples through it (`models/auto.py`); who decides
each second keeps one and pays some twenty microseconds a second and horizon. docs/decisions/0025 says why it is made like this.
"""

from __future__ import annotations

import math
import operator
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from predictor_service.model import Online
from predictor_service.online import Autoregression, Smoothed, inverse_weights

MEMORY = 300.0
"""After so many steps a cost counts a third of what it did."""
POWER = 12.0
"""A model that costs 6% more than the best has half of its weight."""
DAMPING = 0.03
"""The share of the way to what the costs say that the weights go in one step: half of it takes 23. At first they go faster."""
MARGIN = 1.25
"""Who leads is replaced by who weighs so many times as much."""

_OFFSET_STEP = 0.05


def players(step_seconds: float, *, autoregression: bool = True) -> dict[str, Online]:
    """Those that play unless somebody else is wanted: as now, levels and trends from slow to fast, and what follows from the last samples.

    Without `autoregression` nobody needs numpy.
    """
    given: dict[str, Online] = {
        "naive": Smoothed(1.0),
        "level 0.5": Smoothed(0.5),
        "level 0.2": Smoothed(0.2),
        "level 0.05": Smoothed(0.05),
        "level 0.01": Smoothed(0.01),
        "trend slower": Smoothed(0.1, 0.1, 0.98),
        "trend slow": Smoothed(0.3, 0.1, 0.98),
        "trend": Smoothed(0.9, 0.5, 0.98),
        "trend as now": Smoothed(1.0, 1.0, 0.98),
    }
    if autoregression:
        given["ar"] = Autoregression(step_seconds)
    return given


@dataclass(frozen=True, slots=True)
class Score:
    """One model at one horizon: its mean cost of late in events, its share of the forecast, and whether it leads."""

    name: str
    horizon: int
    cost: float
    weight: float
    leads: bool


class Tournament:
    """A model made of models: at each of its horizons the mean of the players, each weighed by a power of the inverse of its cost.

    The cost of a forecast is known when its horizon has passed: the pinball loss, at `quantile`, of the sum over the horizon. With
    0.5 too many and too few cost the same; when an event too late costs four times what room for one too many does, it is 0.8. A
    player is then charged for its quantile, which follows its own errors, not for its mean. Costs are forgotten exponentially, so
    that a player may win the day and lose the night, and weights move by a share of the way in each step, so that one odd sample
    does not turn them over.
    """

    def __init__(self, given: Mapping[str, Online], horizons: Sequence[int], *, quantile: float = 0.5, memory: float = MEMORY) -> None:
        """`horizons`: those that it will be asked for; any other is answered with the weights of the nearest."""
        if not given or not horizons or min(horizons) < 1:
            raise ValueError(f"tournament: expected players, and horizons of 1 step or more, got {list(given)} and {list(horizons)}")
        if not 0 < quantile < 1:
            raise ValueError(f"tournament: expected a quantile between 0 and 1, got {quantile!r}")
        self._names = list(given)
        self._models = list(given.values())
        self._courts = {horizon: _Court(horizon, len(given), quantile, memory) for horizon in sorted(set(horizons))}
        self._passed = 0.0

    def update(self, sample: float) -> None:
        """See `Online`."""
        self._passed += sample
        for model in self._models:
            model.update(sample)
        for horizon, court in self._courts.items():
            court.judge(self._passed, [model.total(horizon) for model in self._models])

    def means(self, horizon: int) -> list[float]:
        """See `Online`; up to each of its horizons the sum is what `total` says, so near steps have the weights of near horizons."""
        whole = self.total(horizon)
        means: list[float] = []
        reached = 0.0
        for end in [*(known for known in self._courts if known < horizon), horizon]:
            wanted = min(max(self.total(end), reached), whole) - reached
            means += _scaled(self._mixed(end)[len(means) :], wanted)
            reached += wanted
        return means

    def total(self, horizon: int) -> float:
        """See `Online`."""
        return math.fsum(map(operator.mul, self._court(horizon).weights, [model.total(horizon) for model in self._models]))

    def _mixed(self, horizon: int) -> list[float]:
        weights = self._court(horizon).weights
        paths = [model.means(horizon) for model in self._models]
        return [math.fsum(map(operator.mul, weights, step)) for step in zip(*paths, strict=True)]

    def leader(self, horizon: int) -> str:
        """The player that leads at the horizon; it is replaced only by one that weighs clearly more."""
        return self._names[self._court(horizon).leader]

    def scoreboard(self) -> list[Score]:
        """How it stands, by horizon; the heaviest first."""
        return [score for court in self._courts.values() for score in court.scores(self._names)]

    def scores(self, horizon: int) -> list[Score]:
        """How it stands at about that horizon; the heaviest first."""
        return self._court(horizon).scores(self._names)

    def _court(self, horizon: int) -> _Court:
        return self._courts.get(horizon) or self._courts[min(self._courts, key=lambda known: abs(math.log(known / horizon)))]


def _scaled(steps: list[float], whole: float) -> list[float]:
    """The steps, so that their sum is `whole`; each the same where they say nothing of their shape."""
    now = math.fsum(steps)
    return [step / now * whole for step in steps] if now > 0 else [whole / len(steps)] * len(steps)


class _Court:
    """The costs and weights at one horizon."""

    def __init__(self, horizon: int, count: int, quantile: float, memory: float) -> None:
        self.weights = [1 / count] * count
        self.leader = 0
        self._horizon = horizon
        self._quantile = quantile
        self._kept = 1 - 1 / memory
        self._costs = [0.0] * count
        self._judged = 0.0
        self._weighed = 0
        self._scales = [0.0] * count
        self._offsets = [0.0] * count
        # for each step under way, what each player said that will have passed at its end, with and without its offset
        self._pending: deque[tuple[list[float], list[float]]] = deque()

    def judge(self, passed: float, totals: list[float]) -> None:
        """One step is over, `passed` events have come in all; the players expect these totals."""
        if len(self._pending) == self._horizon:
            self._charge(passed, *self._pending.popleft())
            self._weigh()
        ends = [passed + total for total in totals]
        said = ends if self._quantile == 0.5 else list(map(operator.add, ends, self._offsets))
        self._pending.append((ends, said))

    def _charge(self, passed: float, ends: list[float], said: list[float]) -> None:
        quantile, kept = self._quantile, self._kept
        self._judged = kept * self._judged + 1
        for place, one in enumerate(said):
            error = passed - one
            self._costs[place] = kept * self._costs[place] + (quantile * error if error >= 0 else (quantile - 1) * error)
        if quantile == 0.5:
            return
        for place, end in enumerate(ends):
            error = passed - end
            self._scales[place] = kept * self._scales[place] + abs(error)
            step = _OFFSET_STEP * self._scales[place] / self._judged
            self._offsets[place] += step * (quantile if error > self._offsets[place] else quantile - 1)

    def _weigh(self) -> None:
        wanted = inverse_weights(self._costs, POWER)
        self._weighed += 1
        share = max(DAMPING, 1 / (1 + self._weighed))  # at first there is nothing that would be worth keeping
        self.weights = weights = [now + share * (then - now) for now, then in zip(self.weights, wanted, strict=True)]
        most = max(weights)
        if most > MARGIN * weights[self.leader]:
            self.leader = weights.index(most)

    def scores(self, names: Sequence[str]) -> list[Score]:
        """Of all players, the heaviest first."""
        judged = self._judged or 1.0
        scores = [
            Score(name, self._horizon, cost / judged, weight, place == self.leader)
            for place, (name, cost, weight) in enumerate(zip(names, self._costs, self.weights, strict=True))
        ]
        return sorted(scores, key=lambda score: -score.weight)


def tournament(step_seconds: float, horizons: Sequence[int]) -> Tournament:
    """The usual players at these horizons, too many and too few costing the same; with one horizon, at the next step and halfway too."""
    furthest = max(horizons)
    return Tournament(players(step_seconds), horizons if len(horizons) > 1 else [1, math.isqrt(furthest), furthest])
