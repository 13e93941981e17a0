"""The safety ladder: which forecast a cycle uses when the predictor is late, down or wrong. The loop calls it once a cycle.

No I/O of its own: what asks the service is a `Predictor`, see `predictor_client`.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import cycle, islice
from typing import Final, Literal, Protocol, runtime_checkable

from pasps.control.situation import INPUT, Forecast
from pasps.errors import InvalidError, PredictorError

_log = logging.getLogger(__name__)

Rung = Literal["predictor", "last good", "basic", "hold"]

BASIC: Final = "basic"
"""The model that the forecaster answers itself: no service is asked, none needs to run."""
NONE: Final = "none"
"""No model: nobody forecasts, and this ladder is not asked."""
TRAINED: Final = "@"
"""Between a model's name and that of what was trained: `bigru@mine`."""

MOST_EVENTS = 1e15
"""More events in one second than any machine sees: no prediction, and its sums could overflow."""


class Predictor(Protocol):
    """Where predictions come from."""

    @property
    def least_samples(self) -> int | None:
        """How many samples the model needs; None while that is not known. Never blocks."""

    async def predict(self, samples: Sequence[float], horizon: int) -> tuple[float, ...]:
        """Events expected in each of the `horizon` seconds after the last sample. May take for ever: the caller cancels it.

        Raises:
            PredictorError: says why there are none.
        """


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a model says of one series: each step's mean, and quantiles of the running sum by quantile, as far as it knows them."""

    mean: tuple[float, ...]
    cumulative_quantiles: Mapping[float, tuple[float, ...]] = field(default_factory=dict)


@runtime_checkable
class SeriesPredictor(Protocol):
    """A `Predictor` that is asked for several series at once, and for quantiles."""

    async def predict_series(
        self, series: Mapping[str, Sequence[float]], horizon: int, quantiles: Sequence[float]
    ) -> Mapping[str, Prediction]:
        """As `Predictor.predict`, of each series; one of which the model can say nothing is left out."""


def basic_predictions(samples: Sequence[float], interval: int, horizon: int) -> tuple[float, ...]:
    """What comes behaves as the last `interval` seconds did: their samples in order, again and again; with fewer, their mean."""
    recent = [max(0.0, float(sample)) for sample in samples[-interval:]]
    again = recent if len(recent) == interval else [sum(recent) / len(recent)]
    return tuple(islice(cycle(again), horizon))


