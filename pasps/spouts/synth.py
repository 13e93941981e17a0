"""Synthetic input rates: events of each step, of five kinds of traffic, from parameters and a seed. Standard library only; pure.

The same traffic gives the same numbers on every machine and Python: of `random` only `random()` of a seeded generator is used,
which is documented to stay as it is, and of floating point only what IEEE 754 defines exactly (so no sine, exponential or power).
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from pasps.errors import InvalidError

Kind = Literal["steady", "diurnal", "spiky", "erratic", "progressive"]
KINDS: tuple[Kind, ...] = get_args(Kind)

_PARTS = 1 << 20
"""An event is summed in so many parts, as integers: then whole counts add up to the rates whatever the order of rounding."""
_LEAST_SHARE = 0.25
"""A quiet time keeps this share of the mean where the peak would leave less."""
_STEPS_PER_SPIKE = 75
_DAYS = 3
_WANDER_STEPS = 60
_WIDEST, _ROUNDS, _NEAR = 1e6, 60, 1e-9


@dataclass(frozen=True, slots=True)
class Traffic:
    """What traffic is wanted.

    Attributes:
        kind: `steady`: one rate. `diurnal`: days and nights. `spiky`: up-spikes and down-spikes with an onset, slope, magnitude
            and duration of their own, at random moments (after Bodik et al. 2010). `erratic`: sudden, severe and mostly brief
            increases, the last of which stays (DABS-Storm, Figure 11b). `progressive`: a large increase, a plateau and a decrease
            (its Figure 11a).
        steps: How many.
        mean: Events per step, on average.
        peak: Events of the largest step, a whole number; reached exactly. None: what the kind makes of the mean.
        seed: From 0.
        noise: Standard deviation of a step at the mean rate, as a share of that rate. It grows with the square root of the rate,
            as that of Poisson arrivals, which have `1 / sqrt(mean)`. With a peak a steady stream has the noise that leads there.
        period: Steps of a day of diurnal traffic; None: a third of the steps.
        spikes: How many spikes or increases spiky and erratic traffic has; None: one in 75 steps, at least one.
        down: Share of the spikes of spiky traffic that go down.

    Raises:
        InvalidError: a value is none that can be.
    """

    kind: Kind
    steps: int = 600
    mean: float = 100.0
    peak: float | None = None
    seed: int = 1
    noise: float = 0.05
    period: int | None = None
    spikes: int | None = None
    down: float = 0.3

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InvalidError(f"traffic: expected a kind of {', '.join(KINDS)}, got {self.kind!r}")
        _check("steps", self.steps, "a whole number of at least 1", isinstance(self.steps, int) and self.steps >= 1)
        _check("mean", self.mean, "a number above 0", isinstance(self.mean, int | float) and 0 < self.mean < math.inf)
        _check("seed", self.seed, "a whole number of at least 0", isinstance(self.seed, int) and self.seed >= 0)
        _check("noise", self.noise, "a number of at least 0", 0 <= self.noise < math.inf)
        _check("down", self.down, "a share from 0 to 1", 0 <= self.down <= 1)
        for name, value, least in (("period", self.period, 2), ("spikes", self.spikes, 0)):
            _check(name, value, f"a whole number of at least {least}", value is None or (isinstance(value, int) and value >= least))
        if self.peak is not None:
            whole = self.mean <= self.peak < math.inf and float(self.peak).is_integer()
            _check("peak", self.peak, f"a whole number, not below the mean of {self.mean:g}", whole)


def rates(traffic: Traffic) -> list[int]:
    """Events of each step. Their mean is the traffic's, to less than an event in all; their largest is its peak when it has one.

    Raises:
        InvalidError: so low a mean cannot be had with so high a peak.
    """
    draw = random.Random(traffic.seed).random
    shape = _SHAPES[traffic.kind](traffic, draw)
    smooth = _fitted(shape, traffic, traffic.mean * _LEAST_SHARE) if max(shape) > min(shape) else [traffic.mean] * traffic.steps
    return _whole(_fitted([_noisy(rate, traffic, draw) for rate in smooth], traffic, 0.0))


def _check(name: str, value: object, expected: str, holds: bool) -> None:
    if not holds:
        raise InvalidError(f"traffic: {name} must be {expected}, got {value!r}")


Draw = Callable[[], float]


def _steady(traffic: Traffic, draw: Draw) -> list[float]:
    return [1.0] * traffic.steps


def _diurnal(traffic: Traffic, draw: Draw) -> list[float]:
    """Nights at a quarter of the day's rate, long evenings, and days that are not all alike."""
    period = traffic.period or max(2, traffic.steps // _DAYS)
    days = [0.9 + 0.2 * draw() for _ in range(traffic.steps // period + 1)]
    found = []
    for step in range(traffic.steps):
        day, hour = divmod(step, period)
        found.append(1.0 + 3.0 * days[day] * _day(hour / period))
    return found


def _spiky(traffic: Traffic, draw: Draw) -> list[float]:
    """Each spike lies in a stretch of its own, so that it can be told from the others."""
    level = _wander(traffic.steps, draw)
    count = _spike_count(traffic)
    for place in range(count):
        first, end = place * traffic.steps // count, (place + 1) * traffic.steps // count
        room = end - first
        is_up = place == 0 or draw() >= traffic.down
        duration = max(1, round(room * (0.2 + 0.5 * draw())))
        onset = first + int((room - duration) * draw())
        size = 1.0 + 3.0 * draw() if is_up else -(0.4 + 0.4 * draw())
        rise = max(1, round(duration * (0.08 + 0.3 * draw())))
        for step in range(onset, onset + duration):
            level[step] *= 1.0 + size * _spike(step - onset + 1, rise, duration)
    return level


def _erratic(traffic: Traffic, draw: Draw) -> list[float]:
    steps = traffic.steps
    level = [1.0] * steps
    last = round(steps * 0.7)
    count = max(0, _spike_count(traffic) - 1)
    for place in range(count):
        first, end = place * last // count, (place + 1) * last // count
        duration = max(1, round((end - first) * (0.1 + 0.35 * draw())))
        onset = first + int((end - first - duration) * (0.2 + 0.8 * draw()))
        level[onset : onset + duration] = [2.0 + 6.0 * draw()] * duration
    if traffic.spikes != 0:
        stay = max(1, round(steps * 0.2))
        level[last : last + stay] = [5.0 + 3.0 * draw()] * len(level[last : last + stay])
    return level


def _progressive(traffic: Traffic, draw: Draw) -> list[float]:
    span = max(1, traffic.steps - 1)
    return [1.0 + 4.0 * (_ramp((step / span - 0.2) / 0.25) - _ramp((step / span - 0.65) / 0.2)) for step in range(traffic.steps)]


_SHAPES: dict[Kind, Callable[[Traffic, Draw], list[float]]] = {
    "steady": _steady,
    "diurnal": _diurnal,
    "spiky": _spiky,
    "erratic": _erratic,
    "progressive": _progressive,
}


def _spike_count(traffic: Traffic) -> int:
    wanted = max(1, traffic.steps // _STEPS_PER_SPIKE) if traffic.spikes is None else traffic.spikes
    return min(wanted, traffic.steps)


def _wander(steps: int, draw: Draw) -> list[float]:
    """A level about 1 that is never quite the same: smooth between random knots."""
    knots = [0.85 + 0.3 * draw() for _ in range(steps // _WANDER_STEPS + 2)]
    found = []
    for step in range(steps):
        knot, after = divmod(step, _WANDER_STEPS)
        found.append(knots[knot] + (knots[knot + 1] - knots[knot]) * _ramp(after / _WANDER_STEPS))
    return found


def _spike(step: int, rise: int, duration: int) -> float:
    """From 0 up to 1 within `rise` steps, and back, fast at first, by the end of `duration`; `step` counts from 1."""
    if step <= rise:
        return _ramp(step / rise)
    left = 1.0 - (step - rise) / (duration - rise + 1)
    return left * left * (2.0 - left)


def _ramp(share: float) -> float:
    """From 0 to 1 as the share does, without a kink; steepest in the middle."""
    share = min(1.0, max(0.0, share))
    return share * share * (3.0 - 2.0 * share)


def _day(share: float) -> float:
    """0 at the beginning and end of a day, 1 at three fifths of it."""
    return _ramp(share / 0.6) if share < 0.6 else _ramp((1.0 - share) / 0.4)


def _noisy(rate: float, traffic: Traffic, draw: Draw) -> float:
    return max(0.0, rate + traffic.noise * math.sqrt(traffic.mean * rate) * _normal(draw)) if traffic.noise else rate


def _normal(draw: Draw) -> float:
    """Nearly normal, with mean 0 and variance 1: the sum of twelve uniform numbers."""
    return math.fsum([draw() for _ in range(12)]) - 6.0


def _fitted(values: Sequence[float], traffic: Traffic, least: float) -> list[float]:
    """The same ups and downs with the traffic's mean and, if it has one, peak; with a peak, nothing below `least` where that can be."""
    mean, peak = traffic.mean, traffic.peak
    if peak is None:
        now = math.fsum(values) / len(values)
        return [value * mean / now for value in values] if now else [mean] * len(values)
    if mean == peak:
        return [mean] * len(values)
    low, high = min(values), max(values)
    if low == high:
        raise InvalidError(f"traffic: {traffic.kind} traffic without ups and downs has no peak but its mean of {mean:g}, got {peak:g}")
    shares = [(value - low) / (high - low) for value in values]
    average = math.fsum(shares) / len(shares)
    floor = peak - (peak - mean) / (1.0 - average)
    if floor >= least:
        return [floor + (peak - floor) * share for share in shares]
    for floor in (least, 0.0):
        bent = _bent(shares, (mean - floor) / (peak - floor))
        if bent is not None:
            return [floor + (peak - floor) * share for share in bent]
    raise InvalidError(
        f"traffic: {traffic.kind} traffic of {traffic.steps} steps cannot have a peak of {peak:g} and a mean of {mean:g}; "
        "lower the peak or raise the mean"
    )


def _bent(shares: Sequence[float], average: float) -> list[float] | None:
    """Shares from 0 to 1 in the same order, but with this average; None where no bend gets there."""
    low, high = 1.0 / _WIDEST, _WIDEST
    for _ in range(_ROUNDS):
        bend = math.sqrt(low * high)
        found = [share / (share + bend * (1.0 - share)) for share in shares]
        now = math.fsum(found) / len(found)
        if abs(now - average) <= _NEAR * average:
            return found
        low, high = (bend, high) if now > average else (low, bend)
    return None


def _whole(values: Sequence[float]) -> list[int]:
    """Whole numbers, each within one of its value, whose sum is that of the values."""
    found = []
    parts = 0
    for value in values:
        parts += math.floor(value * _PARTS + 0.5)
        count, parts = divmod(parts, _PARTS)
        found.append(count)
    return found
