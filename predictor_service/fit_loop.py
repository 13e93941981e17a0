"""What a process that fits does: takes a job from its socket, fits, answers, until the socket is closed."""

from __future__ import annotations

import os
import signal
import socket

from predictor_service.errors import PredictorError
from predictor_service.forecast import Forecast, forecast
from predictor_service.job import Job, packed, wait_received
from predictor_service.registry import all_models, builtin_models
from predictor_service.sums import forecast_sums
from predictor_service.trained.artifact import Loaded
from predictor_service.trained.artifacts import Artifacts
from predictor_service.trained.serving import trained_forecast

_loaded = Loaded()


def serve(connection: socket.socket) -> None:
    """Say who this is, then answer jobs until the server closes its end."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    connection.sendall(packed(os.getpid()))
    with connection.makefile("rb") as jobs:
        while (job := wait_received(jobs)) is not None:
            signal.setitimer(signal.ITIMER_REAL, job.alarm_seconds)
            answer = answered(job)
            signal.setitimer(signal.ITIMER_REAL, 0)
            connection.sendall(packed(answer))


def answered(job: Job) -> Forecast | PredictorError:
    """The job's forecast, or why there is none."""
    try:
        if job.artifact is not None:
            artifact = _loaded.artifact(job.artifact)
            return trained_forecast(artifact, job.samples, job.horizon, job.step_seconds, job.levels)
        # another package's model is loaded here and not before: what it starts when it is imported may not survive a fork
        model = builtin_models().get(job.model) or all_models()[job.model]
        if job.levels is not None:
            return forecast_sums(model, job.samples, job.horizon, job.step_seconds, job.levels)
        return forecast(model, job.samples, job.horizon, job.step_seconds)
    except PredictorError as error:
        return type(error)(error.detail)  # without what it came from, which may not travel


def load_artifacts(artifacts: Artifacts) -> None:
    """Read those that there are, so that every process which is forked later has them: in memory that all share."""
    _loaded.load_all(artifacts)
