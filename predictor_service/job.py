"""What the server asks of a process that fits, and what that one says first. No library: both sides import it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from predictor_service.trained.artifacts import Place


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
    artifact: Place | None = None
    """The model is trained already, and this is where it is."""


@dataclass(frozen=True, slots=True)
class Hello:
    """A process's first message: it is ready."""

    pid: int
