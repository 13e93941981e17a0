"""RA-SPS, the authors' reactive predecessor of PA-SPS: one replica more or less by use, queue and slowing of the last samples.

From Wladdimiro's thesis (2024); where its text and what was published of its code differ, docs/policies.md says what is built.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

from pasps.control.plan import BoltPlan, Plan, Reason
from pasps.control.policies.first_minute import HISTORY_SECONDS, Sample, benchmark_of, samples_of, trimmed_mean
from pasps.control.policies.options import HOW_CHANGED, option
from pasps.control.policies.policy import Needs, Policy
from pasps.control.policies.reasoned import granted
from pasps.control.quantities import count, seconds_text
from pasps.control.situation import BoltShape, Situation
from pasps.errors import ConfigError

_ROUNDING = 1e-9
State = Literal["overloaded", "stable", "underloaded"]


@dataclass(frozen=True, slots=True)
class Options:
    """Its parameters, with the thesis' values."""

    weight_use: float = option(0.45, "Weight of U, the share of their time that replicas are busy", least=0, most=1)
    weight_queue: float = option(0.45, "Weight of Q, how much of the queue is not finished in a sample", least=0, most=1)
    weight_slowing: float = option(0.1, "Weight of E, how much longer an event takes than in the benchmark", least=0, most=1)
    overloaded: float = option(0.7, "From this δ on a bolt is overloaded", least=0, most=1)
    underloaded: float = option(0.3, "Up to this δ it is underloaded", least=0, most=1)
    most_slowing: float = option(0.7, "δ_E: no replica more where E is not below it", least=0, most=1)
    same_state_twice: bool = option(True, "Change only when the state is that of the decision before, too")
    sample_seconds: int = option(5, "Length of a sample; a decision looks at those of its interval", unit="seconds", least=1, most=10)
    reconfigure: Literal["pool", "restart"] = option("pool", HOW_CHANGED)

    def __post_init__(self) -> None:
        """Raises ConfigError for thresholds that are the wrong way round: one δ would be both."""
        if self.overloaded < self.underloaded:
            problem = f"is {self.overloaded:g}, below underloaded, which is {self.underloaded:g}"
            cure = "expected overloaded to be at least underloaded"
            raise ConfigError("pasps.policy.options.overloaded", problem, where="policy 'ra-sps'", cure=cure)


def plan(situation: Situation, options: Options) -> Plan:
    """One decision: each bolt by itself."""
    memory: dict[str, Any] = situation.memory or {}
    states: dict[str, State] = {}
    benchmarks: dict[str, float] = {}
    bolts = {}
    for bolt in situation.shape.bolts:
        samples = samples_of(situation, bolt, options.sample_seconds)
        benchmark = benchmark_of(situation, bolt, samples, memory.get("benchmarks", {}).get(bolt.id))
        if benchmark is not None:
            benchmarks[bolt.id] = benchmark
        looked = samples[-max(1, int(situation.settings.interval_seconds / options.sample_seconds + _ROUNDING)) :]
        before = memory.get("states", {}).get(bolt.id)
        bolts[bolt.id], states[bolt.id] = _decided(bolt, situation.interval.bolts[bolt.id].active, looked, benchmark, before, options)
    return Plan(bolts, memory={"states": states, "benchmarks": benchmarks}, reconfigure=options.reconfigure)


def parts(sample: Sample, benchmark: float | None, concurrency: int) -> tuple[float, float, float]:
    """U, Q and E."""
    et = sample.et
    use = queue = slowing = 0.0
    if et is not None:
        time = max(et, benchmark or 0.0)
        use = min(1.0, sample.processed * time / (max(1, sample.active) * concurrency * sample.seconds))
        slowing = max(0.0, 1.0 - benchmark / et) if benchmark is not None else 0.0
    if sample.queued > 0:
        queue = max(0.0, 1.0 - sample.processed / sample.queued)
    return use, queue, slowing


def _decided(
    bolt: BoltShape, active: int, samples: Sequence[Sample], benchmark: float | None, before: State | None, options: Options
) -> tuple[BoltPlan, State]:
    found = [parts(sample, benchmark, bolt.concurrency) for sample in samples]
    weights = (options.weight_use, options.weight_queue, options.weight_slowing)
    deltas = [sum(weight * part for weight, part in zip(weights, each, strict=True)) for each in found]
    delta = trimmed_mean(deltas) if deltas else None
    state: State = "stable"
    if delta is not None and delta >= options.overloaded:
        state = "overloaded"
    elif delta is not None and delta <= options.underloaded:
        state = "underloaded"
    means = [fmean(column) for column in zip(*found, strict=True)] if found else [0.0, 0.0, 0.0]
    asked, why = active, ""
    if state != "stable" and options.same_state_twice and state != before:
        why = "; not so at the last decision"
    elif state == "overloaded" and found[-1][2] >= options.most_slowing:
        why = f"; but an event takes so much longer (E {found[-1][2]:.2f}) that more would not help"
    elif state == "overloaded":
        asked = active if active >= bolt.pool else active + 1
        why = "; has all of its pool" if active >= bolt.pool else ""
    elif state == "underloaded":
        asked = max(1, active - 1)
    said = "no sample yet" if delta is None else f"δ {delta:.2f}, {state}{why}"
    reasons = [Reason("load", said, "δ")]
    if samples:
        reasons.append(Reason("load", f"U {means[0]:.2f}, Q {means[1]:.2f}, E {means[2]:.2f}, means of {len(samples)} samples"))
        last = samples[-1]
        reasons.append(Reason("load", f"{count(last.processed)} finished in the last one, {count(last.queued)} queued after it"))
    if benchmark is not None:
        reasons.append(Reason("time", f"{seconds_text(benchmark)} for one event by the benchmark"))
    return granted(bolt, active, asked, *reasons), state


POLICY = Policy(
    "ra-sps",
    "RA-SPS: one replica more or less, by how busy replicas are, what queues, and how much slower events have become",
    plan,
    Options,
    Needs(history_seconds=HISTORY_SECONDS, interval_seconds=25.0),
)
