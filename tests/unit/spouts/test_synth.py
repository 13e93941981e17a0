"""Traffic from parameters and a seed."""

from __future__ import annotations

import ast
import hashlib
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from pasps.errors import InvalidError
from pasps.spouts import synth
from pasps.spouts.synth import KINDS, Kind, Traffic, rates

kinds = st.sampled_from(KINDS)
traffics = st.builds(
    Traffic,
    kind=kinds,
    steps=st.integers(1, 400),
    mean=st.floats(0.1, 5000),
    seed=st.integers(0, 2**40),
    noise=st.sampled_from((0.0, 0.05, 0.4)),
)


@given(traffics)
def test_the_same_traffic_has_the_same_rates(traffic: Traffic) -> None:
    assert rates(traffic) == rates(replace(traffic))


@given(traffics)
def test_the_mean_is_exact_to_less_than_an_event_in_all(traffic: Traffic) -> None:
    found = rates(traffic)
    assert len(found) == traffic.steps
    assert min(found) >= 0
    assert abs(sum(found) - traffic.mean * traffic.steps) < 1 + 1e-6 * traffic.mean * traffic.steps


@given(kinds, st.integers(100, 400), st.floats(10, 1000), st.integers(2, 3), st.integers(0, 1000), st.sampled_from((0.02, 0.2)))
def test_a_peak_is_reached_exactly_and_the_mean_stays(kind: Kind, steps: int, mean: float, times: int, seed: int, noise: float) -> None:
    peak = round(times * mean)
    found = rates(Traffic(kind, steps, mean, peak, seed, noise))
    assert max(found) == peak
    assert min(found) >= 0
    assert abs(sum(found) - mean * steps) < 1 + 1e-6 * mean * steps


def test_without_noise_steady_traffic_is_one_rate() -> None:
    assert rates(Traffic("steady", steps=5, mean=7, noise=0)) == [7] * 5


def test_a_rate_below_one_is_spread_over_the_steps() -> None:
    found = rates(Traffic("steady", steps=1000, mean=0.25, noise=0))
    assert sum(found) == 250
    assert set(found) == {0, 1}
    assert sum(found[:100]) == 25


def test_noise_is_that_of_a_poisson_process_at_any_rate() -> None:
    found = rates(Traffic("progressive", steps=20_000, mean=400, noise=0.05))
    for part in (found[:3_000], found[9_500:12_500]):  # before the increase, and on the plateau
        mean = sum(part) / len(part)
        variance = sum((count - mean) ** 2 for count in part) / len(part)
        assert variance / mean == pytest.approx(0.05**2 * 400, rel=0.1)


@pytest.mark.parametrize("kind", KINDS)
def test_seeds_differ(kind: Kind) -> None:
    assert rates(Traffic(kind, seed=1)) != rates(Traffic(kind, seed=2))


def test_diurnal_traffic_repeats_itself_every_period() -> None:
    found = rates(Traffic("diurnal", steps=960, period=96, noise=0))
    highs = [max(range(day * 96, day * 96 + 96), key=lambda step: found[step]) for day in range(10)]
    assert all(abs(high % 96 - 0.6 * 96) <= 3 for high in highs)


def test_progressive_traffic_goes_up_stays_and_comes_down() -> None:
    found = rates(Traffic("progressive", steps=100, mean=1e6, noise=0))
    found = [count // 10 for count in found]  # rounding may move an event to the next step
    assert found[:46] == sorted(found[:46])
    assert found[64:] == sorted(found[64:], reverse=True)
    assert max(found[:20]) < min(found[46:64]) / 3
    assert max(found[46:64]) - min(found[46:64]) <= 1


def test_erratic_traffic_jumps_and_its_last_increase_stays() -> None:
    found = rates(Traffic("erratic", steps=600, mean=1000, noise=0))
    jumps = [step for step in range(1, 600) if found[step] > 1.9 * found[step - 1]]
    assert len(jumps) == 8  # one in 75 steps
    assert jumps[-1] == 420
    assert max(found[420:540]) - min(found[420:540]) <= 1
    assert max(found[540:]) < found[420] / 3


def test_spiky_traffic_has_as_many_spikes_as_are_wanted() -> None:
    found = rates(Traffic("spiky", steps=600, mean=1000, noise=0, spikes=4, down=0))
    tall = [step for step in range(1, 599) if found[step - 1] < found[step] >= found[step + 1] and found[step] > 1200]
    assert len(tall) == 4
    flat = rates(Traffic("spiky", steps=600, mean=1000, noise=0, spikes=0))
    assert max(flat) < 1.4 * min(flat)


def test_spiky_traffic_with_down_spikes_only_begins_with_one_up() -> None:
    found = rates(Traffic("spiky", steps=600, mean=1000, noise=0, spikes=4, down=1))
    assert max(found[:150]) > 1.5 * max(found[150:])
    assert min(found[150:]) < 0.7 * max(found[150:])


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"kind": "flat"}, "expected a kind of steady, diurnal"),
        ({"steps": 0}, "steps must be"),
        ({"mean": 0}, "mean must be a number above 0, got 0"),
        ({"mean": float("inf")}, "mean"),
        ({"seed": -1}, "seed must be"),
        ({"noise": -0.1}, "noise must be"),
        ({"period": 1}, "period must be a whole number of at least 2"),
        ({"spikes": -1}, "spikes must be"),
        ({"down": 2}, "down must be a share"),
        ({"peak": 99}, "peak must be a whole number, not below the mean of 100, got 99"),
        ({"peak": 200.5}, "peak must be a whole number"),
    ],
)
def test_what_cannot_be_is_refused(values: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidError, match=said):
        Traffic(**{"kind": "steady", **values})


@pytest.mark.parametrize(
    ("traffic", "said"),
    [
        (Traffic("steady", noise=0, peak=200), "without ups and downs has no peak but its mean of 100, got 200"),
        (Traffic("spiky", steps=1, peak=200), "without ups and downs"),
        (Traffic("progressive", mean=10, peak=1000), "cannot have a peak of 1000 and a mean of 10; lower the peak or raise the mean"),
    ],
)
def test_a_mean_too_low_for_its_peak_is_refused(traffic: Traffic, said: str) -> None:
    with pytest.raises(InvalidError, match=said):
        rates(traffic)


def test_a_peak_that_is_the_mean_makes_it_flat() -> None:
    assert rates(Traffic("spiky", steps=4, mean=7, peak=7)) == [7, 7, 7, 7]


def test_these_are_the_rates_of_every_machine_and_python() -> None:
    digests = {kind: hashlib.sha256(repr(rates(Traffic(kind, mean=200, peak=800, seed=3))).encode()).hexdigest()[:12] for kind in KINDS}
    assert digests == {
        "steady": "0570b8950834",
        "diurnal": "6c4b00e690c0",
        "spiky": "d37bdaa68329",
        "erratic": "14e2fd6fcc1e",
        "progressive": "4eab831d57c4",
    }


def test_only_the_standard_library_is_imported() -> None:
    tree = ast.parse(Path(synth.__file__).read_text())
    modules = {node.module.partition(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    modules |= {alias.name.partition(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert modules - {"pasps"} <= sys.stdlib_module_names


def test_no_function_is_used_whose_last_digit_differs_between_machines() -> None:
    used = {node.attr for node in ast.walk(ast.parse(Path(synth.__file__).read_text())) if isinstance(node, ast.Attribute)}
    assert used.isdisjoint({"sin", "cos", "exp", "log", "pow", "gauss", "choice", "shuffle", "randrange", "expovariate"})
