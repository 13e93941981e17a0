"""The measures of a run: the six of the PA-SPS paper (its section 4.1.3) and ours, from its samples and decisions. Pure.

`definitions` says in words what each is. Events count from the moment they were due.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count

from pasps.control.decision_log import Record, Restarts
from pasps.control.run_log import Sample
from pasps.errors import InvalidError
from pasps.metrics import Histogram, Latency
from pasps.report.decided import Decided, decided
from pasps.report.errors_of_forecasts import LEAST_EVENTS, Mean, input_error, mean, replica_error
from pasps.report.observed import BoltObserved, Observed, Output, observed, saved_of


@dataclass(frozen=True, slots=True)
class Events:
    """What became of the events. `unfinished` were due and not processed at the end: what waits or is in flight, or more.

    `at_most`: more was emitted again than failed, as after a worker with a spout died. What was acked before may then be acked
    again, so `processed` and `share` are the most they can have been, and `unfinished` the least.
    `lost` and `duplicated` are known only to who counts events by id, and given by them.
    """

    received: int
    processed: int | None
    share: float | None
    unfinished: int | None
    failed: int
    replayed: int
    lost: int | None
    duplicated: int | None
    output: Output
    at_most: bool = False


@dataclass(frozen=True, slots=True)
class Replicas:
    """All bolts together. `seconds` counts active and draining replicas, `most_seconds` the whole pools.

    Activations are sums over samples, `*_decided` those that the loop's decisions made.
    """

    seconds: float
    most_seconds: float
    activations: int
    deactivations: int
    activations_decided: int
    deactivations_decided: int


@dataclass(frozen=True, slots=True)
class Decisions:
    """How many the loop made: at the end of an interval and in between; `held` ones changed nothing, `failed` are bolts' changes.

    `forecasts` are the cycles that had one, by the model that made it, or by what stood in for it; `players` the parts that models had
    in those of a tournament, as shares of what all of them had, the largest first. `restarts` are those of all workers.
    """

    cycles: int
    corrections: int
    held: int
    failed: int
    forecasts: Mapping[str, int]
    players: Mapping[str, float] = field(default_factory=dict)
    restarts: Restarts = field(default_factory=Restarts)


@dataclass(frozen=True, slots=True)
class BoltMeasures:
    """One bolt. `replica_seconds` counts active and draining replicas; `utilisation` is the share of them spent executing.

    None: there is only one sample.
    """

    pool: int
    mean_active: float
    most_active: int
    replica_seconds: float
    activations: int
    deactivations: int
    executed: int
    most_queued: int
    utilisation: float | None


@dataclass(frozen=True, slots=True)
class Measures:
    """A run in numbers; None where a number cannot be had. All of it is JSON."""

    seconds: float
    interval_seconds: float
    samples: int
    incomplete_samples: int
    saved_resources: float | None
    throughput_degradation: Mean
    latency: Latency | None
    events: Events
    input_error: Mean
    replica_error: Mean
    replicas: Replicas
    decisions: Decisions
    bolts: Mapping[str, BoltMeasures]


def measures_of(
    samples: Iterable[Sample],
    records: Iterable[Record],
    interval_seconds: float,
    lost: int | None = None,
    duplicated: int | None = None,
) -> Measures:
    """All measures, with intervals of `interval_seconds` (td). Reads both once, records first, and keeps little of either.

    Raises:
        InvalidError: an interval that is not above 0.
    """
    if interval_seconds <= 0:
        raise InvalidError(f"measures: expected an interval above 0 s, got {interval_seconds!r}")
    decisions = decided(records, interval_seconds)
    course = observed(samples, decisions.ends, interval_seconds)
    last = course.last
    return Measures(
        seconds=course.seconds,
        interval_seconds=interval_seconds,
        samples=course.samples,
        incomplete_samples=course.incomplete,
        saved_resources=_saved_resources(course),
        throughput_degradation=_throughput_degradation(course, interval_seconds),
        latency=Latency.of(Histogram(last.latency, last.latency_total)) if last is not None and last.latency else None,
        events=_events(course, lost, duplicated),
        input_error=input_error(decisions.ahead, course.due),
        replica_error=replica_error(decisions.ahead, course.due),
        replicas=_replicas(course, decisions),
        decisions=_decisions(decisions),
        bolts={name: _bolt(bolt, decisions.concurrency.get(name, 1)) for name, bolt in course.bolts.items()},
    )


def _decisions(found: Decided) -> Decisions:
    whole = sum(found.players.values())
    players = {name: part / whole for name, part in found.players.items()}
    return Decisions(found.cycles, found.corrections, found.held, found.failed, found.forecasts, players, found.restarts)


def _saved_resources(course: Observed) -> float | None:
    """The time-weighted average of 1 - r / r_over; of a single sample, its own."""
    if course.last is None or not course.bolts:
        return None
    return course.saved_time / course.seconds if course.seconds else saved_of(course.last.bolts.values())


def _throughput_degradation(course: Observed, interval_seconds: float) -> Mean:
    """Mean of |input - output| / input over the whole intervals since the topology's start, but for those without input."""
    if course.output.kind == "unknown":
        return Mean()
    values: list[float] = []
    left_out = 0
    for number in count():
        begin, end = (course.due.begin + (number + ahead) * interval_seconds for ahead in (0, 1))
        came, done = course.due.between(begin, end), course.done.between(begin, end)
        if came is None or done is None:
            break
        if came < LEAST_EVENTS:
            left_out += 1
        else:
            values.append(abs(came - done) / came)
    return mean(values, left_out)


def _events(course: Observed, lost: int | None, duplicated: int | None) -> Events:
    last = course.last
    received = round(course.due.total)
    waiting = min(received, last.pending + last.backlog) if last is not None else 0
    again = last is not None and last.replayed > last.failed
    processed = round(course.done.total) if course.output.kind != "unknown" else None
    if processed is not None and (waiting or again):
        processed = min(processed, received - waiting)  # acks of events that were acked already must not hide what is left
    return Events(
        received=received,
        processed=processed,
        share=processed / received if processed is not None and received else None,
        unfinished=max(0, received - processed) if processed is not None else None,
        failed=last.failed if last is not None else 0,
        replayed=last.replayed if last is not None else 0,
        lost=lost,
        duplicated=duplicated,
        output=course.output,
        at_most=again and processed is not None,
    )


def _replicas(course: Observed, decisions: Decided) -> Replicas:
    bolts = course.bolts.values()
    return Replicas(
        seconds=sum(bolt.active_time + bolt.draining_time for bolt in bolts),
        most_seconds=sum(bolt.pool_time for bolt in bolts),
        activations=sum(bolt.activations for bolt in bolts),
        deactivations=sum(bolt.deactivations for bolt in bolts),
        activations_decided=decisions.activations,
        deactivations_decided=decisions.deactivations,
    )


def _bolt(bolt: BoltObserved, concurrency: int) -> BoltMeasures:
    replica_seconds = bolt.active_time + bolt.draining_time
    spent = bolt.last.seconds - bolt.first.seconds
    seconds = bolt.pool_time / bolt.last.pool if bolt.last.pool else 0.0
    return BoltMeasures(
        pool=bolt.last.pool,
        mean_active=bolt.active_time / seconds if seconds else float(bolt.last.active),
        most_active=bolt.most_active,
        replica_seconds=replica_seconds,
        activations=bolt.activations,
        deactivations=bolt.deactivations,
        executed=bolt.last.executed,
        most_queued=bolt.most_queued,
        utilisation=spent / replica_seconds / concurrency if replica_seconds else None,
    )
