"""Who forecasts in a simulation: the loop's own ladder, one who knows what comes, or a model of the service, asked in this process."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pasps.control.forecaster import BASIC, NONE, Forecaster, Predictor
from pasps.control.local_forecaster import AUTO, LocalForecaster, local_forecaster
from pasps.control.loop import Forecasts
from pasps.control.policies.policy import Needs
from pasps.control.situation import INPUT, Forecast, PolicySettings
from pasps.errors import InvalidError, PredictorError
from pasps.simulation.arrivals import Arrivals

try:
    from predictor_service.errors import InvalidRequestError, ModelError
    from predictor_service.forecast import forecast as model_forecast
    from predictor_service.registry import all_models
    from predictor_service.registry import find as find_model
except ImportError:  # it is an extra of its own
    MODELS: Callable[[], list[str]] | None = None
else:

    def MODELS() -> list[str]:  # noqa: N802 - None where the service is not installed
        """The names of the service's models."""
        return [name for name in all_models() if name != BASIC]


CLAIRVOYANT: Final = "clairvoyant"
"""Knows the trace: what no model can be better than."""


class Clairvoyant:
    """See `pasps.control.loop.Forecasts`; answers at once."""

    def __init__(self, arrivals: Arrivals) -> None:
        self._arrivals = arrivals

    async def forecast(self, samples: Sequence[float], seconds: float, now: float) -> Forecast | None:
        """The trace's own rows."""
        if not samples:
            return None
        horizon = math.ceil(seconds)
        return Forecast(now, tuple(self._arrivals.expected(now + ahead, now + ahead + 1.0) for ahead in range(horizon)), CLAIRVOYANT)

    async def forecast_series(
        self, series: Mapping[str, Sequence[float]], seconds: float, now: float, quantiles: Sequence[float]
    ) -> Mapping[str, Forecast]:
        """See `pasps.control.loop.SeriesForecasts`: the input alone, of which it is sure."""
        found = await self.forecast(series.get(INPUT, ()), seconds, now)
        return {} if found is None else {INPUT: found}


class ServiceModel:
    """A model of the predictor service without the service; see `pasps.control.forecaster.Predictor`. It takes no virtual time."""

    def __init__(self, model: Any) -> None:
        self._model = model

    @property
    def least_samples(self) -> int | None:
        """See `Predictor`."""
        return int(self._model.least_samples)

    async def predict(self, samples: Sequence[float], horizon: int) -> tuple[float, ...]:
        """See `Predictor`; fits the model here and now."""
        try:
            return tuple(model_forecast(self._model, samples, horizon, 1.0).predictions)
        except ModelError as error:
            raise PredictorError(str(error)) from error


def forecasts_of(
    name: str, arrivals: Arrivals, deadline_seconds: float, needs: Needs, settings: PolicySettings
) -> Forecasts | LocalForecaster:
    """Who forecasts under that name: `auto`, beside the loop; `basic`, `none`, `clairvoyant`, or a model of the service.

    Raises:
        InvalidError: there is no such model, or the service is not installed.
    """
    if name == CLAIRVOYANT:
        return Clairvoyant(arrivals)
    local = local_forecaster(needs, settings) if name == AUTO else None
    if local is not None:
        return local
    return Forecaster(_predictor(name), name, deadline_seconds)


def check_model(name: str) -> None:
    """Whether there is a forecaster of that name in a simulation.

    Raises:
        InvalidError: as `forecasts_of`.
    """
    if name != CLAIRVOYANT:
        _predictor(name)


def check_served(name: str) -> None:
    """Whether a service that is started here will know that name; without the service nobody can tell.

    Raises:
        InvalidError: it will not.
    """
    if MODELS is not None and name not in (BASIC, NONE):
        _model(name, NONE)


def _predictor(name: str) -> Predictor | None:
    if name in (BASIC, NONE):
        return None
    if MODELS is None:
        raise InvalidError(
            f"--predictor {name}: the models are not installed here (pip install 'pasps[predictor]'); without: basic, none, clairvoyant"
        )
    return ServiceModel(_model(name, NONE, CLAIRVOYANT))


def _model(name: str, *besides: str) -> Any:
    try:
        return find_model(all_models(), name)
    except InvalidRequestError as error:
        problem, _, cure = str(error).removeprefix("model: ").partition("; ")
        more = "" if cure.endswith("?") else f"; besides, {' and '.join(repr(each) for each in besides)}"
        raise InvalidError(f"predictor: {problem}; {cure}{more}") from error
