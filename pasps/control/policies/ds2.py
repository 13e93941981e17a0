"""DS2, as Flink's autoscaler runs it: all operators at once, by the true rates that they would have if they never waited for input.

From Kalavri et al., Three steps is all you need (OSDI 2018), and the autoscaler of Flink's Kubernetes operator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pasps.control.plan import BoltPlan, Plan, Reason
from pasps.control.policies.observed import waiting_before
from pasps.control.policies.options import HOW_CHANGED, option
from pasps.control.policies.policy import Needs, Policy
from pasps.control.policies.reasoned import granted, kept, unknown, whole
from pasps.control.quantities import count, seconds_text
from pasps.control.situation import BoltShape, Situation

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Options:
    """As of the autoscaler, with its defaults."""

    target: float = option(0.7, "Share of its time a replica is to be busy with what comes in", above=0, most=1.5)
    band: float = option(0.3, "No change while all bolts are busy within this of `target`; 0: as DS2 itself", least=0, most=1)
    catch_up_seconds: float = option(1800.0, "Time in which what waits is to be gone; 0: nobody counts it", unit="seconds", least=0)
    reconfigure: Literal["pool", "restart"] = option("pool", HOW_CHANGED)


@dataclass(frozen=True, slots=True)
class _Operator:
    """`target_rate` comes in, events a second; `true_rate` a replica can do; `catch_up` is to be done besides."""

    target_rate: float
    true_rate: float
    catch_up: float

    def load(self, active: int) -> float:
        """The share of their time for which what comes in would keep so many replicas busy."""
        return self.target_rate / (self.true_rate * active)

    def replicas(self, target: float) -> float:
        """So many that the load is on target, and what waits is gone in time."""
        return (self.target_rate / target + self.catch_up) / self.true_rate


def plan(situation: Situation, options: Options) -> Plan:
    """One decision: every operator's rate by the sources' alone, so that one step brings all of them where they have to be."""
    interval = situation.interval
    operators = _operators(situation, options)
    low, high = max(0.0, options.target - options.band), options.target + options.band
    bolts: dict[str, BoltPlan] = {}
    outside = False
    for bolt in situation.shape.bolts:
        active, operator = interval.bolts[bolt.id].active, operators.get(bolt.id)
        if operator is None:
            bolts[bolt.id] = unknown(active)
            continue
        bolts[bolt.id] = _decided(bolt, active, operator, options)
        # one that has what it is to have, such as a single replica without much to do, is no reason to change the others
        outside = outside or (bolts[bolt.id].replicas != active and _is_outside(operator, active, low, high))
    if not outside:
        for name, operator in operators.items():
            active = interval.bolts[name].active
            text = f"busy {operator.load(active):.0%} of their time; no bolt that could change is beyond {low:.0%} to {high:.0%}"
            bolts[name] = kept(active, Reason("needs", text), *bolts[name].reasons[1:])
    return Plan(bolts, reconfigure=options.reconfigure)


def _decided(bolt: BoltShape, active: int, operator: _Operator, options: Options) -> BoltPlan:
    needed = operator.replicas(options.target)
    more = f" + {count(operator.catch_up)}/s" if operator.catch_up else ""
    sum_ = f"({count(operator.target_rate)}/s / {options.target:g}{more}) / {count(operator.true_rate)}/s = {count(needed)}"
    rates = f"{count(operator.target_rate)}/s are to come in, a replica's true rate is {count(operator.true_rate)}/s"
    reasons = [Reason("needs", sum_, "DS2"), Reason("rates", rates)]
    if operator.catch_up:
        reasons.append(Reason("queues", f"what waits is to be gone in {seconds_text(options.catch_up_seconds)}"))
    return granted(bolt, active, whole(needed), *reasons)


def _operators(situation: Situation, options: Options) -> dict[str, _Operator]:
    """In topological order, from the sources' rates on; one of which no true rate is known is left out."""
    interval, theta = situation.interval, situation.estimates.selectivity
    waiting = waiting_before(situation)
    rates = {name: spout.due / interval.seconds for name, spout in interval.spouts.items()}
    behind = dict.fromkeys(interval.spouts, 0.0)
    """What has to be caught up on, in events of each component."""
    found = {}
    for bolt in situation.shape.bolts:
        rates[bolt.id] = sum(rates[name] * theta[bolt.id][name] for name in bolt.sources)
        behind[bolt.id] = waiting[bolt.id] + sum(behind[name] * theta[bolt.id][name] for name in bolt.sources)
        true_rate = _true_rate(situation, bolt)
        if true_rate is not None:
            catch_up = behind[bolt.id] / options.catch_up_seconds if options.catch_up_seconds else 0.0
            found[bolt.id] = _Operator(rates[bolt.id], true_rate, catch_up)
    return found


def _true_rate(situation: Situation, bolt: BoltShape) -> float | None:
    """Events a second of a replica's useful time; of the last interval in which there were any."""
    did = situation.interval.bolts[bolt.id]
    if did.processed and did.seconds > 0:
        return bolt.concurrency * did.processed / did.seconds
    time = situation.estimates.execution[bolt.id].seconds
    return bolt.concurrency / time if time else None


def _is_outside(operator: _Operator, active: int, low: float, high: float) -> bool:
    """Whether its true rate is beyond what the bounds of the band ask for, with what there is to catch up on."""
    there = operator.true_rate * max(1, active)
    return there < operator.target_rate / high + operator.catch_up - _ROUNDING or there > _most(operator, low) + _ROUNDING


def _most(operator: _Operator, low: float) -> float:
    return operator.target_rate / low + operator.catch_up if low > 0 else float("inf")


POLICY = Policy(
    "ds2",
    "DS2, as Flink's autoscaler: true rates by useful time, one step to all bolts from the sources' rate",
    plan,
    Options,
    Needs(),
)
