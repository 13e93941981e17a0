"""A line, a logarithm or an exponential through the measurements of a window, whichever is least off; to read off what comes next. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["linear", "logarithmic", "exponential"]
KINDS: tuple[Kind, ...] = ("linear", "logarithmic", "exponential")
MOST = 1e15
"""More than any machine sees: an exponential may say anything of what comes."""
_MOST_EXPONENT = 700.0
"""Of e, before it overflows."""
_HARDLY = 1e-9
"""An error that is less by this part of the squares of the measurements is as good as the same: rounding must not choose."""


@dataclass(frozen=True, slots=True)
class Fit:
    """y = a + b t, y = a + b ln t, or y = a e^(b t); `error`: the sum of its squares over the measurements, t = 1, 2, .."""

    kind: Kind
    a: float
    b: float
    error: float
    seen: int

    def at(self, t: float) -> float:
        """What it says of a moment; never below 0."""
        return min(MOST, max(0.0, _value(self.kind, self.a, self.b, t)))

    def ahead(self, steps: float) -> float:
        """The sum of the next steps after the measurements; of a last one that is not whole its part."""
        whole = int(steps)
        after = sum(self.at(self.seen + step) for step in range(1, whole + 1))
        return min(MOST, after + (steps - whole) * self.at(self.seen + whole + 1))


def best_fit(measured: Sequence[float], kinds: Sequence[Kind] = KINDS) -> Fit:
    """The kind with the least error, of several that are as good the first. There must be a measurement; of one alone: as it is."""
    if len(measured) == 1:
        return Fit("linear", measured[0], 0.0, 0.0, 1)
    alike = _HARDLY * sum(value * value for value in measured)
    # of what was nought there is no logarithm, so no exponential goes through it
    fits = [_fitted(kind, measured) for kind in kinds if kind != "exponential" or min(measured) > 0]
    best = fits[0]
    for fit in fits[1:]:
        if fit.error < best.error - alike:
            best = fit
    return best


def _fitted(kind: Kind, measured: Sequence[float]) -> Fit:
    times = [float(t) for t in range(1, len(measured) + 1)]
    if kind == "exponential":
        ln_a, b = _least_squares(times, [math.log(value) for value in measured])
        a = math.exp(ln_a)
    else:
        a, b = _least_squares([math.log(t) for t in times] if kind == "logarithmic" else times, measured)
    offs = [_value(kind, a, b, t) - value for t, value in zip(times, measured, strict=True)]
    return Fit(kind, a, b, sum(off * off for off in offs), len(measured))


def _least_squares(xs: Sequence[float], ys: Sequence[float]) -> tuple[float, float]:
    """a and b of y = a + b x."""
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    b = sum((each - x) * (value - y) for each, value in zip(xs, ys, strict=True)) / sum((each - x) ** 2 for each in xs)
    return y - b * x, b


def _value(kind: Kind, a: float, b: float, t: float) -> float:
    if kind == "exponential":
        return a * math.exp(min(b * t, _MOST_EXPONENT))
    return a + b * (t if kind == "linear" else math.log(t))