class Forecaster:
    """Asks the predictor in every call, and goes down a rung when its answer cannot be used.

    Rungs:
        predictor: its own answer.
        last good: its last usable answer, as it was, while that is not older than twice the seconds that are wanted.
        basic: `basic_predictions`.
        hold: no forecast, because there are no samples at all.

    Every call begins at the top, so a predictor that is back is used again by itself. Each change between the rungs is one
    line of the log, a warning on the way down; and not even that when the answer was not to be expected: no predictor, fewer
    samples than its model needs, a predictor that starts. One call at a time; an answer that comes after its call is dropped.
    """

    def __init__(self, predictor: Predictor | None, model: str, deadline_seconds: float) -> None:
        """`predictor` None: always basic. A call lasts at most `deadline_seconds`, and a moment."""
        self.rung: Rung = "predictor"
        self.note = ""
        self._predictor = predictor
        self._model = model
        self._deadline_seconds = deadline_seconds
        self._request: asyncio.Task[tuple[float, ...]] | None = None
        self._last_good: Forecast | None = None
        self._said: Rung = "predictor"
        self._said_negative = False

    async def forecast(self, samples: Sequence[float], seconds: float, now: float) -> Forecast | None:
        """The best forecast there is of so many seconds; None: hold.

        It begins at `now` and is longer than `seconds` by what the answer may take, so that who gets it late finds as many ahead.
        Afterwards `rung` says where it is from, and `note` what was logged of it: "" in most cycles.

        Args:
            samples: Events that became due in each of the last seconds, oldest first.
            seconds: How far to look ahead from the moment of the answer: an interval.
            now: The topology's uptime, at the end of the last sample.

        Raises:
            InvalidError: a sample that is no finite number, or nothing to look ahead to: a mistake of the caller, not of the predictor.
        """
        if not 0 < seconds < math.inf:
            raise InvalidError(f"forecast: expected seconds above 0, got {seconds!r}")
        for place, sample in enumerate(samples):
            if not math.isfinite(sample):
                raise InvalidError(f"forecast: expected finite samples, sample {place} is {sample!r}")
        self.note = ""
        if not samples:
            self.rung = "hold"
            return None
        try:
            predictions = await self._ask(samples, self._horizon(seconds))
        except PredictorError as error:
            _log.debug("no forecast of %r", self._model, exc_info=error)
            return self._without(error, samples, seconds, now)
        self._last_good = Forecast(now, predictions, self._model)
        self._take("predictor", f"forecasts of {self._model!r} are used again")
        return self._last_good

    async def forecast_series(
        self, series: Mapping[str, Sequence[float]], seconds: float, now: float, quantiles: Sequence[float]
    ) -> Mapping[str, Forecast]:
        """Of each series the best forecast there is; one without samples is left out. `INPUT` goes down the ladder, others to basic.

        A predictor that takes several series is asked once, for the quantiles too. Another is asked for one after the other, within
        the time of one, and nobody knows quantiles.
        """
        found: dict[str, Forecast] = {}
        many = self._predictor if isinstance(self._predictor, SeriesPredictor) else None
        given = {name: samples for name, samples in series.items() if samples}
        if many is not None and given:
            found = await self._forecast_many(many, given, seconds, now, quantiles)
        elif INPUT in given:
            forecast = await self.forecast(given[INPUT], seconds, now)
            found = {} if forecast is None else {INPUT: forecast}
        why = "the predictor says nothing of this series" if many is not None else ""
        try:
            async with asyncio.timeout(self._deadline_seconds):
                for name in given.keys() - found.keys() if many is None and self.rung == "predictor" else ():
                    with suppress(PredictorError):
                        predictions = await self._ask(given[name], self._horizon(seconds))
                        found[name] = Forecast(now, predictions, self._model)
        except TimeoutError:
            why = f"the predictor had no time for it within {self._deadline_seconds:g} s"
        for name in given.keys() - found.keys():
            predictions = basic_predictions(given[name], math.ceil(seconds), self._horizon(seconds))
            found[name] = Forecast(now, predictions, BASIC, BASIC, why)
        return {name: found[name] for name in given}

    async def _forecast_many(
        self, predictor: SeriesPredictor, series: Mapping[str, Sequence[float]], seconds: float, now: float, quantiles: Sequence[float]
    ) -> dict[str, Forecast]:
        horizon = self._horizon(seconds)
        self.note = ""
        try:
            self._check_input(series)
            async with asyncio.timeout(self._deadline_seconds):
                try:
                    answer = await predictor.predict_series(series, horizon, quantiles)
                except PredictorError:
                    self._check_input(series)  # perhaps that is known only now
                    raise
            made = {name: self._made(now, answer[name], horizon) for name in series if name in answer}
            if INPUT in series and INPUT not in made:
                raise PredictorError("the predictor says nothing of the input")
        except TimeoutError:
            error = PredictorError(f"the predictor did not answer within {self._deadline_seconds:g} s")
        except PredictorError as raised:
            error = raised
        except InvalidError:
            raise
        except Exception as raised:  # noqa: BLE001 - anybody's predictor: a fault of it is no forecast, as in `_ask`
            error = PredictorError(f"the predictor's client failed: {raised!r}")
        else:
            self._last_good = made.get(INPUT, self._last_good)
            self._take("predictor", f"forecasts of {self._model!r} are used again")
            return made
        return {INPUT: self._without(error, series[INPUT], seconds, now)} if INPUT in series else {}

    def _check_input(self, series: Mapping[str, Sequence[float]]) -> None:
        if self._predictor is not None and INPUT in series:
            _check_enough(series[INPUT], self._model, self._predictor)

    def _made(self, now: float, prediction: Prediction, horizon: int) -> Forecast:
        sums: dict[float, tuple[float, ...]] = {}
        for quantile, values in prediction.cumulative_quantiles.items():
            if len(values) != horizon or not all(math.isfinite(value) for value in values):
                raise PredictorError(f"the predictor's quantile {quantile:g} is no {horizon} finite numbers")
            sums[quantile] = tuple(max(0.0, float(value)) for value in values)
        return Forecast(now, self._checked(prediction.mean, horizon), self._model, quantiles=_in_order(sums))

    def _horizon(self, seconds: float) -> int:
        return math.ceil(seconds + self._deadline_seconds)

    async def _ask(self, samples: Sequence[float], horizon: int) -> tuple[float, ...]:
        if self._predictor is None:
            raise PredictorError("", quiet=True)
        _check_enough(samples, self._model, self._predictor)
        if self._request is not None and not self._request.done():
            raise PredictorError("the predictor's client is still busy with an earlier request")
        request = self._request = asyncio.ensure_future(self._predictor.predict(samples, horizon))
        request.add_done_callback(_read)
        try:
            await asyncio.wait([request], timeout=self._deadline_seconds)
            if not request.done():
                raise PredictorError(f"the predictor did not answer within {self._deadline_seconds:g} s")
        finally:
            request.cancel()  # its answer is of no use any more; nothing happens when it is done
            await asyncio.sleep(0)
        if request.cancelled():
            raise PredictorError("the predictor's client gave its request up")
        error = request.exception()
        if error is not None:
            _check_enough(samples, self._model, self._predictor)  # perhaps that is known only now
            raise error if isinstance(error, PredictorError) else PredictorError(f"the predictor's client failed: {error!r}") from error
        return self._checked(request.result(), horizon)

    def _checked(self, predictions: Sequence[float], horizon: int) -> tuple[float, ...]:
        if len(predictions) != horizon:
            raise PredictorError(f"the predictor answered with {len(predictions)} predictions, expected {horizon}")
        for place, value in enumerate(predictions):
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise PredictorError(f"prediction {place} is {value!r}, expected a number")
            if not value <= MOST_EVENTS or value == -math.inf:  # NaN is not less than anything
                raise PredictorError(f"prediction {place} is {value!r}, expected a finite number of at most {MOST_EVENTS:g}")
        if min(predictions) < 0 and not self._said_negative:
            self._said_negative = True
            self.note = f"negative predictions of {self._model!r} are taken as 0, now and from now on"
            _log.info("%s", self.note)
        return tuple(max(0.0, float(value)) for value in predictions)

    def _without(self, error: PredictorError, samples: Sequence[float], seconds: float, now: float) -> Forecast:
        basic = Forecast(now, basic_predictions(samples, math.ceil(seconds), self._horizon(seconds)), BASIC, BASIC, error.reason)
        if error.quiet:
            self.rung = BASIC
            return basic
        last = self._last_good
        if last is None or now - last.made_at > 2 * seconds:
            self._take(BASIC, f"forecasts of {self._model!r} are replaced by those of {BASIC!r}: {error.reason}")
            return basic
        self._take("last good", f"the last good forecast of {self._model!r}, {now - last.made_at:g} s old, is used: {error.reason}")
        return replace(last, source="last good", why=error.reason)

    def _take(self, rung: Rung, text: str) -> None:
        self.rung = rung
        if rung != self._said:
            self._said, self.note = rung, text
            _log.log(logging.INFO if rung == "predictor" else logging.WARNING, "%s", text)


def _check_enough(samples: Sequence[float], model: str, predictor: Predictor) -> None:
    least = predictor.least_samples
    if least is not None and len(samples) < least:
        raise PredictorError(f"the model {model!r} needs {least} samples, there are {len(samples)}", quiet=True)


def _in_order(sums: Mapping[float, tuple[float, ...]]) -> dict[float, tuple[float, ...]]:
    """Quantiles that do not cross: step by step the least belongs to the least."""
    known = sorted(sums)
    steps = [sorted(values) for values in zip(*(sums[quantile] for quantile in known), strict=True)]
    return {quantile: tuple(values[place] for values in steps) for place, quantile in enumerate(known)}


def _read(request: asyncio.Task[tuple[float, ...]]) -> None:
    """Looks at what became of a request, so that asyncio does not report a late one as never retrieved."""
    if not request.cancelled():
        request.exception()
