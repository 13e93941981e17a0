"""Models that learn sample by sample: the arithmetic that the cheap models, their quantiles and the tournament share.

Pure Python and the standard library, but for the autoregression, which takes numpy when it first fits: whoever decides each second
can keep one of these beside its loop. Each takes a sample in about a microsecond, and then says what it expects of any number of
coming steps.
"""

from __future__ import annotations

import math
import operator
from collections import deque
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate, islice, starmap
from typing import TYPE_CHECKING

from predictor_service.model import Cost, Model, Online

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

KEPT = 0.995
"""What one step leaves of the errors by which a model chooses its parameters: half of them is forgotten after 138 steps."""
TAUGHT = 4_000
"""A request teaches a model with so many of its newest samples; of what is older nothing would be left."""


def online_model(
    name: str,
    about: str,
    make: Callable[[float, Sequence[int]], Online],
    *,
    parameters: dict[str, object] | None = None,
    least_samples: int = 1,
    cost: Cost = "instant",
) -> Model:
    """The model that `make(step_seconds, horizons)` gives, taught with the samples of a request."""

    def predict(samples: Sequence[float], horizon: int, step_seconds: float) -> Sequence[float]:
        taught = make(step_seconds, [horizon])
        for sample in samples[-TAUGHT:]:
            taught.update(sample)
        return taught.means(horizon)

    return Model(name=name, about=about, predict=predict, parameters=parameters or {}, least_samples=least_samples, cost=cost, online=make)


@lru_cache(maxsize=4096)
def _reach(damping: float, horizon: int) -> tuple[float, float]:
    """How many trends the last of so many steps lies above the level, and all of them together: of a trend that is damped by each step."""
    if damping == 1.0:
        return float(horizon), horizon * (horizon + 1) / 2
    last = damping * (1 - damping**horizon) / (1 - damping)
    return last, (horizon * damping - damping * last) / (1 - damping)


class Line:
    """A level, and a trend that each coming step keeps `damping` of. What the models below are once they have learned."""

    __slots__ = ("damping", "level", "trend")

    def __init__(self, damping: float = 1.0) -> None:
        self.level = 0.0
        self.trend = 0.0
        self.damping = damping

    def means(self, horizon: int) -> list[float]:
        """See `Online`."""
        value, step, means = self.level, self.trend, []
        for _ in range(horizon):
            step *= self.damping
            value += step
            means.append(value if value > 0 else 0.0)
        return means

    def total(self, horizon: int) -> float:
        """See `Online`."""
        last, area = _reach(self.damping, horizon)
        if self.level >= 0 and self.level + self.trend * last >= 0:  # a line between two that are not below 0
            return horizon * self.level + self.trend * area
        return math.fsum(self.means(horizon))


class Naive(Line):
    """As now."""

    def update(self, sample: float) -> None:
        """See `Online`."""
        self.level = sample


class Smoothed(Line):
    """A level that moves by `alpha` of each error, a trend by `alpha * beta` of it: simple smoothing, or Holt's."""

    __slots__ = ("_gain", "_taught", "alpha")

    def __init__(self, alpha: float, beta: float = 0.0, damping: float = 1.0) -> None:
        super().__init__(damping)
        self.alpha, self._gain = alpha, alpha * beta
        self._taught = False

    def update(self, sample: float) -> None:
        """See `Online`."""
        self.learn(sample)

    def learn(self, sample: float) -> float:
        """Update; by how much the step before was wrong."""
        if not self._taught:
            self._taught, self.level = True, sample
            return 0.0
        trend = self.trend * self.damping
        expected = self.level + trend
        error = sample - expected
        self.level = expected + self.alpha * error
        self.trend = trend + self._gain * error
        return error


