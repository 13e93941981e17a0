"""Samples of some seconds, and et_i as the published controllers benchmark it: in the first minute of the run itself. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev

from pasps.control.situation import BoltShape, Second, Situation

HISTORY_SECONDS = 150
"""So much is looked back at, so that the first minute is in it at some decision after its end."""
_SAMPLES = 12
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Sample:
    """A bolt in some seconds: μ, how long they were, q and r at their end, the seconds that its replicas spent on μ, and λ."""

    processed: int
    seconds: float
    queued: float
    active: int
    spent: float
    received: int = 0

    @property
    def et(self) -> float | None:
        """et(t); None: nothing was executed."""
        return self.spent / self.processed or None if self.processed else None


def samples_of(situation: Situation, bolt: BoltShape, sample_seconds: int) -> list[Sample]:
    """The history in samples, oldest first, counted back from its end; what is left over at its begin is none."""
    theta = situation.estimates.selectivity[bolt.id]
    history = situation.history
    ends = range(len(history), sample_seconds - 1, -sample_seconds)
    return [_sample(history[end - sample_seconds : end], bolt, theta) for end in reversed(ends)]


def _sample(seconds: Sequence[Second], bolt: BoltShape, theta: Mapping[str, float]) -> Sample:
    last = seconds[-1]
    did = [second.bolts[bolt.id] for second in seconds]
    # what finds no room before the bolt is held back by its spouts
    held = sum(held * theta[name] for name, held in last.backlog.items() if name in theta)
    return Sample(
        sum(each.processed for each in did),
        sum(second.seconds for second in seconds),
        did[-1].queued + held,
        did[-1].active,
        sum(each.seconds for each in did),
        sum(each.received for each in did),
    )


def benchmark_of(situation: Situation, bolt: BoltShape, samples: Sequence[Sample], before: float | None) -> float | None:
    """et: of the file, else the mean of the first minute without what is further than a standard deviation from it."""
    known = situation.estimates.execution[bolt.id]
    if known.source == "file":
        return known.seconds
    if before is not None:
        return before
    first = [sample.et for sample in samples[:_SAMPLES] if sample.et is not None]
    return trimmed_mean(first) if len(samples) >= _SAMPLES and first else None


def trimmed_mean(values: Sequence[float]) -> float:
    """The mean of those that are no further from the mean than a standard deviation."""
    mean, apart = fmean(values), pstdev(values)
    return fmean([value for value in values if abs(value - mean) <= apart * (1 + _ROUNDING) + _ROUNDING] or values)
