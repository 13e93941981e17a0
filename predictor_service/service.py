"""What the routes share: models, processes, counters; and a checked request made into a forecast."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from predictor_service.errors import InvalidRequestError, PredictorError
from predictor_service.fitting import Fitting
from predictor_service.forecast import Forecast
from predictor_service.lane import ClientGone
from predictor_service.metrics import Metrics
from predictor_service.model import Model
from predictor_service.registry import find


@dataclass(frozen=True, slots=True)
class Wanted:
    """One series of several: what it is called, its samples, and how long each of its steps is."""

    id: str
    samples: Sequence[float]
    step_seconds: float


class Service:
    """One running service. For its event loop only."""

    def __init__(self, models: Mapping[str, Model], fitting: Fitting, metrics: Metrics) -> None:
        self.models = models
        self.fitting = fitting
        self.metrics = metrics

    async def forecast(self, name: str, samples: Sequence[float], horizon: int, step_seconds: float, client_gone: ClientGone) -> Forecast:
        """The forecast of one request whose fields are right, counted; `client_gone` tells whether nobody waits for it any more.

        Raises:
            PredictorError: no such model, samples that it cannot use, or no forecast.
        """
        counted, status = "", 200
        try:
            model = find(self.models, name)
            counted = model.name
            _check_count(model, len(samples))
            forecast = await self.fitting.forecast(model, samples, horizon, step_seconds, client_gone)
        except PredictorError as error:
            status = error.status
            raise
        else:
            self.metrics.fit(counted, forecast.fit_seconds)
            return forecast
        finally:
            self.metrics.request(counted, status)

    async def forecast_sums(
        self, name: str, series: Sequence[Wanted], horizon: int, levels: tuple[float, ...], client_gone: ClientGone
    ) -> list[Forecast]:
        """The forecasts of several series, with quantiles of their running sums; as many at once as there are processes.

        Raises:
            PredictorError: as `forecast`, and says which series: all are answered, or none.
        """
        counted, status = "", 200
        try:
            model = find(self.models, name)
            counted = model.name
            for place, one in enumerate(series):
                try:
                    _check_count(model, len(one.samples))
                except InvalidRequestError as error:
                    raise InvalidRequestError(f"series[{place}].{error.detail}") from None
            forecasts = await self._together(model, series, horizon, levels, client_gone)
        except PredictorError as error:
            status = error.status
            raise
        else:
            for made in forecasts:
                self.metrics.fit(counted, made.fit_seconds)
            return forecasts
        finally:
            self.metrics.request(counted, status)

    async def _together(
        self, model: Model, series: Sequence[Wanted], horizon: int, levels: tuple[float, ...], client_gone: ClientGone
    ) -> list[Forecast]:
        room = asyncio.Semaphore(self.fitting.workers)
        problems: list[PredictorError] = []

        async def fitted(place: int, one: Wanted) -> Forecast | None:
            async with room:
                if problems:
                    return None
                try:
                    return await self.fitting.forecast(model, one.samples, horizon, one.step_seconds, client_gone, levels)
                except PredictorError as error:
                    error.detail = f"series[{place}] ({one.id!r}): {error.detail}"
                    problems.append(error)
                    return None

        forecasts = await asyncio.gather(*(fitted(place, one) for place, one in enumerate(series)))
        if problems:
            raise problems[0]
        return [made for made in forecasts if made is not None]


def _check_count(model: Model, count: int) -> None:
    if count < model.least_samples:
        raise InvalidRequestError(
            f"samples: model {model.name!r} needs at least {model.least_samples}, got {count}; send more, or use 'basic'"
        )
    if count > model.most_samples:
        raise InvalidRequestError(
            f"samples: model {model.name!r} takes at most {model.most_samples:,}, got {count:,}; send the newest {model.most_samples:,}"
        )
