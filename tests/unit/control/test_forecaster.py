from __future__ import annotations

import asyncio
import logging
import math
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pytest

from pasps.control.forecaster import MOST_EVENTS, Forecaster, basic_predictions
from pasps.control.situation import Forecast
from pasps.errors import InvalidError, PredictorError
from pasps.testing import FakeClock

SAMPLES = (3.0, 4.0, 5.0, 6.0)
HORIZON = 3
GOOD = (10.0, 11.0, 12.0)
BASIC = (4.0, 5.0, 6.0)
LATE = object()
"""In a script: no answer, ever."""
STUBBORN = object()
"""In a script: no answer, and it cannot be cancelled either."""


class ScriptedPredictor:
    """Answers with what the script says next: values, an error to raise, LATE or STUBBORN; the last one again and again."""

    def __init__(self, *script: Any, least_samples: int | None = None, learns: int | None = None) -> None:
        self.script = list(script)
        self.least_samples = least_samples
        self.learns = learns
        self.asked: list[tuple[tuple[float, ...], int]] = []
        self.cancelled = 0
        self.asking, self.release = asyncio.Event(), asyncio.Event()

    async def predict(self, samples: Sequence[float], horizon: int) -> Any:
        self.asked.append((tuple(samples), horizon))
        self.asking.set()
        answer = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if self.learns is not None:
            self.least_samples = self.learns
        if answer is LATE:
            await self._wait_forever()
        if answer is STUBBORN:
            while not self.release.is_set():
                try:
                    await self.release.wait()
                except asyncio.CancelledError:
                    self.cancelled += 1
            return GOOD
        if isinstance(answer, BaseException):
            raise answer
        return answer

    async def _wait_forever(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled += 1


class Cycles:
    """A forecaster called once a second of a clock that stands still."""

    def __init__(self, runner: asyncio.Runner, *script: Any, model: str = "ann", **options: Any) -> None:
        self.predictor = ScriptedPredictor(*script, **options)
        self.forecaster = Forecaster(self.predictor if script else None, model, deadline_seconds=0.0)
        self.clock = FakeClock()
        self._runner = runner

    def next(self, samples: Sequence[float] = SAMPLES, horizon: int = HORIZON, after: float = 1.0) -> Forecast:
        self.clock.advance(after)
        found = self._runner.run(self.forecaster.forecast(samples, horizon, self.clock.now()))
        assert found is not None
        return found

    def turn(self) -> None:
        """Lets what is ready to run do so."""
        self._runner.run(asyncio.sleep(0))

    def sources(self, count: int) -> list[str]:
        return [self.next().source for _ in range(count)]


Make = Callable[..., Cycles]


@pytest.fixture
def make() -> Iterator[Make]:
    with asyncio.Runner() as runner:
        yield partial(Cycles, runner)


@pytest.fixture(autouse=True)
def _debug(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "pasps.control.forecaster")


def said(caplog: pytest.LogCaptureFixture, level: int = logging.WARNING) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == level]


FAILURES: dict[str, tuple[Any, str]] = {
    "late": (LATE, "did not answer within 0 s"),
    "its own words": (PredictorError("the predictor at X refused the connection"), "the predictor at X refused the connection"),
    "too short": ((1.0, 2.0), "answered with 2 predictions, expected 3"),
    "too long": ((1.0,) * 4, "answered with 4 predictions, expected 3"),
    "empty": ((), "answered with 0 predictions, expected 3"),
    "NaN": ((1.0, math.nan, 2.0), "prediction 1 is nan"),
    "infinite": ((1.0, 2.0, math.inf), "prediction 2 is inf"),
    "minus infinite": ((-math.inf, 2.0, 1.0), "prediction 0 is -inf"),
    "absurd": ((1.0, 2.0, 2 * MOST_EVENTS), "prediction 2 is 2000000000000000"),
    "text": (("1", 2.0, 3.0), "prediction 0 is '1', expected a number"),
    "none": ((None, 2.0, 3.0), "prediction 0 is None, expected a number"),
    "truth": ((True, 2.0, 3.0), "prediction 0 is True, expected a number"),
    "a mistake of the client": (RuntimeError("oh"), r"client failed: RuntimeError\('oh'\)"),
    "cancelled by itself": (asyncio.CancelledError(), "gave its request up"),
}


