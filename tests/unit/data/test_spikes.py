"""Spikes that were planted are found with what they were planted with, and none that were not."""

from __future__ import annotations

import math

import hypothesis.strategies as st
import pytest
from hypothesis import example, given, settings

from pasps.data.arrays import Floats, np
from pasps.data.spikes import Spike, apart, find_spikes, noise_of
from pasps.spouts.synth import Traffic, rates


def planted(length: int, onset: int, rise: int, stay: int, fall: int, level: float, magnitude: float) -> Floats:
    """A level, and on it a straight rise, a plateau and a straight fall."""
    peak = level * magnitude
    up = level + (peak - level) * np.arange(1, rise + 1) / rise
    down = level + (peak - level) * np.arange(fall - 1, -1, -1) / fall
    values = np.full(length, level)
    values[onset : onset + rise + stay + fall] = np.concatenate((up, np.full(stay, peak), down))
    return values


@settings(max_examples=60)
@given(
    onset=st.integers(30, 150),
    rise=st.integers(1, 12),
    stay=st.integers(0, 6),
    fall=st.integers(2, 25),
    level=st.sampled_from((150.0, 4000.0)),
    magnitude=st.sampled_from((0.2, 0.4, 2.0, 3.0, 8.0)),
    seed=st.integers(0, 99),
)
@example(onset=30, rise=1, stay=0, fall=2, level=150.0, magnitude=0.2, seed=53)  # its only low row is much lower by noise
@example(onset=70, rise=10, stay=2, fall=9, level=4000.0, magnitude=0.2, seed=69)  # found from the middle of its fall
@example(onset=127, rise=8, stay=3, fall=22, level=4000.0, magnitude=0.4, seed=12)  # found until the middle of its way back
@example(onset=147, rise=12, stay=4, fall=25, level=4000.0, magnitude=0.4, seed=81)  # both
@example(onset=61, rise=12, stay=5, fall=3, level=4000.0, magnitude=0.4, seed=81)  # noise is a third of each step
def test_a_planted_spike_is_found(onset: int, rise: int, stay: int, fall: int, level: float, magnitude: float, seed: int) -> None:
    shape = planted(260, onset, rise, stay, fall, level, magnitude)
    noisy = np.maximum(0.0, shape + np.random.default_rng(seed).normal(0, 0.02, 260) * np.sqrt(shape * level))
    found = find_spikes(noisy, 100)
    assert len(found) == 1
    spike = found[0]
    assert spike.up == (magnitude > 1)
    assert abs(spike.onset - onset) <= 2 + rise // 4
    assert onset + rise - 2 <= spike.peak <= onset + rise + stay + 1
    plateau_end = onset + rise + stay
    back = plateau_end + int(np.argmax(np.abs(shape[plateau_end:] - level) <= 0.2 * abs(magnitude - 1) * level))
    assert abs(spike.end - back) <= 2
    assert spike.before == pytest.approx(level, rel=0.05)
    rows = noisy[onset : plateau_end + fall]
    assert spike.extreme == (rows.max() if spike.up else rows.min())
    assert spike.magnitude == pytest.approx(spike.extreme / level, rel=0.05)
    steepest = np.diff(noisy)[spike.onset - 1 : onset + rise + 1] / level
    assert spike.slope == pytest.approx(steepest.max() if spike.up else steepest.min(), rel=0.15)


@pytest.mark.parametrize("mean", [0.05, 0.5, 3, 30, 1000])
def test_a_poisson_process_has_no_spikes(mean: float) -> None:
    counts = np.random.default_rng(1).poisson(mean, 60_000).astype(float)
    assert find_spikes(counts, 1000) == []
    assert find_spikes(counts, 200, smooth_rows=5) == []


@pytest.mark.parametrize("counts", [[], [5.0], [7.0] * 200, [0.0] * 200, list(range(200)), [1.0] * 100 + [9.0] * 100])
def test_what_does_not_leave_its_level_and_come_back_has_none(counts: list[float]) -> None:
    assert find_spikes(np.array(counts, dtype=float), 50) == []


