"""Where a fit runs: on the server's loop when it is a matter of microseconds, else in one of two lanes of processes.

Cheap fits have processes of their own, so that they never wait for a long one, and the processes of the long ones are niced,
so that they take the cores only when nothing else wants them.
"""

from __future__ import annotations

from collections.abc import Sequence

from predictor_service.fit_process import ForkServer
from predictor_service.forecast import Forecast, forecast
from predictor_service.job import Job
from predictor_service.lane import ClientGone, Lane, Limits
from predictor_service.metrics import LaneStatistics
from predictor_service.model import Model
from predictor_service.settings import Settings
from predictor_service.trained.artifacts import Place

SHORT = 2_000
"""Above so many samples, or steps to predict, no model is cheap."""

_NICENESS = 10
_ALARM_AFTER_SECONDS = 5.0


class Fitting:
    """All processes that fit. For the server's event loop only."""

    def __init__(self, settings: Settings) -> None:
        self.workers = settings.workers
        limits = Limits(settings.fit_timeout_seconds, settings.most_waiting)
        self._alarm_seconds = settings.fit_timeout_seconds + _ALARM_AFTER_SECONDS
        self._fork_server = ForkServer(settings.artifacts)
        self._light = Lane("light", settings.workers, 0, limits, self._fork_server)
        self._heavy = Lane("heavy", settings.workers, _NICENESS, limits, self._fork_server)

    def start(self) -> None:
        """Returns at once; a fit waits until the first process is ready."""
        self._light.start()
        self._heavy.start()

    def close(self) -> None:
        """End all processes; who waits is answered with UnavailableError. May be called twice."""
        self._light.close()
        self._heavy.close()
        self._fork_server.close()

    def statistics(self) -> list[LaneStatistics]:
        """The lanes now."""
        return [self._light.statistics(), self._heavy.statistics()]

    async def forecast(
        self,
        model: Model,
        samples: Sequence[float],
        horizon: int,
        step_seconds: float,
        client_gone: ClientGone,
        levels: tuple[float, ...] | None = None,
    ) -> Forecast:
        """Fit where it belongs; with `levels`, quantiles of the running sum too, which always takes a process.

        Raises:
            PredictorError: as `Lane.fit`.
        """
        short = max(len(samples), horizon) <= SHORT
        if short and model.cost == "instant" and levels is None:
            return forecast(model, samples, horizon, step_seconds)
        lane = self._heavy if model.cost == "heavy" or not short else self._light
        return await lane.fit(Job(model.name, samples, horizon, step_seconds, self._alarm_seconds, levels), client_gone)

    async def trained_forecast(
        self,
        artifact: Place,
        model: str,
        samples: Sequence[float],
        horizon: int,
        step_seconds: float,
        client_gone: ClientGone,
        levels: tuple[float, ...],
    ) -> Forecast:
        """What an artifact says, of a model of that name: nothing is fitted, so it is a matter of milliseconds.

        Raises:
            PredictorError: as `Lane.fit`.
        """
        lane = self._heavy if horizon > SHORT else self._light
        return await lane.fit(Job(model, samples, horizon, step_seconds, self._alarm_seconds, levels, artifact), client_gone)
