"""What the routes share: models, processes, counters; and a checked request made into a forecast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from predictor_service.errors import InvalidRequestError, PredictorError
from predictor_service.fitting import Fitting
from predictor_service.forecast import Forecast
from predictor_service.lane import ClientGone
from predictor_service.metrics import Metrics
from predictor_service.model import Model
from predictor_service.registry import find


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


def _check_count(model: Model, count: int) -> None:
    if count < model.least_samples:
        raise InvalidRequestError(
            f"samples: model {model.name!r} needs at least {model.least_samples}, got {count}; send more, or use 'basic'"
        )
    if count > model.most_samples:
        raise InvalidRequestError(
            f"samples: model {model.name!r} takes at most {model.most_samples:,}, got {count:,}; send the newest {model.most_samples:,}"
        )
