"""When a result counts as reproduced: rules that were fixed before anything was run. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from itertools import combinations

LEAST_CORRELATION, SOME_CORRELATION = 0.9, 0.8
SAVED_APART = 0.03
MAGNITUDE = 10.0
"""Of the same order of magnitude: less than so many times as large, and more than one of so many."""
_ROUNDING = 1e-9


class Verdict(StrEnum):
    """What came of one comparison."""

    REPRODUCED = "reproduced"
    IN_PART = "in part"
    NOT = "not reproduced"


def of_curve(correlation: float, saved: float, printed: float) -> Verdict:
    """A replica curve: reproduced at r >= 0.9 and saved resources within 0.03 of the printed ones; in part at r >= 0.8 or those."""
    near = abs(saved - printed) <= SAVED_APART + _ROUNDING
    if correlation >= LEAST_CORRELATION and near:
        return Verdict.REPRODUCED
    return Verdict.IN_PART if correlation >= SOME_CORRELATION or near else Verdict.NOT


def of_column(printed: Mapping[str, float], ours: Mapping[str, float]) -> Verdict:
    """A column of a table: reproduced when the systems have the same order, and each value sign and order of magnitude; in part
    when either holds. With a system alone there is no order, and its value decides.
    """
    alike = all(same_magnitude(value, ours[system], printed.values()) for system, value in printed.items())
    if len(printed) < 2:
        return Verdict.REPRODUCED if alike else Verdict.NOT
    ordered = same_order(printed, ours)
    if ordered and alike:
        return Verdict.REPRODUCED
    return Verdict.IN_PART if ordered or alike else Verdict.NOT


def of_claim(*, order: bool, size: bool) -> Verdict:
    """A statement in a paper's text: who is ahead of whom, and by about how much."""
    return Verdict.REPRODUCED if order and size else Verdict.IN_PART if order or size else Verdict.NOT


def same_order(printed: Mapping[str, float], ours: Mapping[str, float]) -> bool:
    """Whether each two systems that differ in print differ the same way here."""
    return all(
        (ours[one] - ours[other]) * (printed[one] - printed[other]) > 0
        for one, other in combinations(printed, 2)
        if printed[one] != printed[other]
    )


def same_magnitude(printed: float, ours: float, beside: Iterable[float] = ()) -> bool:
    """Whether it has the same sign and is neither ten times as large nor as small.

    What is printed as nothing must be less than a tenth of the smallest of those `beside` it that are something.
    """
    if printed == 0:
        others = [abs(value) for value in beside if value]
        return abs(ours) < min(others) / MAGNITUDE if others else ours == 0
    return ours * printed > 0 and 1 / MAGNITUDE < ours / printed < MAGNITUDE and math.isfinite(ours)


def counted(verdicts: Iterable[Verdict]) -> str:
    """How many of each, the best first."""
    found = Counter(verdicts)
    return ", ".join(f"{found[verdict]} {verdict}" for verdict in Verdict)
