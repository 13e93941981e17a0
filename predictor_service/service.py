"""What the routes share: models, processes, counters; and a checked request made into a forecast."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from predictor_service.errors import InvalidRequestError, PredictorError
from predictor_service.fitting import Fitting
from predictor_service.forecast import Forecast
from predictor_service.lane import ClientGone
from predictor_service.metrics import Metrics
from predictor_service.model import Model
from predictor_service.registry import find
from predictor_service.trained.artifacts import Artifacts, Place
from predictor_service.trained.manifest import MODELS, Manifest

_MOST_NAMED = 20


@dataclass(frozen=True, slots=True)
class Wanted:
    """One series of several: what it is called, its samples, and how long each of its steps is."""

    id: str
    samples: Sequence[float]
    step_seconds: float


class Service:
    """One running service. For its event loop only."""

    def __init__(self, models: Mapping[str, Model], fitting: Fitting, metrics: Metrics, artifacts: Artifacts) -> None:
        self.models = models
        self.fitting = fitting
        self.metrics = metrics
        self.artifacts = artifacts

    async def forecast(self, name: str, samples: Sequence[float], horizon: int, step_seconds: float, client_gone: ClientGone) -> Forecast:
        """The forecast of one request whose fields are right, counted; `client_gone` tells whether nobody waits for it any more.

        Raises:
            PredictorError: no such model, samples that it cannot use, or no forecast.
        """
        counted, status = "", 200
        try:
            model = self._model(name)
            counted = model.name
            _check_samples(model, samples)
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
        self,
        name: str | None,
        artifact: str | None,
        series: Sequence[Wanted],
        horizon: int,
        levels: tuple[float, ...],
        client_gone: ClientGone,
    ) -> tuple[str, list[Forecast]]:
        """The forecasts of several series, with quantiles of their running sums; as many at once as there are processes.

        They are those of the artifact, if one is named, and else of the model; which model that is comes first.

        Raises:
            PredictorError: as `forecast`, and says which series: all are answered, or none.
        """
        counted, status = "", 200
        try:
            if artifact is None:
                model = self._model(name or "")
                counted, checked = model.name, partial(_check_count, model)
                fit = partial(self._fitted, model, horizon, levels, client_gone)
            else:
                place, manifest = self.artifacts.find(artifact)
                if name is not None and name != manifest.model:
                    raise InvalidRequestError(f"model: artifact {artifact!r} is a {manifest.model!r}, got {name!r}; leave 'model' out")
                counted, checked = manifest.model, partial(_check_trained, artifact, manifest)
                fit = partial(self._trained, place, manifest, horizon, levels, client_gone)
            for at, one in enumerate(series):
                try:
                    checked(one)
                except InvalidRequestError as error:
                    raise InvalidRequestError(f"series[{at}].{error.detail}") from None
            forecasts = await self._together(fit, series)
        except PredictorError as error:
            status = error.status
            raise
        else:
            for made in forecasts:
                self.metrics.fit(counted, made.fit_seconds)
            return counted, forecasts
        finally:
            self.metrics.request(counted, status)

    def _model(self, name: str) -> Model:
        if name in MODELS and name not in self.models:
            there_are = ", ".join(self.artifacts.names()[:_MOST_NAMED]) or "none here; `pasps predictor train` makes one"
            raise InvalidRequestError(f"model: {name!r} is trained beforehand; name an 'artifact' of POST /v2/forecast: {there_are}")
        return find(self.models, name)

    async def _fitted(self, model: Model, horizon: int, levels: tuple[float, ...], client_gone: ClientGone, one: Wanted) -> Forecast:
        return await self.fitting.forecast(model, one.samples, horizon, one.step_seconds, client_gone, levels)

    async def _trained(
        self, place: Place, manifest: Manifest, horizon: int, levels: tuple[float, ...], client_gone: ClientGone, one: Wanted
    ) -> Forecast:
        newest = one.samples[-manifest.window :]
        return await self.fitting.trained_forecast(place, manifest.model, newest, horizon, one.step_seconds, client_gone, levels)

    async def _together(self, fit: Callable[[Wanted], Awaitable[Forecast]], series: Sequence[Wanted]) -> list[Forecast]:
        room = asyncio.Semaphore(self.fitting.workers)
        problems: list[PredictorError] = []

        async def fitted(place: int, one: Wanted) -> Forecast | None:
            async with room:
                if problems:
                    return None
                try:
                    return await fit(one)
                except PredictorError as error:
                    error.detail = f"series[{place}] ({one.id!r}): {error.detail}"
                    problems.append(error)
                    return None

        forecasts = await asyncio.gather(*(fitted(place, one) for place, one in enumerate(series)))
        if problems:
            raise problems[0]
        return [made for made in forecasts if made is not None]


def _check_trained(name: str, manifest: Manifest, one: Wanted) -> None:
    if not math.isclose(one.step_seconds, manifest.step_seconds, rel_tol=1e-6):
        raise InvalidRequestError(
            f"step_seconds: artifact {name!r} was trained on steps of {manifest.step_seconds:g} s, got {one.step_seconds:g}; "
            "send samples of such steps, or train one with --step"
        )
    if len(one.samples) < manifest.window:
        raise InvalidRequestError(
            f"samples: artifact {name!r} needs its window of {manifest.window}, got {len(one.samples)}; send more, or name a 'model' alone"
        )


def _check_count(model: Model, one: Wanted) -> None:
    _check_samples(model, one.samples)


def _check_samples(model: Model, samples: Sequence[float]) -> None:
    count = len(samples)
    if count < model.least_samples:
        raise InvalidRequestError(
            f"samples: model {model.name!r} needs at least {model.least_samples}, got {count}; send more, or use 'basic'"
        )
    if count > model.most_samples:
        raise InvalidRequestError(
            f"samples: model {model.name!r} takes at most {model.most_samples:,}, got {count:,}; send the newest {model.most_samples:,}"
        )
