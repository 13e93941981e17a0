"""What one tuple takes, from the seconds of many: exact, and not fooled by noise."""

from __future__ import annotations

import math
import random

import pytest

from pasps.data.et_statistics import VARIES, summary, varies, without_warm_up


def test_the_numbers_are_those_of_their_definitions() -> None:
    costs = [float(number) for number in range(1, 101)]
    found = summary([costs])
    assert (found.samples, found.mean) == (100, 50.5)
    assert found.standard_deviation == pytest.approx(math.sqrt((100**2 - 1) / 12))
    assert (found.p50, found.p95, found.p99) == (50.0, 95.0, 99.0)
    # within one standard deviation of 28.9 lie 22 to 79
    assert found.et == pytest.approx(50.5)
    assert found.varies is None


def test_what_lies_further_than_a_standard_deviation_away_is_no_part_of_et() -> None:
    found = summary([[1.0] * 99 + [101.0]])
    assert (found.mean, found.et) == (2.0, 1.0)


def test_a_pass_that_is_slower_as_a_whole_is_no_outlier() -> None:
    # pooled, the last pass would lie more than a standard deviation above the mean, and be left out
    found = summary([[1.0] * 100, [1.0] * 100, [1.0] * 99 + [5.0], [1.4] * 100])
    assert found.et == pytest.approx(1.1)
    assert found.of_passes == pytest.approx((1.0, 1.0, 1.0, 1.4))
    assert found.mean == pytest.approx(1.11)


def test_passes_count_alike_however_many_tuples_they_had() -> None:
    assert summary([[1.0] * 100, [2.0] * 10, []]).et == pytest.approx(1.5)


def test_values_at_exactly_one_standard_deviation_count() -> None:
    # the mean of 0.1 and 0.3 and their deviation are no exact floats
    assert summary([[0.1, 0.3] * 50]).et == pytest.approx(0.2)


def test_one_tuple_is_enough() -> None:
    found = summary([[0.5]])
    assert (found.et, found.mean, found.standard_deviation, found.p50, found.p99, found.samples) == (0.5, 0.5, 0.0, 0.5, 0.5, 1)


def test_all_passes_count_and_a_pass_may_have_ended_early() -> None:
    found = summary([[1.0, 2.0, 3.0], [4.0]])
    assert (found.samples, found.mean) == (3, 2.5)


# ---- warm-up


def test_the_first_tuples_of_each_pass_do_not_count() -> None:
    assert without_warm_up([[9.0, 1.0, 1.0, 1.0], [9.0, 2.0, 2.0]], 1) == [[1.0, 1.0, 1.0], [2.0, 2.0]]


def test_of_few_tuples_at_most_half_is_warm_up() -> None:
    assert without_warm_up([[9.0, 8.0, 1.0, 1.0]], 50) == [[1.0, 1.0]]
    assert without_warm_up([[9.0]], 50) == [[9.0]]


def test_a_pass_that_was_over_before_it_was_warm_does_not_count() -> None:
    assert without_warm_up([[9.0, 1.0, 1.0, 1.0], [9.0]], 1) == [[1.0, 1.0, 1.0]]


# ---- how much the cost depends on the tuple


def noisy(costs: list[float], passes: int, noise: float, seed: int = 1) -> list[list[float]]:
    """Disturbances only add, and a few are large."""
    dice = random.Random(seed)
    return [[cost + dice.expovariate(1 / noise) + (20 * noise if dice.random() < 0.01 else 0.0) for cost in costs] for _ in range(passes)]


@pytest.mark.parametrize("seed", range(20))
def test_noise_is_no_dependence(seed: int) -> None:
    found = varies(noisy([1.0] * 1000, 3, 0.3, seed))
    assert found is not None
    assert found < VARIES


@pytest.mark.parametrize("passes", [2, 3, 4])
def test_dependence_is_found_under_noise(passes: int) -> None:
    dice = random.Random(2)
    costs = [dice.uniform(0.5, 1.5) for _ in range(1000)]
    found = varies(noisy(costs, passes, 0.05))
    # the standard deviation of a uniform distribution of width 1 is 0.289, and noise adds to the mean alone
    assert found == pytest.approx(0.289 / 1.05, rel=0.1)


def test_tuples_that_all_take_as_long_vary_by_nothing() -> None:
    assert varies([[1.0] * 100, [1.0] * 100]) == 0.0


@pytest.mark.parametrize("passes", [[[1.0, 2.0] * 50], [[1.0] * 9, [2.0] * 9], []])
def test_of_one_pass_or_of_few_tuples_nothing_is_said(passes: list[list[float]]) -> None:
    assert varies(passes) is None


def test_only_tuples_that_every_pass_had_are_compared() -> None:
    whole = [1.0, 3.0] * 100
    assert varies([whole, whole[:50]]) == pytest.approx(0.5, rel=0.03)