class Chosen:
    """Of several smoothings the one whose errors, one step ahead, were smallest of late."""

    __slots__ = ("_errors", "_lines", "best")

    def __init__(self, lines: Sequence[Smoothed]) -> None:
        self._lines = lines
        self._errors = [0.0] * len(lines)
        self.best = lines[-1]

    def update(self, sample: float) -> None:
        """See `Online`."""
        errors = self._errors
        for place, line in enumerate(self._lines):
            errors[place] = KEPT * errors[place] + abs(line.learn(sample))
        self.best = self._lines[errors.index(min(errors))]

    def means(self, horizon: int) -> list[float]:
        """See `Online`."""
        return self.best.means(horizon)

    def total(self, horizon: int) -> float:
        """See `Online`."""
        return self.best.total(horizon)


class Theta(Line):
    """The mean of the level's line and of the straight line through the samples: a level that goes on by half the slope.

    The line forgets: a sample that is `memory` steps old counts a third of the newest.
    """

    __slots__ = ("_ages", "_ages_squared", "_level", "_products", "_remembered", "_sum", "_weights")

    def __init__(self, levels: Chosen, memory: float = 300.0) -> None:
        super().__init__()
        self._level = levels
        self._remembered = 1 - 1 / memory
        self._weights = self._ages = self._ages_squared = 0.0
        self._sum = self._products = 0.0

    def update(self, sample: float) -> None:
        """See `Online`. The ages of all that came before grow by 1, which their sums can be told."""
        self._level.update(sample)
        kept, weights, ages = self._remembered, self._weights, self._ages
        self._ages_squared = kept * (self._ages_squared + 2 * ages + weights)
        self._ages = kept * (ages + weights)
        self._products = kept * (self._products + self._sum)
        self._weights = kept * weights + 1
        self._sum = kept * self._sum + sample
        spread = self._weights * self._ages_squared - self._ages * self._ages
        slope = (self._ages * self._sum - self._weights * self._products) / spread if spread > 0 else 0.0
        self.trend = slope / 2
        # a level of simple smoothing lags behind a slope by (1 - alpha) / alpha steps
        best = self._level.best
        self.level = best.level + self.trend * (1 - best.alpha) / best.alpha


class Filtered(Smoothed):
    """A Kalman filter of a level and a damped trend, whose changes have these variances in units of what disturbs a sample.

    The gains do not depend on the samples, so they are worked out once; the first are large, since nothing is known then.
    """

    __slots__ = ("_gains", "_last", "_seen")

    def __init__(self, level_variance: float, trend_variance: float, damping: float) -> None:
        super().__init__(1.0, damping=damping)
        self._gains = _gains(level_variance, trend_variance, damping)
        self._last = len(self._gains) - 1
        self._seen = 0

    def learn(self, sample: float) -> float:
        """Update; by how much the step before was wrong."""
        gain, trend_gain = self._gains[self._seen]
        if self._seen < self._last:
            self._seen += 1
        trend = self.trend * self.damping
        expected = self.level + trend
        error = sample - expected
        self.level = expected + gain * error
        self.trend = trend + trend_gain * error
        return error


@lru_cache(maxsize=64)
def _gains(level_variance: float, trend_variance: float, damping: float) -> tuple[tuple[float, float], ...]:
    """For each sample the gain of the level and that of the trend; the last stands for all later ones."""
    # variances of level and trend, and what they share, after the first sample: the level is that sample, of the trend nothing is known
    level, both, trend = 1.0, 0.0, 0.1
    gains = [(1.0, 0.0)]
    while len(gains) < _MOST_GAINS:
        level, both, trend = (
            level + 2 * damping * both + damping * damping * trend + level_variance,
            damping * both + damping * damping * trend,
            damping * damping * trend + trend_variance,
        )
        gain, trend_gain = level / (level + 1), both / (level + 1)
        gains.append((gain, trend_gain))
        level, both, trend = level - gain * level, both - gain * both, trend - trend_gain * both
        if abs(gain - gains[-2][0]) + abs(trend_gain - gains[-2][1]) < _SETTLED:
            break
    return tuple(gains)


_MOST_GAINS = 2_000
_SETTLED = 1e-9


