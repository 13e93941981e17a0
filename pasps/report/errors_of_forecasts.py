"""How wrong predictions were: of the input, and of the replicas that were asked for because of it. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pasps.control.model import rounded_up
from pasps.report.decided import Ahead, Asked
from pasps.report.timeline import Timeline

LEAST_EVENTS = 1.0
"""Below one event an interval counts as one without input: a count between two samples is only as exact as that."""


@dataclass(frozen=True, slots=True)
class Mean:
    """An average, None when there is nothing to average. `counted` went into it; `left_out` were intervals without input."""

    value: float | None = None
    counted: int = 0
    left_out: int = 0


def mean(values: Iterable[float], left_out: int = 0) -> Mean:
    """The plain average of `values`."""
    listed = list(values)
    return Mean(sum(listed) / len(listed) if listed else None, len(listed), left_out)


def input_error(aheads: Iterable[Ahead], due: Timeline) -> Mean:
    """Mean of |predicted - due| / due over cycles, `due` being what became due in the stretch that the cycle looked ahead.

    A stretch without input is left out and counted; one that the run does not cover to its end is not counted at all.
    """
    errors, without_input = [], 0
    for ahead in aheads:
        came = due.between(ahead.began, ahead.began + ahead.seconds)
        if came is None:
            continue
        if came < LEAST_EVENTS:
            without_input += 1
            continue
        errors.append(abs(ahead.events - came) / came)
    return mean(errors, without_input)


def replica_error(aheads: Iterable[Ahead], due: Timeline) -> Mean:
    """Mean over cycles and bolts of |asked - needed| / needed; see `needed`. `asked` is at most the pool and at least 1."""
    errors = []
    for ahead in aheads:
        for bolt in ahead.bolts:
            came = due.between(ahead.began, ahead.began + bolt.seconds)
            if came is not None:
                need = needed(bolt, came)
                errors.append(abs(bolt.replicas - need) / need)
    return mean(errors)


def needed(bolt: Asked, came: float) -> int:
    """The replicas that would have processed everything: Eq. 2 with the input that came in place of the predicted one.

    ⌈(came · θ_i + λ̂_i^q) · et_i / seconds / concurrency⌉, within 1 and the pool, with θ_i, λ̂_i^q and et_i as the cycle had them;
    no room to spare, and queues gone at the end of the span, whatever the policy's own wishes are.
    """
    work = (came * bolt.share + bolt.from_queues) * bolt.execution_seconds
    return min(rounded_up(work / bolt.seconds / bolt.concurrency), bolt.pool)
