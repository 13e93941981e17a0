"""The safety ladder: which forecast a cycle uses when the predictor is late, down or wrong. The loop calls it once a cycle.

No I/O of its own: what asks the service is a `Predictor`, see `predictor_client`.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import cycle, islice
from typing import Final, Literal, Protocol

from pasps.control.situation import Forecast
from pasps.errors import InvalidError, PredictorError

_log = logging.getLogger(__name__)

Rung = Literal["predictor", "last good", "basic", "hold"]

BASIC: Final = "basic"
"""The model that the forecaster answers itself: no service is asked, none needs to run."""
NONE: Final = "none"
"""No model: nobody forecasts, and this ladder is not asked."""

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


def _read(request: asyncio.Task[tuple[float, ...]]) -> None:
    """Looks at what became of a request, so that asyncio does not report a late one as never retrieved."""
    if not request.cancelled():
        request.exception()
