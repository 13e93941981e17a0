"""Training, from rows to an artifact: what is refused, what repeats, and that the later parts of a trace stay unseen."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from predictor_service.errors import TrainingError
from predictor_service.trained.artifact import Artifact, _arrays, form_of
from predictor_service.trained.learning import Course
from predictor_service.trained.manifest import MODELS
from predictor_service.trained.serving import trained_forecast
from predictor_service.trained.training import LEVELS, Plan, Trained, train
from tests.unit.predictor_service.artifact_builder import HORIZON, WINDOW, toy, toy_plan, toy_rows


def silent(text: str) -> None:
    pass


def made(rows: Any = None, model: str = "gru", **fields: Any) -> Trained:
    return train(toy_rows() if rows is None else rows, 1.0, "toy.csv", toy_plan(model, **fields), silent)


def artifact(found: Trained) -> Artifact:
    return Artifact("toy", found.manifest, _arrays(found.weights, form_of(found.manifest).shapes()))


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"model": "transformer"}, "--model transformer: expected one of arima, svr, lstm, gru, bilstm, bigru"),
    ({"window": 1}, "--window 1: expected 2 to 2000"),
    ({"horizon": 1_001}, "--horizon 1001: expected 1 to 1000"),
    ({"units": 513}, "--units 513: expected 1 to 512"),
    ({"layers": 5}, "--layers 5: expected 1 to 4"),
    ({"seed": -1}, "--seed -1: expected 0 to"),
    ({"shares": (4.0, 0.0, 1.0)}, "--split 4:0:1: expected three numbers above 0, such as 4:1:1"),
    ({"shares": (4.0, math.nan, 1.0)}, "--split 4:nan:1: expected three numbers above 0"),
    ({"shares": (4.0, math.inf, 1.0)}, "--split 4:inf:1: expected three numbers above 0"),
    ({"course": Course(learning_rate=0.0)}, "--learning-rate 0: expected a number above 0 and at most 1"),
    ({"course": Course(learning_rate=math.nan)}, "--learning-rate nan"),
    ({"course": Course(epochs=0)}, "--epochs 0: expected 1 to"),
]


@pytest.mark.parametrize(("fields", "told"), WRONG, ids=[told for _, told in WRONG])
def test_a_plan_that_makes_no_sense_is_refused(fields: dict[str, Any], told: str) -> None:
    with pytest.raises(TrainingError) as raised:
        toy_plan(**{"model": "gru", **fields})
    assert told in str(raised.value)


def test_a_trace_that_is_too_short_is_refused_with_what_to_do() -> None:
    with pytest.raises(TrainingError, match=r"the trace is too short: .*use a longer trace, or a smaller --window or --horizon"):
        made(toy_rows()[:60])


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([5.0] * 240, "all its 160 rows are 5"),
        ([*toy_rows()[:100], math.nan, *toy_rows()[:139]], r"expected counts: numbers from 0 to 1e\+15"),
        ([*toy_rows()[:100], -1.0, *toy_rows()[:139]], r"expected counts: numbers from 0 to 1e\+15"),
        ([*toy_rows()[:100], 1e16, *toy_rows()[:139]], r"expected counts: numbers from 0 to 1e\+15"),
        ([1.0, 2.0] * 500_001, "has 1,000,002 rows, at most 1,000,000 are learned from; choose some with --rows"),
    ],
    ids=["constant", "NaN", "negative", "too large", "long"],
)
def test_rows_that_teach_nothing_are_refused(rows: list[float], told: str) -> None:
    with pytest.raises(TrainingError, match=told):
        made(rows)


def test_more_than_memory_holds_is_refused() -> None:
    with pytest.raises(TrainingError, match=r"300,000 rows with a horizon of 1000 take more memory than is given"):
        made([1.0, 2.0] * 150_000, horizon=1_000)


@pytest.mark.parametrize("model", MODELS)
def test_the_same_seed_gives_the_same_artifact(model: str) -> None:
    assert made(model=model) == toy(model)


def test_another_seed_gives_another_network() -> None:
    assert made(seed=2).weights != toy("gru").weights


@pytest.mark.parametrize("model", MODELS)
def test_what_is_learned_and_how_it_is_scaled_knows_nothing_of_the_test_part(model: str) -> None:
    rows = list(toy_rows())
    other = made([*rows[:200], *[3 * row for row in rows[200:]]], model=model)
    assert other.weights == toy(model).weights
    assert other.manifest.scaler == toy(model).manifest.scaler
    assert other.manifest.residuals == toy(model).manifest.residuals
    assert other.manifest.metrics.validation == toy(model).manifest.metrics.validation
    assert other.manifest.metrics.test != toy(model).manifest.metrics.test


def test_the_scale_knows_nothing_of_the_validation_part() -> None:
    rows = list(toy_rows())
    assert made([*rows[:160], *[3 * row for row in rows[160:]]]).manifest.scaler == toy("gru").manifest.scaler


def test_it_says_how_it_goes_on() -> None:
    heard: list[str] = []
    train(toy_rows(), 1.0, "toy.csv", toy_plan("bigru"), heard.append)
    assert heard[0] == "bigru: 240 rows of 1 s: 160 to train, 40 to validate, 40 to test; from 8 samples to 3 steps"
    assert [line.partition(":")[0] for line in heard[1:]] == ["epoch 1 of 3", "epoch 2 of 3", "epoch 3 of 3"]


@pytest.mark.parametrize("model", MODELS)
def test_errors_are_told_on_both_scales_beside_as_now(model: str) -> None:
    manifest = toy(model).manifest
    unit = (manifest.scaler.high - manifest.scaler.low) / manifest.scaler.deviation
    for metrics in (manifest.metrics.validation, manifest.metrics.test, manifest.metrics.naive_test):
        assert metrics.mae <= metrics.rmse
        assert metrics.z_rmse == pytest.approx(metrics.rmse * unit)
        assert metrics.z_mae == pytest.approx(metrics.mae * unit)
    rows, test_rows = toy_rows(), 40
    apart = [rows[at + ahead] - rows[at - 1] for at in range(240 - test_rows, 240 - HORIZON + 1) for ahead in range(HORIZON)]
    expected = math.sqrt(sum(value**2 for value in apart) / len(apart)) / manifest.scaler.deviation
    assert manifest.metrics.naive_test.z_rmse == pytest.approx(expected, rel=1e-4)


def test_a_load_that_grows_beyond_all_that_was_learned_can_be_judged() -> None:
    rows = [*(5.0 + step % 7 * 1e-6 for step in range(160)), *[1e15] * 40, *(1e15 - step % 7 for step in range(40))]
    assert made(rows, model="arima").manifest.metrics.validation.z_rmse > 1e15


def test_models_that_suit_are_better_than_as_now() -> None:
    for model in ("arima", "svr"):
        metrics = toy(model).manifest.metrics
        assert metrics.test.rmse < 0.6 * metrics.naive_test.rmse


def noisy(count: int) -> list[float]:
    source = random.Random(7)
    return [100 + source.gauss(0, 10) for _ in range(count)]


def test_intervals_cover_what_they_promise() -> None:
    found = made(noisy(3_000), model="arima")
    assert found.manifest.metrics.test.covered == pytest.approx(0.8, abs=0.06)
    assert found.manifest.residuals.levels == list(LEVELS)
    assert found.manifest.residuals.horizons == [1, 2, 3]


def test_quantiles_of_the_sum_lie_around_the_mean_and_grow() -> None:
    found = artifact(made(noisy(3_000), model="arima"))
    forecast = trained_forecast(found, noisy(50), HORIZON, 1.0, [0.9, 0.1, 0.5])
    high, low, middle = forecast.cumulative_quantiles
    assert all(one < two < three for one, two, three in zip(low, middle, high, strict=True))
    assert high[0] - low[0] == pytest.approx(2 * 1.28 * 10, rel=0.15)
    assert high[2] - low[2] == pytest.approx(2 * 1.28 * 10 * math.sqrt(3), rel=0.15)


def test_a_level_between_two_that_are_kept_lies_between_them() -> None:
    found = artifact(made(noisy(3_000), model="arima"))
    levels = [0.001, 0.005, 0.11, 0.1, 0.15, 0.995, 0.9999]
    at = [line[0] for line in trained_forecast(found, noisy(50), 1, 1.0, levels).cumulative_quantiles]
    least, kept_least, between, below, above, kept_most, most = at
    assert least == kept_least
    assert most == kept_most
    assert between == pytest.approx(below + 0.2 * (above - below))


def test_beyond_its_horizon_it_goes_on_from_its_own_forecasts() -> None:
    found, samples = artifact(toy("arima")), list(toy_rows()[-WINDOW:])
    once = trained_forecast(found, samples, HORIZON, 1.0, [0.9])
    further = trained_forecast(found, samples, 2 * HORIZON + 1, 1.0, [0.9])
    assert once.warnings == []
    assert further.warnings == ["beyond 3 steps it goes on from its own forecasts, and quantiles are stretched"]
    assert further.predictions[:HORIZON] == once.predictions
    again = trained_forecast(found, [*samples, *once.predictions], HORIZON, 1.0, None)
    assert further.predictions[HORIZON : 2 * HORIZON] == pytest.approx(again.predictions, rel=1e-5)
    assert further.cumulative_quantiles[0][:HORIZON] == pytest.approx(once.cumulative_quantiles[0])


def test_only_the_window_counts() -> None:
    found, samples = artifact(toy("bigru")), list(toy_rows()[-WINDOW:])
    assert trained_forecast(found, [1e6, *samples], 3, 1.0, None).predictions == trained_forecast(found, samples, 3, 1.0, None).predictions


def test_samples_far_above_what_it_learned_from_are_worth_a_warning() -> None:
    found, samples = artifact(toy("gru")), [10 * row for row in toy_rows()[-WINDOW:]]
    (warning,) = trained_forecast(found, samples, 3, 1.0, None).warnings
    assert "times the most that was learned from" in warning


@pytest.mark.parametrize("model", MODELS)
def test_promises_of_every_model_hold_for_trained_ones(model: str) -> None:
    found = artifact(toy(model))
    steady = trained_forecast(found, [7.0] * WINDOW, 5, 1.0, [0.1, 0.9])
    assert steady.predictions == [7.0] * 5
    assert steady.cumulative_quantiles == [[7.0, 14.0, 21.0, 28.0, 35.0]] * 2
    for samples in ([0.0] * (WINDOW - 1) + [1e15], [1e15] * (WINDOW - 1) + [0.0], [-50.0, 60.0] * (WINDOW // 2)):
        forecast = trained_forecast(found, samples, 10, 1.0, [0.01, 0.99])
        assert all(math.isfinite(value) and value >= 0 for value in forecast.predictions)
        low, high = forecast.cumulative_quantiles
        assert all(0 <= one <= two for one, two in zip(low, high, strict=True))
        assert low == sorted(low)
        assert high == sorted(high)


def test_the_usual_plan_is_one_that_a_control_loop_can_ask() -> None:
    plan = Plan("bigru")
    assert plan.window <= 100
    assert plan.horizon >= 30 + 5