@pytest.mark.parametrize(("answer", "reason"), FAILURES.values(), ids=FAILURES)
def test_each_failure_goes_one_rung_down_and_says_why_once(make: Make, answer: Any, reason: str, caplog: pytest.LogCaptureFixture) -> None:
    cycles = make(GOOD, answer)
    good = cycles.next()
    assert good == Forecast(1001.0, GOOD, "ann")
    for _ in range(3):
        fallen = cycles.next()
        assert (fallen.source, fallen.predictions, fallen.made_at, fallen.model) == ("last good", GOOD, 1001.0, "ann")
        assert re.search(reason, fallen.why)
    [warning] = said(caplog)
    assert warning == f"the last good forecast of 'ann', 1 s old, is used: {fallen.why}"


def test_the_last_good_forecast_serves_for_two_horizons_then_basic_and_the_predictor_when_it_is_back(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    down = PredictorError("it is down")
    cycles = make(GOOD, *[down] * 9, GOOD)
    assert cycles.sources(10) == ["predictor", *["last good"] * (2 * HORIZON), *["basic"] * 3]
    assert said(caplog) == [
        "the last good forecast of 'ann', 1 s old, is used: it is down",
        "forecasts of 'ann' are replaced by those of 'basic': it is down",
    ]
    assert said(caplog, logging.INFO) == []
    assert cycles.next() == Forecast(1011.0, GOOD, "ann")
    assert said(caplog, logging.INFO) == ["forecasts of 'ann' are used again"]
    assert len(said(caplog)) == 2


def test_the_note_says_what_was_logged_in_that_cycle_alone(make: Make) -> None:
    cycles = make(GOOD, PredictorError("it is down"), PredictorError("it is still down"), GOOD, GOOD)
    notes, rungs = [], []
    for _ in range(5):
        cycles.next()
        notes.append(cycles.forecaster.note)
        rungs.append(cycles.forecaster.rung)
    again = "forecasts of 'ann' are used again"
    assert notes == ["", "the last good forecast of 'ann', 1 s old, is used: it is down", "", again, ""]
    assert rungs == ["predictor", "last good", "last good", "predictor", "predictor"]


def test_a_predictor_that_never_answered_is_replaced_by_basic(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    cycles = make(PredictorError("it is down"))
    assert cycles.next() == Forecast(1001.0, BASIC, "basic", "basic", "it is down")
    assert cycles.sources(3) == ["basic"] * 3
    assert said(caplog) == ["forecasts of 'ann' are replaced by those of 'basic': it is down"]


def test_an_old_forecast_is_not_dug_out_again_after_basic(make: Make) -> None:
    cycles = make(GOOD, PredictorError("it is down"))
    cycles.next()
    found = [cycles.next(after=2.0 * HORIZON), cycles.next(after=0.001), cycles.next()]
    assert [forecast.source for forecast in found] == ["last good", "basic", "basic"]


def test_without_a_predictor_basic_is_used_in_silence(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    cycles = make(model="basic")
    assert cycles.next() == Forecast(1001.0, BASIC, "basic", "basic")
    assert cycles.forecaster.rung == "basic"
    assert said(caplog) == said(caplog, logging.INFO) == []


def test_too_few_samples_for_the_model_are_no_failure_and_it_is_not_asked(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    cycles = make(GOOD, least_samples=4)
    few = cycles.next((1.0, 3.0))
    assert few == Forecast(1001.0, (2.0,) * 3, "basic", "basic", "the model 'ann' needs 4 samples, there are 2")
    assert cycles.predictor.asked == []
    assert cycles.sources(1) == ["predictor"]
    assert cycles.predictor.asked == [(SAMPLES, HORIZON)]
    assert said(caplog) == said(caplog, logging.INFO) == []


def test_a_refusal_that_teaches_how_many_samples_are_needed_is_no_failure(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    cycles = make(PredictorError("answered 422"), learns=50)
    found = cycles.next()
    assert (found.source, found.why) == ("basic", "the model 'ann' needs 50 samples, there are 4")
    assert said(caplog) == []


def test_a_predictor_that_still_starts_is_waited_for_in_silence(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    cycles = make(PredictorError("it starts", quiet=True), PredictorError("it starts", quiet=True), GOOD)
    assert cycles.sources(3) == ["basic", "basic", "predictor"]
    assert said(caplog) == said(caplog, logging.INFO) == []


@pytest.mark.parametrize(("interval", "deadline", "asked"), [(5.0, 2.5, 8), (1.0, 0.5, 2), (30.0, 5.0, 35), (0.25, 0.125, 1)])
def test_it_asks_for_as_much_as_is_to_come_when_the_answer_is_as_late_as_it_may(interval: float, deadline: float, asked: int) -> None:
    predictor = ScriptedPredictor(GOOD)
    asyncio.run(Forecaster(predictor, "ann", deadline).forecast(SAMPLES, interval, 1.0))
    assert predictor.asked == [(SAMPLES, asked)]


def test_basic_goes_on_with_the_last_interval_again_for_who_comes_late() -> None:
    found = asyncio.run(Forecaster(None, "basic", deadline_seconds=1.5).forecast(SAMPLES, 2.5, 1.0))
    assert found is not None
    assert found.predictions == (4.0, 5.0, 6.0, 4.0)


def test_without_samples_it_holds_and_nobody_is_asked() -> None:
    predictor = ScriptedPredictor(GOOD)
    forecaster = Forecaster(predictor, "ann", deadline_seconds=0.0)
    assert asyncio.run(forecaster.forecast((), HORIZON, 1.0)) is None
    assert forecaster.rung == "hold"
    assert predictor.asked == []


def test_negative_predictions_are_zero_and_that_is_said_once(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    cycles = make((-1.0, -0.0, 2.0))
    for _ in range(3):
        found = cycles.next()
        assert (found.source, found.predictions) == ("predictor", (0.0, 0.0, 2.0))
    assert said(caplog, logging.INFO) == ["negative predictions of 'ann' are taken as 0, now and from now on"]
    assert said(caplog) == []


def test_whole_numbers_are_predictions_too(make: Make) -> None:
    found = make((1, 2, 3)).next()
    assert [type(value) for value in found.predictions] == [float] * 3


def test_a_late_request_is_cancelled_before_the_next_one(make: Make) -> None:
    cycles = make(LATE, LATE, GOOD)
    assert cycles.sources(3) == ["basic", "basic", "predictor"]
    assert cycles.predictor.cancelled == 2


def test_a_request_that_cannot_be_cancelled_stays_the_only_one_and_its_late_answer_is_dropped(make: Make) -> None:
    cycles = make(STUBBORN, (7.0, 8.0, 9.0))
    assert cycles.sources(3) == ["basic"] * 3
    assert len(cycles.predictor.asked) == 1
    cycles.predictor.release.set()
    cycles.turn()
    assert cycles.next().predictions == (7.0, 8.0, 9.0)


def test_a_call_that_is_cancelled_takes_its_request_with_it() -> None:
    predictor = ScriptedPredictor(LATE)

    async def main() -> None:
        call = asyncio.ensure_future(Forecaster(predictor, "ann", deadline_seconds=3600).forecast(SAMPLES, HORIZON, 1.0))
        await predictor.asking.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(main())
    assert predictor.cancelled == 1


@pytest.mark.parametrize(("samples", "horizon"), [((1.0, math.nan), 3), ((math.inf,), 3), ((1.0,), 0)])
def test_a_mistake_of_the_caller_is_refused(make: Make, samples: tuple[float, ...], horizon: int) -> None:
    with pytest.raises(InvalidError, match="forecast: expected"):
        make(GOOD).next(samples, horizon)


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        ((1.0, 2.0, 3.0, 4.0), (2.0, 3.0, 4.0)),
        ((1.0, 2.0, 3.0), (1.0, 2.0, 3.0)),
        ((1.0, 2.0), (1.5, 1.5, 1.5)),
        ((7,), (7.0, 7.0, 7.0)),
        ((-2.0, 4.0, -1.0), (0.0, 4.0, 0.0)),
    ],
)
def test_basic_is_the_last_interval_or_the_mean_of_less(samples: tuple[float, ...], expected: tuple[float, ...]) -> None:
    assert basic_predictions(samples, 3, 3) == expected
    assert basic_predictions(samples, 3, 8) == (*expected, *expected, *expected[:2])