def test_the_spikes_of_synthetic_traffic_are_found_where_they_are() -> None:
    traffic = Traffic("spiky", steps=1200, mean=500, spikes=8, seed=5)
    smooth = np.array(rates(Traffic("spiky", steps=1200, mean=500, spikes=8, seed=5, noise=0)), dtype=float)
    found = find_spikes(np.array(rates(traffic), dtype=float), 150)
    assert len(found) == 8
    for spike in found:
        around = smooth[spike.onset : spike.end + 1]
        assert spike.extreme == pytest.approx(around.max() if spike.up else around.min(), rel=0.2)
        assert abs(math.log(spike.extreme / spike.before)) >= math.log(1.5)


def test_what_lies_between_two_spikes_is_none() -> None:
    shape = np.maximum(planted(300, 100, 3, 4, 3, 100.0, 5.0), planted(300, 150, 3, 4, 3, 100.0, 5.0))
    found = find_spikes(shape, 100)
    assert [spike.up for spike in found] == [True, True]


def test_a_spike_of_one_row_has_its_full_slope() -> None:
    counts = np.full(100, 50.0)
    counts[60] = 400.0
    (spike,) = find_spikes(counts, 20)
    assert (spike.onset, spike.peak, spike.magnitude, spike.slope) == (60, 60, 8.0, 7.0)


def test_a_spike_from_nothing_is_relative_to_one_event() -> None:
    counts = np.zeros(100)
    counts[50:55] = 40.0
    (spike,) = find_spikes(counts, 20)
    assert (spike.before, spike.magnitude) == (0.0, 40.0)


def test_a_fall_to_nothing_is_found() -> None:
    counts = np.full(100, 40.0)
    counts[50:60] = 0.0
    (spike,) = find_spikes(counts, 30)
    assert (spike.onset, spike.up, spike.magnitude, spike.slope) == (50, False, 0.0, -1.0)


def test_longer_spikes_than_wanted_are_left_out() -> None:
    shape = planted(400, 100, 30, 0, 60, 100.0, 4.0)
    assert len(find_spikes(shape, 100)) == 1
    assert find_spikes(shape, 40) == []


def test_smaller_ones_than_wanted_are_left_out() -> None:
    shape = planted(300, 100, 5, 3, 5, 1000.0, 2.0)
    assert len(find_spikes(shape, 100, least_magnitude=1.9)) == 1
    assert find_spikes(shape, 100, least_magnitude=2.1) == []


def test_smoothed_spikes_are_measured_as_they_are_then() -> None:
    counts = np.full(100, 90.0)
    counts[60] = 990.0
    (spike,) = find_spikes(counts, 30, smooth_rows=9)
    assert spike.magnitude == pytest.approx(190 / 90)


def test_a_spike_in_a_later_block_has_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    shape = np.maximum(planted(4000, 1020, 5, 3, 9, 200.0, 4.0), planted(4000, 3000, 5, 3, 9, 200.0, 4.0))
    whole = find_spikes(shape, 60)
    monkeypatch.setattr("pasps.data.spikes._BLOCK", 512)
    assert find_spikes(shape, 60) == whole
    assert [abs(spike.onset - onset) <= 2 for spike, onset in zip(whole, (1020, 3000), strict=True)] == [True, True]


def test_of_those_that_overlap_the_larger_is_taken() -> None:
    small, large, other = (
        Spike(onset, onset, end, 10.0, extreme, 1.0) for onset, end, extreme in ((0, 10, 20.0), (8, 20, 90.0), (21, 30, 15.0))
    )
    assert apart([small, other, large]) == [large, other]


def test_a_spike_down_is_as_large_as_the_same_one_up() -> None:
    up, down = Spike(0, 1, 2, 10.0, 30.0, 2.0), Spike(0, 1, 2, 30.0, 10.0, -0.7)
    assert up.size == down.size


def test_noise_is_half_an_event_in_square_roots_for_poisson() -> None:
    assert noise_of(np.random.default_rng(2).poisson(400, 20_000).astype(float)) == pytest.approx(0.5, rel=0.05)
    assert noise_of(np.full(100, 7.0)) == 0.5
    assert noise_of(np.array([3.0])) == 0.5
