"""A forecast's sums, and how sure it is of them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from pasps.control.decision_log import read, written
from pasps.control.forecaster import Forecaster, Prediction
from pasps.control.loop import LoopConfig, MapeLoop
from pasps.control.plan import BoltPlan, Plan
from pasps.control.policies import INTERVAL, Needs, Policy
from pasps.control.situation import INPUT, Forecast, PolicySettings, Situation
from pasps.errors import InvalidError, PredictorError
from pasps.testing import FakeClock
from tests.unit.control.situations import CHAIN, Bench, FakeActuator

SURE = Forecast(100.0, (10.0,) * 4, "m", quantiles={0.5: (10.0, 20.0, 30.0, 40.0), 0.9: (14.0, 26.0, 38.0, 50.0)})


def test_steps_may_be_of_any_length() -> None:
    halves = Forecast(100.0, (1.0, 2.0, 3.0, 4.0), "m", step_seconds=0.5)
    assert halves.total(100.0, 1.0) == 3.0
    assert halves.total(100.25, 1.0) == 0.5 + 2.0 + 1.5
    assert halves.total(100.0, 4.0) == 10.0 + 4 * 2.5
    assert (halves.mean, Forecast(0.0, (6.0,), "m", step_seconds=60.0).total(0.0, 10.0)) == ((1.0, 2.0, 3.0, 4.0), 1.0)


@pytest.mark.parametrize(("quantile", "seconds", "expected"), [(0.9, 1.0, 14.0), (0.9, 4.0, 50.0), (0.9, 0.5, 7.0), (0.5, 3.0, 30.0)])
def test_a_fresh_forecast_s_quantile_is_the_running_sum_s(quantile: float, seconds: float, expected: float) -> None:
    assert SURE.total_at(quantile, 100.0, seconds) == pytest.approx(expected)


def test_between_quantiles_it_is_on_the_line_and_outside_as_at_the_last() -> None:
    assert SURE.total_at(0.7, 100.0, 1.0) == pytest.approx(12.0)
    assert SURE.total_at(0.99, 100.0, 1.0) == pytest.approx(14.0)
    assert SURE.total_at(0.1, 100.0, 1.0) == pytest.approx(10.0)


def test_later_it_is_no_surer_than_a_sum_of_that_length_was() -> None:
    assert SURE.total_at(0.9, 102.0, 1.0) == pytest.approx(14.0), "10 and what one second was off"
    growing = Forecast(100.0, (10.0,) * 4, "m", quantiles={0.9: (11.0, 24.0, 39.0, 60.0)})
    assert growing.total_at(0.9, 103.0, 1.0) == pytest.approx(10 + 20 / 4), "a quarter of what four seconds are off"


def test_beyond_its_end_it_is_off_by_as_much_a_second_as_at_its_end() -> None:
    assert SURE.total_at(0.9, 100.0, 8.0) == pytest.approx(80 + 20)


def test_nobody_who_says_how_sure_it_is_means_what_is_expected_and_never_less_than_nothing() -> None:
    assert Forecast(100.0, (10.0,) * 4, "m").total_at(0.9, 100.0, 2.0) == 20.0
    assert Forecast(100.0, (), "m", quantiles={0.9: ()}).total_at(0.9, 100.0, 2.0) == 0.0
    assert Forecast(100.0, (1.0, 1.0), "m", quantiles={0.1: (0.0, 0.0)}).total_at(0.1, 101.5, 2.0) >= 0.0


# ---- a policy that needs them


SERIES = Needs(horizon_seconds=5.0, per_bolt_series=True, quantiles=(0.9,), warm_up=1.0)


def keeping(situation: Situation, options: object) -> Plan:
    return Plan({"a": BoltPlan(1, 1, 1, 1)}, situation.forecasts[INPUT].total_at(0.9, situation.interval.ended, 1.0))


class Many:
    """A ladder that writes down what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[dict[str, list[float]], float, tuple[float, ...]]] = []

    async def forecast(self, samples: Sequence[float], seconds: float, now: float) -> Forecast | None:
        raise AssertionError("it is to be asked for all series at once")

    async def forecast_series(
        self, series: Mapping[str, Sequence[float]], seconds: float, now: float, quantiles: Sequence[float]
    ) -> Mapping[str, Forecast]:
        self.asked.append(({name: list(samples) for name, samples in series.items()}, seconds, tuple(quantiles)))
        return {name: Forecast(now, (1.0,), "many", quantiles={0.9: (float(len(name) + 2),)}) for name in series}


def test_a_policy_gets_the_series_the_horizon_and_the_quantiles_that_it_needs() -> None:
    ladder = Many()
    bench = Bench(Policy("mine", "", keeping, needs=SERIES), ladder=ladder, interval_seconds=3.0)
    bench.run(8)
    series, seconds, quantiles = ladder.asked[-1]
    assert (series, seconds, quantiles) == ({INPUT: [10.0] * 6, "a": [10.0] * 6}, 5.0, (0.9,))
    record = read(written(bench.records[-1]))
    assert record.situation is not None
    assert {name: forecast.quantiles for name, forecast in record.situation.forecasts.items()} == {INPUT: {0.9: (2.0,)}, "a": {0.9: (3.0,)}}
    assert record.plan.input == 2.0


