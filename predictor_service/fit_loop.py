"""What a process that fits does: takes a job from its socket, fits, answers, until the socket is closed."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Sequence
from dataclasses import dataclass

from predictor_service import framing
from predictor_service.errors import ModelError
from predictor_service.forecast import Forecast, forecast
from predictor_service.registry import all_models, builtin_models
from predictor_service.sums import forecast_sums


@dataclass(frozen=True, slots=True)
class Job:
    """One fit; after `alarm_seconds` the kernel ends the process, whatever it is doing and whether or not the server still lives."""

    model: str
    samples: Sequence[float]
    horizon: int
    step_seconds: float
    alarm_seconds: float
    levels: tuple[float, ...] | None = None
    """The quantiles of the running sum that are wanted; None: of single steps only the expected."""


@dataclass(frozen=True, slots=True)
class Hello:
    """A process's first message: it is ready."""

    pid: int


def serve(connection: socket.socket) -> None:
    """Answer jobs until the server closes its end."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    connection.sendall(framing.packed(Hello(os.getpid())))
    while (job := framing.receive(connection)) is not None:
        signal.setitimer(signal.ITIMER_REAL, job.alarm_seconds)
        answer = answered(job)
        signal.setitimer(signal.ITIMER_REAL, 0)
        connection.sendall(framing.packed(answer))


def answered(job: Job) -> Forecast | ModelError:
    """The job's forecast, or why there is none."""
    # another package's model is loaded here and not before: what it starts when it is imported may not survive a fork
    model = builtin_models().get(job.model) or all_models()[job.model]
    try:
        if job.levels is not None:
            return forecast_sums(model, job.samples, job.horizon, job.step_seconds, job.levels)
        return forecast(model, job.samples, job.horizon, job.step_seconds)
    except ModelError as error:
        return ModelError(error.detail)
