"""AutoETS and AutoARIMA; runs where statsforecast is installed (pip install 'pasps[statsforecast]'), which the tests do not need."""

from __future__ import annotations

import math
import random

import pytest

from predictor_service.forecast import forecast, past_forecasts
from predictor_service.registry import builtin_models
from predictor_service.searched import NEWEST
from predictor_service.sums import forecast_sums

pytest.importorskip("statsforecast", reason="statsforecast is not installed: pip install 'pasps[statsforecast]'")
pytestmark = pytest.mark.filterwarnings("ignore")  # of pandas and numpy, at its import

NAMES = ("autoets", "autoarima")


def wave(count: int = 300) -> list[float]:
    noise = random.Random(1)
    return [100 + 40 * math.sin(step / 30) + noise.gauss(0, 3) for step in range(count)]


@pytest.mark.parametrize("name", NAMES)
def test_it_follows_a_wave(name: str) -> None:
    samples = wave(320)
    said = forecast(builtin_models()[name], samples[:300], 20, 1.0)
    assert sum(said.predictions) == pytest.approx(sum(samples[300:]), rel=0.35)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_samples_give_the_same_answer(name: str) -> None:
    model = builtin_models()[name]
    assert forecast(model, wave(), 20, 1.0).predictions == forecast(model, wave(), 20, 1.0).predictions


@pytest.mark.parametrize("name", NAMES)
def test_at_the_first_origin_the_past_is_what_a_fit_would_have_said(name: str) -> None:
    model, samples = builtin_models()[name], wave()
    (then, later) = past_forecasts(model, samples, [150, 200], 5, 1.0)
    assert then == pytest.approx(forecast(model, samples[:150], 5, 1.0).predictions, rel=1e-6)
    assert later == pytest.approx(samples[200:205], rel=0.2)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "samples", [[1.0] * 11 + [2.0], [0.0] * 100 + [50.0], [1.0, 1e15] * 20, wave(3 * NEWEST)], ids=["few", "jump", "huge", "many"]
)
def test_odd_samples_are_answered_with_quantiles(name: str, samples: list[float]) -> None:
    made = forecast_sums(builtin_models()[name], samples, 10, 1.0, [0.1, 0.9])
    low, high = made.cumulative_quantiles
    assert all(0 <= one <= two < math.inf for one, two in zip(low, high, strict=True))
