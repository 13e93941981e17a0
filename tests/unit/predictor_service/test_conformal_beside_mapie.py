"""The quantiles beside those of MAPIE's time series regressor; runs where MAPIE is installed, which the project does not need."""

from __future__ import annotations

import math
import random

import pytest

from predictor_service.conformal import Track, offsets
from predictor_service.online import Smoothed

np = pytest.importorskip("numpy")
linear_model = pytest.importorskip("sklearn.linear_model")
regression = pytest.importorskip("mapie.regression", reason="MAPIE is not installed: pip install mapie, in an environment of its own")

LEARN, JUDGE = 500, 400
SERIES = {
    "noise": lambda source, step: 200 + 30 * source.gauss(0, 1),
    "wave": lambda source, step: 300 + 100 * math.sin(step / 60) + 20 * source.gauss(0, 1),
    "bursts": lambda source, step: 100 + 20 * source.expovariate(1),
}


def levels_before(samples: list[float]) -> list[float]:
    """What simple smoothing expects of each sample but the first, one step ahead: all that either method is told."""
    line = Smoothed(0.2)
    expected = []
    for sample in samples[:-1]:
        line.update(sample)
        expected.append(line.level)
    return expected


def ours(samples: list[float], low: float, high: float) -> list[tuple[float, float]]:
    track, said = Track(Smoothed(0.2), [1]), []
    for place, sample in enumerate(samples[:-1]):
        track.update(sample)
        if place + 1 >= LEARN:
            below, above = offsets(track.errors()[1], (low, high), 1)
            said.append((track.model.total(1) + below, track.model.total(1) + above))
    return said


def theirs(samples: list[float], confidence: float) -> list[tuple[float, float]]:
    """MAPIE's adaptive intervals: it is told each sample after it has said what it expects of it."""
    inputs, outputs = np.array(levels_before(samples)).reshape(-1, 1), np.array(samples[1:])
    known = LEARN - 1
    model = regression.TimeSeriesRegressor(linear_model.LinearRegression(), method="aci", cv=5)
    model.fit(inputs[:known], outputs[:known])
    said = []
    for place in range(known, len(outputs)):
        _, interval = model.predict(inputs[place : place + 1], confidence_level=confidence, ensemble=False)
        said.append((float(interval[0, 0, 0]), float(interval[0, 1, 0])))
        model.adapt_conformal_inference(inputs[place : place + 1], outputs[place : place + 1], gamma=0.01, confidence_level=confidence)
        model.update(inputs[place : place + 1], outputs[place : place + 1], ensemble=False)
    return said


def judged(said: list[tuple[float, float]], samples: list[float]) -> tuple[float, float]:
    """The share that lay within, and the mean width."""
    came = samples[LEARN:]
    inside = [low <= sample <= high for (low, high), sample in zip(said, came, strict=True)]
    return sum(inside) / len(inside), sum(high - low for low, high in said) / len(said)


@pytest.mark.filterwarnings("ignore::UserWarning")  # MAPIE's, of its own arguments
@pytest.mark.parametrize("name", SERIES)
@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.95])
def test_ours_cover_as_much_as_theirs_with_intervals_of_their_width(name: str, confidence: float) -> None:
    source = random.Random(5)
    samples = [SERIES[name](source, step) for step in range(LEARN + JUDGE)]
    share, width = judged(ours(samples, (1 - confidence) / 2, (1 + confidence) / 2), samples)
    their_share, their_width = judged(theirs(samples, confidence), samples)
    assert share == pytest.approx(confidence, abs=0.06)
    assert their_share == pytest.approx(confidence, abs=0.06)
    assert width < 1.25 * their_width, f"ours {width:.1f}, theirs {their_width:.1f}"
