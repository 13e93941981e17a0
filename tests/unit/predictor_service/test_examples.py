"""A trace made ready to learn from: parts in time, a scale of the first part alone, windows that look into no later part."""

from __future__ import annotations

import numpy as np
import pytest

from predictor_service.errors import TrainingError
from predictor_service.trained.examples import LEAST_EXAMPLES, Examples, Scale, Split, errors
from predictor_service.trained.form import Array, Arrays


@pytest.mark.parametrize(
    ("rows", "shares", "parts"),
    [
        (600, (4, 1, 1), (400, 100, 100)),
        (601, (4, 1, 1), (401, 100, 100)),
        (17_496, (11_448, 2_880, 3_168), (11_448, 2_880, 3_168)),
        (10, (0.5, 0.25, 0.25), (5, 3, 2)),
    ],
)
def test_rows_are_parted_in_time(rows: int, shares: tuple[float, ...], parts: tuple[int, ...]) -> None:
    split = Split.of(rows, shares)
    assert (split.training, split.validation, split.test) == parts
    assert sum(parts) == rows


def test_a_trace_is_long_enough_or_it_is_said_what_is_missing() -> None:
    least = 3 + LEAST_EXAMPLES - 1
    Split(8 + least, least, least).check(8, 3)
    for split, part in (
        (Split(8 + least - 1, least, least), "training"),
        (Split(8 + least, least - 1, least), "validation"),
        (Split(8 + least, least, least - 1), "test"),
    ):
        with pytest.raises(
            TrainingError, match=rf"the trace is too short: .* rows are the {part} part, where a window of 8 and a horizon of 3 need "
        ):
            split.check(8, 3)


def test_the_scale_is_that_of_the_rows_it_was_given() -> None:
    scale = Scale.of(np.array([2.0, 6.0, 4.0]))
    assert (scale.low, scale.high, scale.mean, scale.span) == (2.0, 6.0, 4.0, 4.0)
    assert scale.scaled(np.array([2.0, 6.0, 10.0])).tolist() == [0.0, 1.0, 2.0]


def test_rows_that_are_all_the_same_teach_nothing() -> None:
    with pytest.raises(TrainingError, match="nothing can be learned from the training part: all its 5 rows are 7"):
        Scale.of(np.full(5, 7.0))


def test_windows_end_where_their_targets_begin() -> None:
    examples = Examples.within(np.arange(20, dtype=np.float32), 0, 10, 4, 3)
    assert examples.inputs(slice(None)).tolist() == [[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5], [3, 4, 5, 6]]
    assert examples.targets(slice(None)).tolist() == [[4, 5, 6], [5, 6, 7], [6, 7, 8], [7, 8, 9]]


def test_a_later_part_looks_back_and_never_ahead() -> None:
    values = np.arange(20, dtype=np.float32)
    training, validation = Examples.within(values, 0, 10, 4, 3), Examples.within(values, 10, 15, 4, 3)
    assert training.targets(slice(None)).max() == 9
    assert validation.targets(slice(None)).tolist() == [[10, 11, 12], [11, 12, 13], [12, 13, 14]]
    assert validation.inputs(slice(None))[0].tolist() == [6, 7, 8, 9]


def test_fewer_examples_are_spread_over_the_whole() -> None:
    examples = Examples.within(np.arange(1_000, dtype=np.float32), 0, 1_000, 4, 3)
    few = examples.thinned(10)
    assert len(few) == 10
    assert (few.origins[0], few.origins[-1]) == (examples.origins[0], examples.origins[-1])
    assert examples.thinned(5_000) is examples


class AsNow:
    """Says the last sample again."""

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {}

    def predictions(self, arrays: Arrays, windows: Array) -> Array:
        return np.repeat(windows[:, -1:], 3, axis=1)


def test_errors_are_what_came_less_what_was_said() -> None:
    examples = Examples.within(np.arange(3_000, dtype=np.float32), 0, 3_000, 4, 3)
    assert np.array_equal(errors(AsNow(), {}, examples), np.tile([1.0, 2.0, 3.0], (len(examples), 1)))
