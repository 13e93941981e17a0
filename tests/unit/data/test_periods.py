"""Periods that are there are found, others are not."""

from __future__ import annotations

from collections.abc import Callable

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from pasps.data.arrays import Floats, np
from pasps.data.periods import CHANCE, correlation, find_periods, levelled
from pasps.spouts.synth import Traffic, rates

Noise = Callable[[np.random.Generator, int], Floats]


@settings(max_examples=30)
@given(
    period=st.floats(5, 90),
    cycles=st.integers(12, 30),
    share=st.sampled_from((0.3, 0.6)),
    shape=st.sampled_from(("sine", "day")),
    seed=st.integers(0, 99),
)
def test_a_planted_period_is_found(period: float, cycles: int, share: float, shape: str, seed: int) -> None:
    at = np.arange(round(period * cycles)) / period % 1.0
    wave = np.sin(2 * np.pi * at) if shape == "sine" else np.where(at < 0.4, 1.0, -1.0)
    counts = np.random.default_rng(seed).poisson(300 * (1 + share * wave)).astype(float)
    found = find_periods(counts)
    assert found
    assert found[0].rows == pytest.approx(period, rel=0.05)
    assert found[0].chance < CHANCE
    assert found[0].correlation > 0.3


def white(generator: np.random.Generator, rows: int) -> Floats:
    return generator.poisson(100, rows).astype(float)


def sparse(generator: np.random.Generator, rows: int) -> Floats:
    return generator.poisson(0.1, rows).astype(float)


def bursts(generator: np.random.Generator, rows: int) -> Floats:
    return generator.poisson(20 + 500 * (generator.random(rows) < 0.02)).astype(float)


def red(generator: np.random.Generator, rows: int) -> Floats:
    level = np.zeros(rows)
    for place in range(1, rows):
        level[place] = 0.95 * level[place - 1] + generator.normal(0, 0.1)
    return generator.poisson(200 * np.exp(level)).astype(float)


@pytest.mark.parametrize("noise", [white, sparse, bursts, red])
def test_noise_has_no_period(noise: Noise) -> None:
    generator = np.random.default_rng(7)
    assert [find_periods(noise(generator, 500)) for _ in range(20)] == [[]] * 20


def test_a_trend_is_no_period() -> None:
    assert find_periods(np.arange(1000.0)) == []
    assert find_periods(np.random.default_rng(1).poisson(np.linspace(10, 500, 1000)).astype(float)) == []


@pytest.mark.parametrize("counts", [[], [5.0], [0.0] * 100, [7.0] * 100, [0.1] * 100, [1.0, 2.0] * 5, [0.0] * 99 + [1.0]])
def test_what_is_too_short_or_does_not_vary_has_none(counts: list[float]) -> None:
    assert find_periods(np.array(counts)) == []


def test_every_other_row_is_a_period_of_two() -> None:
    (found,) = find_periods(np.array([1.0, 9.0] * 100))
    assert found.rows == pytest.approx(2.0, rel=0.01)


def test_a_fraction_of_a_period_is_none() -> None:
    at = np.arange(2000) % 100
    counts = np.random.default_rng(3).poisson(np.where(at < 10, 900, 100)).astype(float)  # with overtones of 50, 33, 25 ...
    assert [round(period.rows) for period in find_periods(counts)] == [100]


def test_days_and_weeks_are_both_found() -> None:
    hour = np.arange(24 * 7 * 8)
    weekend = np.where(hour // 24 % 7 >= 5, 0.4, 1.0)
    counts = np.random.default_rng(4).poisson(500 * weekend * (1.2 + np.sin(2 * np.pi * hour / 24))).astype(float)
    assert {24, 168} <= {round(period.rows) for period in find_periods(counts)}


def test_days_of_synthetic_traffic_are_found() -> None:
    found = find_periods(np.array(rates(Traffic("diurnal", steps=2016, period=288)), dtype=float))
    assert [round(period.rows / 288, 1) for period in found] == [1.0]


def test_two_cycles_are_not_enough() -> None:
    assert find_periods(np.sin(np.arange(200) * 2 * np.pi / 100) * 50 + 100) == []


def test_correlation_of_a_series_with_itself() -> None:
    values = levelled(np.array([0.0, 4.0] * 50))
    assert correlation(values, 1) == pytest.approx(-1.0, abs=0.05)
    assert correlation(values, 2) == pytest.approx(1.0, abs=0.05)
    assert correlation(values, 100) == 0.0
    assert correlation(np.zeros(10), 1) == 0.0
