"""PA-SPS: the replicas that the forecast of the next interval and all queues need (its Eq. 2 to 7 and Algorithm 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from pasps.control.model import Reading, terms
from pasps.control.plan import Plan
from pasps.control.policies.first_minute import HISTORY_SECONDS, benchmark_of, samples_of
from pasps.control.policies.options import option
from pasps.control.policies.policy import INTERVAL, Needs, Policy, as_asked
from pasps.control.situation import BoltShape, ExecutionTime, Situation

SAMPLE_SECONDS, SAMPLES = 5, 12
"""As the published controller samples its input."""


@dataclass(frozen=True, slots=True)
class Options:
    """How the equations are read; the defaults are the paper's text."""

    target: float = option(1.0, "Share of its time a replica is to be busy with what comes in", above=0, most=1.5)
    drain_seconds: float | None = option(None, "Time in which queues are to be gone; null: an interval", unit="seconds", above=0)
    queue_share: Literal["paper", "edge", "own", "published"] = option(
        "paper", "Of queues before a bolt: θ_p, as printed, θ_i^p, none, or sums as the published controller makes them"
    )
    published: bool = option(False, "Samples, et_i, `fft` and `ann` as the published controller has them, not the text")

    @property
    def models(self) -> Mapping[str, str]:
        """See `pasps.control.policies.options`: the published controller calls two of its models another way than the text says."""
        return {"fft": "fft-published", "ann": "ann-published"} if self.published else {}


def plan(situation: Situation, options: Options) -> Plan:
    """One decision for the next td."""
    seconds = situation.settings.interval_seconds
    known = (situation.memory or {}).get("benchmarks", {})
    memory = None
    if options.published:
        benchmarks = _benchmarks(situation, known)
        situation, memory = _with_larger(situation, benchmarks), {"benchmarks": benchmarks}
    forecast = situation.forecast
    if forecast is None:
        return Plan({}, held="there is no forecast", memory=memory)
    events = forecast.total(situation.interval.ended, seconds)
    share, waiting = options.queue_share, None
    if share == "published":
        share, waiting = "paper", _sums(situation)
    reading = Reading(seconds, share, options.target, options.drain_seconds)
    return replace(as_asked(situation, terms(situation, events, reading, waiting), events), memory=memory)


def _sums(situation: Situation) -> dict[str, float]:
    """Queues as the published controller adds them up.

    It knows of a queue by how much more came than was done since the last decision, sample by sample and not below 0; adds those of
    all predecessors whole; and adds to each bolt's sum, by a variable that it does not clear, those of the bolts before it.
    """
    grown = {bolt.id: _grown(situation, bolt) for bolt in situation.shape.bolts}
    sums: dict[str, float] = {}
    found, carried = {}, 0.0
    for bolt in situation.shape.bolts:
        sums[bolt.id] = grown[bolt.id] + sum(sums.get(source, 0.0) for source in bolt.sources)
        carried += sums[bolt.id]
        found[bolt.id] = carried
    return found


def _grown(situation: Situation, bolt: BoltShape) -> float:
    samples = samples_of(situation, bolt, SAMPLE_SECONDS)
    queue = 0.0
    for sample in samples[-max(1, round(situation.settings.interval_seconds / SAMPLE_SECONDS)) :]:
        queue = max(0.0, queue + sample.received - sample.processed)
    return queue


def _benchmarks(situation: Situation, known: Mapping[str, float]) -> dict[str, float]:
    """By bolt et_i of the first minute, as soon as that is over."""
    found = {}
    for bolt in situation.shape.bolts:
        seconds = benchmark_of(situation, bolt, samples_of(situation, bolt, SAMPLE_SECONDS), known.get(bolt.id))
        if seconds is not None:
            found[bolt.id] = seconds
    return found


def _with_larger(situation: Situation, benchmarks: Mapping[str, float]) -> Situation:
    """With the benchmark in place of an et_i that is smaller."""
    execution = dict(situation.estimates.execution)
    for bolt, seconds in benchmarks.items():
        live = execution[bolt].seconds
        if live is None or live < seconds:
            execution[bolt] = ExecutionTime(seconds, "last", "measured in the first minute")
    return replace(situation, estimates=replace(situation.estimates, execution=execution))


def _needs_of(options: Any) -> Needs:
    if not options.published:
        history = HISTORY_SECONDS if options.queue_share == "published" else 0
        return Needs(horizon_seconds=INTERVAL, history_seconds=history)
    return Needs(horizon_seconds=INTERVAL, history_seconds=HISTORY_SECONDS, sample_seconds=SAMPLE_SECONDS, samples=SAMPLES)


POLICY = Policy(
    "pa-sps",
    "PA-SPS as published: the predicted input and all queues, once an interval",
    plan,
    Options,
    Needs(horizon_seconds=INTERVAL),
    _needs_of,
)