def test_the_horizon_says_how_much_is_asked_for() -> None:
    for horizon, expected in ((7.0, 7.0), (INTERVAL, 3.0)):
        bench = Bench(Policy("mine", "", keeping, needs=Needs(horizon_seconds=horizon, warm_up=1.0)), interval_seconds=3.0)
        bench.run(4)
        assert {seconds for _, seconds, _ in bench.forecasts.asked} == {expected}


def test_where_nobody_makes_them_that_is_said_at_once() -> None:
    class One:
        async def forecast(self, samples: Sequence[float], seconds: float, now: float) -> Forecast | None:
            return None

    config = LoopConfig(CHAIN, Policy("mine", "", keeping, needs=SERIES), PolicySettings(), lambda record: None)
    with pytest.raises(InvalidError, match="policy 'mine' needs forecasts of several series or quantiles; nobody here makes them"):
        MapeLoop(config, One(), FakeActuator(), FakeClock())


# ---- the ladder


class Predictor:
    """Of one series at a time; raises for a series that begins with what it does not like."""

    least_samples = None

    async def predict(self, samples: Sequence[float], horizon: int) -> tuple[float, ...]:
        if samples[0] < 0:
            raise PredictorError("it does not like that")
        return (samples[-1] + 1.0,) * horizon


class SeriesPredictor(Predictor):
    """Of all at once."""

    def __init__(self, **answer: Any) -> None:
        self.answer = answer

    async def predict_series(
        self, series: Mapping[str, Sequence[float]], horizon: int, quantiles: Sequence[float]
    ) -> Mapping[str, Prediction]:
        if "error" in self.answer:
            raise PredictorError(self.answer["error"])
        if "raises" in self.answer:
            raise self.answer["raises"]
        sums = self.answer.get("sums", {0.9: (3.0,) * horizon, 0.5: (4.0,) * horizon})
        return {name: Prediction((1.0,) * horizon, sums) for name in series if name not in self.answer.get("without", ())}


def found(predictor: Any, **series: list[float]) -> Mapping[str, Forecast]:
    ladder = Forecaster(predictor, "m", 1.0)
    given = {INPUT: [1.0, 2.0], **series}
    return asyncio.run(ladder.forecast_series(given, 2.0, 100.0, (0.5, 0.9)))


def test_a_predictor_of_one_series_is_asked_for_each_and_what_it_cannot_say_is_basic() -> None:
    made = found(Predictor(), a=[5.0], b=[-1.0, 8.0], c=[])
    assert {name: (forecast.source, forecast.predictions[0]) for name, forecast in made.items()} == {
        INPUT: ("predictor", 3.0), "a": ("predictor", 6.0), "b": ("basic", 0.0),
    }  # fmt: skip
    assert made["a"].quantiles == {}


def test_without_a_predictor_all_are_basic() -> None:
    assert {forecast.source for forecast in found(None, a=[5.0]).values()} == {"basic"}
    assert found(None, a=[])[INPUT].source == "basic"
    assert asyncio.run(Forecaster(None, "m", 1.0).forecast_series({INPUT: []}, 2.0, 100.0, ())) == {}


def test_a_predictor_of_many_is_asked_once_and_its_quantiles_never_cross() -> None:
    made = found(SeriesPredictor(), a=[5.0])
    assert made[INPUT].predictions[0] == made["a"].predictions[0] == 1.0
    assert [made["a"].quantiles[each][0] for each in (0.5, 0.9)] == [3.0, 4.0]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"error": "it is down"}, "it is down"),
        ({"raises": ValueError("not so")}, "the predictor's client failed: ValueError('not so')"),
        ({"without": {INPUT}}, "the predictor says nothing of the input"),
        ({"sums": {0.9: (1.0,)}}, "the predictor's quantile 0.9 is no"),
        ({"sums": {0.9: (float("nan"),) * 3}}, "the predictor's quantile 0.9 is no"),
    ],
)
def test_a_wrong_answer_of_many_goes_down_the_ladder(answer: dict[str, Any], said: str) -> None:
    made = found(SeriesPredictor(**answer), a=[5.0])
    assert {forecast.source for forecast in made.values()} == {"basic"}
    assert said in made[INPUT].why


def test_a_series_of_which_it_says_nothing_is_basic_and_says_so() -> None:
    made = found(SeriesPredictor(without={"a"}), a=[5.0])
    assert (made[INPUT].source, made["a"].source, made["a"].why) == ("predictor", "basic", "the predictor says nothing of this series")


def test_fewer_samples_than_the_model_needs_warn_nobody(caplog: pytest.LogCaptureFixture) -> None:
    predictor = SeriesPredictor(error="too few")
    predictor.least_samples = 5  # type: ignore[assignment]
    made = found(predictor, a=[5.0])
    assert made[INPUT].why == "the model 'm' needs 5 samples, there are 2"
    assert not caplog.records
