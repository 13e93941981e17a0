"""The control model of PA-SPS: from one interval's numbers and a forecast to the terms of Eq. 2 to 7. Pure.

Policies call `terms`; the loop calls `estimate` once an interval. The symbols are explained in docs/elasticity.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pasps.control.execution_times import execution_times
from pasps.control.plan import Terms
from pasps.control.situation import BoltShape, Estimates, Interval, Situation, TopologyShape

ROUNDING = 1e-9
"""A need this little above a whole number is that number: 0.1 · 30 must not ask for a replica more."""


def estimate(shape: TopologyShape, interval: Interval, before: Estimates, benchmark: Mapping[str, float]) -> Estimates:
    """What is known after one more interval. `benchmark`: et_i by bolt, measured before the topology ran."""
    selectivity = selectivities(shape, interval, before.selectivity)
    times, active = execution_times(interval, before, benchmark, frozenset(bolt.id for bolt in shape.bolts if bolt.waits))
    return Estimates(selectivity, shares(shape, interval, selectivity, before.share), times, active)


def selectivities(shape: TopologyShape, interval: Interval, before: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Eq. 6: θ_i^p = λ_i^p / μ_p. A source that sent nothing keeps its last known value; never known: 1."""
    found: dict[str, dict[str, float]] = {}
    for bolt in shape.bolts:
        received = interval.bolts[bolt.id].received
        known = before.get(bolt.id, {})
        found[bolt.id] = {}
        for source in bolt.sources:
            sent = _sent(interval, source)
            found[bolt.id][source] = received.get(source, 0) / sent if sent > 0 else known.get(source, 1.0)
    return found


def _sent(interval: Interval, source: str) -> float:
    """μ_p; for a spout what it emitted, replays too, since its receivers count them as well."""
    spout = interval.spouts.get(source)
    return interval.bolts[source].processed if spout is None else spout.emitted


def shares(
    shape: TopologyShape, interval: Interval, selectivity: Mapping[str, Mapping[str, float]], before: Mapping[str, float]
) -> dict[str, float]:
    """Eq. 5: θ_i = Σ_p θ_i^p · θ_p, from the spouts on; a spout's is its part of λ_G."""
    due = interval.due
    found: dict[str, float] = {}
    for spout in shape.spouts:
        found[spout] = interval.spouts[spout].due / due if due > 0 else before.get(spout, 1.0 / len(shape.spouts))
    for bolt in shape.bolts:
        found[bolt.id] = sum(selectivity[bolt.id][source] * found[source] for source in bolt.sources)
    return found


QueueShare = Literal["paper", "edge", "own"]
"""How much of a predecessor's queue Eq. 7 adds: θ_p as printed, θ_i^p as the text around it says, or nothing (PRESPS)."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How a policy reads the equations. `drain_seconds` None: queues are to be gone after the span, like the input.

    `whole_events`: no queue is to be gone sooner than one event takes, since no number of replicas would do that.
    """

    seconds: float
    queue_share: QueueShare = "paper"
    target: float = 1.0
    drain_seconds: float | None = None
    whole_events: bool = False


def queues(situation: Situation, share: QueueShare) -> dict[str, float]:
    """Eq. 7: λ̂_i^q = |q_i| + Σ_p λ̂_p^q · θ_p, where a spout's queue is its backlog."""
    interval, known = situation.interval, situation.estimates
    found = {name: float(spout.backlog) for name, spout in interval.spouts.items()}
    for bolt in situation.shape.bolts:
        factors = known.share if share == "paper" else known.selectivity[bolt.id]
        before = 0.0 if share == "own" else sum(found[source] * factors[source] for source in bolt.sources)
        found[bolt.id] = interval.bolts[bolt.id].queued + before
    return found


def terms(situation: Situation, events: float, reading: Reading, waiting: Mapping[str, float] | None = None) -> dict[str, Terms]:
    """Eq. 2 to 5 and 7 for every bolt, when `events` (λ̂_G) come in the reading's span.

    `waiting` are λ̂_i^q where the policy counts queues its own way.
    """
    waiting = queues(situation, reading.queue_share) if waiting is None else waiting
    return {bolt.id: _terms(bolt, situation.estimates, events, waiting[bolt.id], reading) for bolt in situation.shape.bolts}


def _terms(bolt: BoltShape, known: Estimates, events: float, waiting: float, reading: Reading) -> Terms:
    share = known.share[bolt.id]
    from_input = events * share  # Eq. 4
    time = known.execution[bolt.id].seconds
    drain = reading.seconds if reading.drain_seconds is None else reading.drain_seconds
    replicas = None
    if reading.whole_events and time is not None:
        drain = max(drain, time)
    if time is not None:  # Eq. 2
        replicas = (from_input * time / (reading.seconds * reading.target) + waiting * time / drain) / bolt.concurrency
    return Terms(
        share,
        from_input,
        waiting,
        from_input + waiting,  # Eq. 3
        time,
        replicas,
        reading.seconds,
        reading.target,
        drain if reading.whole_events else reading.drain_seconds,
        bolt.concurrency,
    )


def never_resting(needs: Terms) -> float:
    """Replicas that would be busy all the time: Eq. 2 without the room that a target below 1 leaves; 0 while et_i is not known."""
    if needs.execution_seconds is None:
        return 0.0
    drain = needs.seconds if needs.drain_seconds is None else needs.drain_seconds
    return (needs.from_input / needs.seconds + needs.from_queues / drain) * needs.execution_seconds / needs.concurrency


def rounded_up(replicas: float) -> int:
    """The ceiling of Eq. 2, at least one."""
    return max(1, math.ceil(replicas - ROUNDING))
