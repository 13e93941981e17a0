"""Quantiles of sums from a model's own errors: what they cover, and what is said where little is known."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from itertools import accumulate

import pytest

from predictor_service.conformal import MEMORY, Track, knots, offsets, spread
from predictor_service.model import Model
from predictor_service.online import Naive, simple
from predictor_service.registry import builtin_models
from predictor_service.sums import forecast_sums

MODELS = builtin_models()
LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9)


def noise(seed: int, count: int = 1_500) -> list[float]:
    source = random.Random(seed)
    return [max(0.0, 200 + 30 * source.gauss(0, 1)) for _ in range(count)]


def wave(seed: int, count: int = 1_500) -> list[float]:
    source = random.Random(seed)
    return [300 + 100 * math.sin(step / 60) + 20 * source.gauss(0, 1) for step in range(count)]


def walk(seed: int, count: int = 1_500) -> list[float]:
    source = random.Random(seed)
    return [max(0.0, value) for value in accumulate((source.gauss(0, 5) for _ in range(count)), initial=2_000)]


def growing(seed: int, count: int = 1_500) -> list[float]:
    """Noise that doubles every 1,500 steps: old errors are too small."""
    source = random.Random(seed)
    return [max(0.0, 1_000 + 20 * 2 ** (step / 1_500) * source.gauss(0, 1)) for step in range(count)]


def covered(samples: list[float], horizon: int, low: float, high: float) -> float:
    """The share of sums between two of the quantiles that were said of them when they were still to come."""
    track = Track(simple(), [horizon])
    inside: list[bool] = []
    said: dict[int, tuple[float, float]] = {}
    sums = [0.0, *accumulate(samples)]
    for step, sample in enumerate(samples):
        track.update(sample)
        if step >= 400 and step % 5 == 0 and step + horizon < len(samples):
            below, above = offsets(track.errors()[horizon], (low, high), horizon)
            expected = track.model.total(horizon)
            said[step] = (expected + below, expected + above)
    for step, (below, above) in said.items():
        inside.append(below <= sums[step + horizon + 1] - sums[step + 1] <= above)
    return sum(inside) / len(inside)


@pytest.mark.parametrize("series", [noise, wave, growing], ids=lambda series: series.__name__)
@pytest.mark.parametrize("horizon", [1, 5, 30])
def test_quantiles_of_the_sum_cover_what_they_promise(series: object, horizon: int) -> None:
    assert callable(series)
    shares = [covered(series(seed), horizon, 0.1, 0.9) for seed in range(4)]
    assert sum(shares) / len(shares) == pytest.approx(0.8, abs=0.08)


def test_of_independent_samples_the_sum_is_known_better_than_its_parts() -> None:
    made = forecast_sums(MODELS["ses"], noise(1), 25, 1.0, [0.1, 0.9])
    low, high = made.cumulative_quantiles
    first, last = high[0] - low[0], high[-1] - low[-1]
    assert first == pytest.approx(2 * 1.28 * 30, rel=0.3)
    assert last < 25 * first / 2  # five times as wide, and what the level is not known by, not 25 times


def test_with_few_errors_the_quantiles_move_outwards() -> None:
    errors = [float(value) for value in range(-10, 11)]
    near, far = offsets(errors, [0.8], 1)[0], offsets(errors, [0.8], 7)[0]
    assert 6 <= near < far <= 10


def test_old_errors_count_less() -> None:
    errors = [100.0] * 1_000 + [1.0] * round(MEMORY)
    assert offsets(errors, [0.5], 1) == [1.0]
    assert sorted(errors)[len(errors) // 2] == 100.0


def test_after_a_change_of_the_noise_the_quantiles_follow() -> None:
    track = Track(simple(), [5])
    calm, loud = noise(1, 800), [200 + 10 * (value - 200) for value in noise(2, 800)]
    for sample in calm:
        track.update(sample)
    before = offsets(track.errors()[5], [0.9], 5)[0]
    for sample in loud:
        track.update(sample)
    assert offsets(track.errors()[5], [0.9], 5)[0] > 7 * before


def test_levels_keep_their_order() -> None:
    found = offsets([float(step * 7919 % 101) for step in range(300)], [0.01, 0.1, 0.5, 0.9, 0.99], 10)
    assert found == sorted(found)


def test_a_track_keeps_what_came_less_what_was_expected() -> None:
    track = Track(Naive(), [1, 2])
    for sample in (1.0, 2.0, 4.0, 8.0):
        track.update(sample)
    assert {ahead: list(errors) for ahead, errors in track.errors().items()} == {1: [1, 2, 4], 2: [4, 8]}


@pytest.mark.parametrize("horizon", [1, 2, 3, 7, 60, 3_600])
def test_knots_begin_at_one_and_end_at_the_horizon(horizon: int) -> None:
    found = knots(horizon)
    assert (found[0], found[-1]) == (1, horizon)
    assert found == sorted(set(found))
    assert len(found) < 25


def test_between_knots_offsets_go_over_and_beyond_the_last_they_are_stretched() -> None:
    lines, known = spread({1: [2.0] * 9, 3: [6.0] * 9, 10: []}, [0.5], 6)
    assert lines == [[2.0, 4.0, 6.0, 8.0, 10.0, 12.0]]
    assert known == 3
    assert spread({}, [0.5], 3) == ([[0.0, 0.0, 0.0]], 0)


QUICK = [model for model in MODELS.values() if model.name not in {"ann", "rf", "gaussian"}]


@pytest.mark.parametrize("model", QUICK, ids=lambda model: str(model.name))
def test_running_quantiles_of_any_model_are_in_order_and_never_shrink(model: Model) -> None:
    made = forecast_sums(model, [value + (step * 31 % 7) for step, value in enumerate(wave(3, 90))], 12, 1.0, LEVELS)
    assert [len(line) for line in made.cumulative_quantiles] == [12] * len(LEVELS)
    for line in made.cumulative_quantiles:
        assert line == sorted(line)
        assert min(line) >= 0
    for lower, higher in zip(made.cumulative_quantiles, made.cumulative_quantiles[1:], strict=False):
        assert all(low <= high + 1e-9 for low, high in zip(lower, higher, strict=True))


def test_a_constant_has_no_doubt() -> None:
    made = forecast_sums(MODELS["lr"], [7.0] * 20, 3, 1.0, [0.1, 0.9])
    assert made.cumulative_quantiles == [[7, 14, 21]] * 2
    assert made.warnings == []


def test_where_errors_are_not_known_it_is_said() -> None:
    assert "nothing is known of the model's errors" in forecast_sums(MODELS["lr"], [1.0, 2.0], 3, 1.0, [0.9]).warnings[-1]
    assert "stretched from shorter sums" in forecast_sums(MODELS["ses"], noise(1, 40), 30, 1.0, [0.9]).warnings[-1]
    assert forecast_sums(MODELS["ses"], noise(1, 400), 30, 1.0, [0.9]).warnings == []


def test_quantiles_come_from_the_past_that_a_model_tells() -> None:
    """It says that it was wrong by 10 each time, so that is what is added."""

    def backtest(samples: Sequence[float], origins: Sequence[int], horizon: int, step_seconds: float) -> list[list[float]]:
        return [[value - 10 for value in samples[known : known + horizon]] + [0.0] * (known + horizon - len(samples)) for known in origins]

    model = Model(name="told", about="", predict=lambda samples, horizon, step_seconds: [50.0] * horizon, backtest=backtest)
    made = forecast_sums(model, wave(1, 200), 3, 1.0, [0.1, 0.9])
    assert made.predictions == [50.0] * 3
    assert made.cumulative_quantiles == [pytest.approx([60.0, 120.0, 180.0])] * 2
