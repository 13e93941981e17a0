"""What a model is: a record with one function. Each file in `models/` makes one; third parties make theirs the same way."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

MOST_SAMPLES = 100_000
"""The longest series that a request may hold."""

MOST_NAME_CHARACTERS = 64
"""A name that is longer is nobody's, and is compared with none."""

Cost = Literal["instant", "light", "heavy"]
Predict = Callable[[Sequence[float], int, float], Sequence[float]]
Backtest = Callable[[Sequence[float], Sequence[int], int, float], Sequence[Sequence[float]]]

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,40}")


class Online(Protocol):
    """A model that is given one sample after the other; asked only after the first."""

    def update(self, sample: float) -> None:
        """One more step has passed, and brought so much."""

    def means(self, horizon: int) -> list[float]:
        """What each of the next steps is expected to bring, at least 0."""

    def total(self, horizon: int) -> float:
        """The sum of `means(horizon)`, without making the list where that is possible."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model and what users are told of it.

    `predict(samples, horizon, step_seconds)` gets at least `least_samples` finite numbers, oldest first, one for each step of
    `step_seconds`, and returns the next `horizon` of them. It may block and may raise; it gives the same answer for the same input,
    and it loads heavy libraries when it is called, not when its module is imported. It need not care for constant input, for
    numbers below zero or for an answer that explodes: see `forecast`.

    `cost` chooses where it runs: "instant" (well under a millisecond, pure Python) on the server's own loop, "light" (about a
    millisecond) in a process that long fits never block, "heavy" in the others.

    `online(step_seconds, horizons)`, where there is one, makes the same model as it learns sample by sample, to be asked for these
    horizons: what it would have said at each past moment is then known for the price of one pass.

    `backtest(samples, origins, horizon, step_seconds)`, where there is one, gives what it would have said when only so many of the
    samples were known, for each of the origins, which rise: for a model whose fit is dear and holds for a while.

    `library` is what it cannot do without and the service can: the model is there where that is installed, by the extra of that name.
    """

    name: str
    about: str
    predict: Predict
    parameters: Mapping[str, object] = field(default_factory=dict)
    least_samples: int = 1
    most_samples: int = MOST_SAMPLES
    cost: Cost = "heavy"
    online: Callable[[float, Sequence[int]], Online] | None = None
    backtest: Backtest | None = None
    library: str | None = None

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"model {self.name!r}: expected a name of small letters, digits, '-' and '_' that begins with a letter")
        if self.cost not in {"instant", "light", "heavy"}:
            raise ValueError(f"model {self.name!r}: expected the cost 'instant', 'light' or 'heavy', got {self.cost!r}")
        if not 1 <= self.least_samples <= self.most_samples:
            raise ValueError(
                f"model {self.name!r}: expected 1 <= least_samples <= most_samples, got {self.least_samples} and {self.most_samples}"
            )