class Mixed(Chosen):
    """The mean of several smoothings, each weighed by a high power of the inverse of its errors, one step ahead, of late."""

    __slots__ = ()

    def means(self, horizon: int) -> list[float]:
        """See `Online`."""
        weights = self._weights()
        paths = [line.means(horizon) for line in self._lines]
        return [math.fsum(map(operator.mul, weights, step)) for step in zip(*paths, strict=True)]

    def total(self, horizon: int) -> float:
        """See `Online`."""
        return math.fsum(map(operator.mul, self._weights(), [line.total(horizon) for line in self._lines]))

    def _weights(self) -> list[float]:
        return inverse_weights(self._errors, 8.0)


def inverse_weights(errors: Sequence[float], power: float) -> list[float]:
    """Weights that add to 1 and go as the inverse of a power of each error; who made next to none shares everything with its like."""
    least = min(errors)
    if least <= max(errors) * _NO_ERROR:
        best = [1.0 if error <= max(errors) * _NO_ERROR else 0.0 for error in errors]
    else:
        best = [(least / error) ** power for error in errors]
    whole = math.fsum(best)
    return [one / whole for one in best]


_NO_ERROR = 1e-12


class Autoregression:
    """Ridge regression of a sample on those just before it, and on the time of day and of the week where the samples cover two of them.

    It keeps the newest samples, and fits when it is asked and has learned `every` samples since. Needs numpy, loaded with the first fit.
    """

    LAGS = 12
    KEPT = 600
    LEAST = 8

    def __init__(self, step_seconds: float, horizons: Sequence[int] = (), *, every: int = 10) -> None:
        self._samples: deque[float] = deque(maxlen=self.KEPT)
        self._step_seconds = step_seconds
        self._every = every
        self._since_fit = every
        self._fit: _Fit | None = None
        self._sums: list[float] = []
        self._means: list[float] = []

    def update(self, sample: float) -> None:
        """See `Online`."""
        self._samples.append(sample)
        self._since_fit += 1
        self._means = []

    def means(self, horizon: int) -> list[float]:
        """See `Online`."""
        if len(self._means) < horizon:
            self._look(horizon)
        return self._means[:horizon]

    def total(self, horizon: int) -> float:
        """See `Online`."""
        if len(self._means) < horizon:
            self._look(horizon)
        return self._sums[horizon - 1]

    def _look(self, horizon: int) -> None:
        fit = self._fit
        if len(self._samples) < self.LEAST:
            self._means = [max(0.0, self._samples[-1])] * horizon
        else:
            if fit is None or self._since_fit >= self._every or fit.horizon < horizon:
                longest = max(horizon, fit.horizon if fit else 0)
                fit = self._fit = _Fit(list(self._samples), self._step_seconds, min(self.LAGS, len(self._samples) // 4), longest)
                self._since_fit = 0
            self._means = fit.means(list(islice(reversed(self._samples), fit.lags)), self._since_fit)
        self._sums = list(accumulate(self._means))


_RIDGE = 1.0
_BEYOND = 1e12
"""A sample that weighs so much in a coming step takes it to the ceiling, or to 0."""
_DAY, _WEEK = 86_400.0, 604_800.0


class _Fit:
    """One fit: how each coming step follows from the newest samples."""

    def __init__(self, samples: list[float], step_seconds: float, lags: int, horizon: int) -> None:
        import numpy as np

        self.lags, self.horizon = lags, horizon
        values = np.asarray(samples, dtype=np.float64)
        count = len(values)
        self._ceiling = 2.0 * float(values.max())
        calendar = _calendar(np.arange(count + horizon + _AHEAD, dtype=np.float64), step_seconds, count)
        usual = calendar @ _ridge(calendar[:count], values - values.mean(), _RIDGE * 1e-3) + values.mean()
        rest = values - usual[:count]
        scale = float(rest.std()) or 1.0
        rest = rest / scale
        past = np.lib.stride_tricks.sliding_window_view(rest, lags)[:-1, ::-1]
        newest = _ridge(past, rest[lags:], _RIDGE)
        # row by row: each coming step as weights of the newest samples, the newest first
        answers = np.zeros((lags + horizon, lags))
        answers[:lags] = np.eye(lags)[::-1]
        for step in range(lags, lags + horizon):
            answers[step] = newest @ answers[step - lags : step][::-1]
            if np.abs(answers[step]).max() > _BEYOND:  # it would grow past all numbers; what comes of it is at a bound already
                answers[step:] = answers[step]
                break
        self._answers = answers[lags:]
        self._usual, self._count = usual, count

    def means(self, newest: list[float], since: int) -> list[float]:
        """The coming steps, when so many samples came after those that were fitted; `newest` first."""
        import numpy as np

        at = self._count + since
        usual = self._usual
        last = usual[at - self.lags : at][::-1]
        path = self._answers @ (np.asarray(newest) - last) + usual[at : at + self.horizon]
        means: list[float] = np.clip(path, 0.0, max(0.0, self._ceiling)).tolist()
        return means


_AHEAD = 64
"""How many samples after a fit it can be asked at most."""


def _calendar(times: NDArray[np.float64], step_seconds: float, count: int) -> NDArray[np.float64]:
    """Waves of a day and of a week, where the samples cover two of them and have eight steps in one."""
    import numpy as np

    waves = [np.zeros(len(times))]
    for period in (_DAY, _WEEK):
        steps = period / step_seconds
        if 8 <= steps <= count / 2:
            for harmonic in (1, 2, 3):
                angle = 2 * np.pi * harmonic / steps * times
                waves += [np.sin(angle), np.cos(angle)]
    return np.stack(waves, axis=1)


def _ridge(inputs: NDArray[np.float64], outputs: NDArray[np.float64], strength: float) -> NDArray[np.float64]:
    import numpy as np

    gram = inputs.T @ inputs
    gram[np.diag_indices_from(gram)] += strength
    weights: NDArray[np.float64] = np.asarray(np.linalg.solve(gram, inputs.T @ outputs), dtype=np.float64)
    return weights


LEVELS = (0.05, 0.15, 0.35, 0.7)
"""What a level may follow of each error: from one that hardly moves to one that runs after."""
TRENDS = ((0.1, 0.1, 0.98), (0.3, 0.1, 0.9), (0.3, 0.1, 0.98), (0.9, 0.5, 0.9), (0.9, 0.5, 0.98))
"""What a level follows of each error, what its trend follows of that, and what each step leaves of the trend."""
VARIANCES = ((0.003, 0.0, 1.0), (0.03, 0.0003, 0.98), (0.3, 0.003, 0.95), (3.0, 0.3, 0.95))
"""How much a level and its trend change, in units of what disturbs a sample, and what each step leaves of the trend."""


def simple(step_seconds: float = 1.0, horizons: Sequence[int] = ()) -> Chosen:
    """Simple smoothing, chosen from LEVELS."""
    return Chosen(list(map(Smoothed, LEVELS)))


def damped(step_seconds: float = 1.0, horizons: Sequence[int] = ()) -> Chosen:
    """Holt's smoothing with a damped trend, chosen from TRENDS."""
    return Chosen(list(starmap(Smoothed, TRENDS)))


def theta(step_seconds: float = 1.0, horizons: Sequence[int] = ()) -> Theta:
    """The Theta method."""
    return Theta(simple())


def kalman(step_seconds: float = 1.0, horizons: Sequence[int] = ()) -> Chosen:
    """Local level and trend, chosen from VARIANCES."""
    return Chosen(list(starmap(Filtered, VARIANCES)))


def mixed(step_seconds: float = 1.0, horizons: Sequence[int] = ()) -> Mixed:
    """The inverse-error mean of "as now" and of all that `simple` and `damped` choose from."""
    return Mixed([Smoothed(1.0), *map(Smoothed, LEVELS), *starmap(Smoothed, TRENDS)])
