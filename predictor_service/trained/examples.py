"""A trace made ready to learn from: its parts in time, its scale, and windows with what came after them. Pure numpy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from predictor_service.errors import TrainingError
from predictor_service.trained.form import Array, Arrays, Form

LEAST_EXAMPLES = 20
"""With fewer windows in a part nothing can be learned or judged there."""

_AT_ONCE = 1_024


@dataclass(frozen=True, slots=True)
class Split:
    """How many rows are learned from, how many say when to stop and which parameters are best, how many judge; one after the other."""

    training: int
    validation: int
    test: int

    @classmethod
    def of(cls, rows: int, shares: Sequence[float]) -> Split:
        """So many rows in three parts that are to each other as the shares."""
        whole = sum(shares)
        first = round(rows * shares[0] / whole)
        second = round(rows * (shares[0] + shares[1]) / whole)
        return cls(first, second - first, rows - second)

    def check(self, window: int, horizon: int) -> None:
        """Whether each part has enough windows. One of the later parts may begin in the part before.

        Raises:
            TrainingError: says which part has too few.
        """
        least = horizon + LEAST_EXAMPLES - 1
        for part, got, needed in (
            ("training", self.training, window + least),
            ("validation", self.validation, least),
            ("test", self.test, least),
        ):
            if got < needed:
                rows = self.training + self.validation + self.test
                raise TrainingError(
                    f"the trace is too short: {got:,} of its {rows:,} rows are the {part} part, where a window of {window} and a horizon "
                    f"of {horizon} need {needed:,}; use a longer trace, or a smaller --window or --horizon"
                )


@dataclass(frozen=True, slots=True)
class Scale:
    """Min-max: what was least and most in the training part lies at 0 and 1. What comes later may lie beyond.

    `mean` and `deviation` are those of the training part too: errors are told as z-scores as well.
    """

    low: float
    high: float
    mean: float
    deviation: float

    @classmethod
    def of(cls, rows: NDArray[np.float64]) -> Scale:
        """The scale of these rows.

        Raises:
            TrainingError: they are all the same.
        """
        low, high = float(rows.min()), float(rows.max())
        if not low < high:
            raise TrainingError(f"nothing can be learned from the training part: all its {len(rows):,} rows are {low:g}")
        return cls(low, high, float(rows.mean()), float(rows.std()))

    @property
    def span(self) -> float:
        """What one unit of what is scaled stands for."""
        return self.high - self.low

    def scaled(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """From counts."""
        scaled: NDArray[np.float64] = (rows - self.low) / self.span
        return scaled


@dataclass(frozen=True, slots=True)
class Examples:
    """Windows of a series that end before each of the origins, and the steps that came from there on; copied when they are asked for."""

    values: NDArray[np.float32]
    origins: NDArray[np.int64]
    window: int
    horizon: int

    @classmethod
    def within(cls, values: NDArray[np.float32], first: int, last: int, window: int, horizon: int) -> Examples:
        """Those whose coming steps lie from row `first` up to, not including, row `last`."""
        return cls(values, np.arange(max(first, window), last - horizon + 1), window, horizon)

    def __len__(self) -> int:
        return len(self.origins)

    def inputs(self, at: NDArray[np.int64] | slice) -> Array:
        """A row for each, oldest first."""
        found: Array = np.lib.stride_tricks.sliding_window_view(self.values, self.window)[self.origins[at] - self.window]
        return found

    def targets(self, at: NDArray[np.int64] | slice) -> Array:
        """A row for each, as far as the horizon."""
        found: Array = np.lib.stride_tricks.sliding_window_view(self.values, self.horizon)[self.origins[at]]
        return found

    def thinned(self, most: int) -> Examples:
        """At most so many of them, evenly over the whole."""
        if len(self) <= most:
            return self
        chosen = np.linspace(0, len(self) - 1, most).round().astype(np.int64)
        return Examples(self.values, self.origins[chosen], self.window, self.horizon)


def errors(form: Form, arrays: Arrays, examples: Examples) -> NDArray[np.float64]:
    """What came less what was said, scaled: a row for each window."""
    found = np.empty((len(examples), examples.horizon))
    for begin in range(0, len(examples), _AT_ONCE):
        piece = slice(begin, begin + _AT_ONCE)
        found[piece] = examples.targets(piece) - form.predictions(arrays, examples.inputs(piece))
    return found
