"""Kubernetes' Horizontal Pod Autoscaler, by CPU, and KEDA, by what waits: replicas in proportion to a metric and its target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pasps.control.plan import BoltPlan, Clamp, Plan, Reason
from pasps.control.policies.observed import busy_share, waiting_before
from pasps.control.policies.options import option
from pasps.control.policies.policy import Needs, Policy
from pasps.control.policies.reasoned import whole
from pasps.control.quantities import count, seconds_text
from pasps.control.situation import BoltShape, Situation

_MOST_REMEMBERED = 48
"""Recommendations of a bolt; they are falling, so fewer than its pool has replicas."""
_ROUNDING = 1e-9
Recommended = list[tuple[float, int]]


@dataclass(frozen=True, slots=True)
class Options:
    """As of a HorizontalPodAutoscaler and a ScaledObject, with their defaults."""

    metric: Literal["cpu", "lag"] = option("cpu", "What is held at its target: how busy replicas are, or what waits for each")
    target: float = option(0.8, "For `cpu`: share of its time a replica is to be busy", above=0, most=1.5)
    lag: float = option(10.0, "For `lag`: events that may wait for each replica", unit="events", above=0)
    tolerance: float = option(0.1, "No change while the metric is no further from its target, as a part of it", least=0, most=1)
    stabilisation_seconds: float = option(300.0, "As many as were recommended within so long", unit="seconds", least=0, most=3600)


def plan(situation: Situation, options: Options) -> Plan:
    """One decision, each bolt by itself."""
    now, waiting = situation.interval.ended, waiting_before(situation)
    memory: dict[str, Any] = situation.memory or {}
    recommended: dict[str, Recommended] = {}
    bolts = {}
    for bolt in situation.shape.bolts:
        # as long as nothing was recommended, what there is counts as recommended
        known = memory.get(bolt.id) or [(now, min(bolt.pool, situation.interval.bolts[bolt.id].active))]
        before = [(at, replicas) for at, replicas in known if at > now - options.stabilisation_seconds]
        bolts[bolt.id], recommended[bolt.id] = _decided(situation, options, bolt, waiting[bolt.id], before)
    return Plan(bolts, memory={name: [list(each) for each in kept] for name, kept in recommended.items()})


def _decided(situation: Situation, options: Options, bolt: BoltShape, waiting: float, before: Recommended) -> tuple[BoltPlan, Recommended]:
    did = situation.interval.bolts[bolt.id]
    active = max(1, did.active)
    if options.metric == "cpu":
        metric, target = busy_share(bolt, did, situation.interval), options.target
        said = f"replicas are busy {metric:.0%} of their time, {target:.0%} is the target"
    else:
        metric, target = waiting / active, options.lag
        said = f"{count(waiting)} wait, {count(metric)} for a replica, {count(target)} is the target"
    ratio = metric / target
    within = abs(ratio - 1.0) <= options.tolerance + _ROUNDING
    wanted = active if within else whole(active * ratio)
    allowed = min(wanted, bolt.pool)
    # the highest recommendation of the window holds; lower ones before a higher one will never count again
    kept = [(at, replicas) for at, replicas in before if replicas > allowed]
    newest = [*_fewer(kept), (round(situation.interval.ended, 3), allowed)]
    replicas = max(replicas for _, replicas in newest)
    # it delays scale-down alone: what was recommended once is no reason for more now
    replicas = max(allowed, min(replicas, active))
    clamps = [Clamp.AT_POOL] if wanted > bolt.pool else []
    clamps += [Clamp.DELAYED] if replicas > allowed else []
    needs = "within the tolerance: stays" if within else f"{active} x {ratio:.2f} = {count(active * ratio)}, rounded up {wanted}"
    reasons = [Reason("needs", f"{said}: {needs}")]
    if replicas > allowed:
        reasons.append(Reason("needs", f"{replicas} were recommended within the last {seconds_text(options.stabilisation_seconds)}"))
    return BoltPlan(did.active, wanted, allowed, replicas, clamps=tuple(clamps), reasons=tuple(reasons)), newest


def _fewer(recommended: Sequence[tuple[float, int]]) -> Sequence[tuple[float, int]]:
    """No more than can be remembered: of too many the second goes, whose time the first and higher one stands for."""
    return recommended if len(recommended) < _MOST_REMEMBERED else [recommended[0], *recommended[-_MOST_REMEMBERED + 2 :]]


POLICY = Policy(
    "threshold",
    "as Kubernetes' HPA by how busy replicas are, or as KEDA by what waits for each",
    plan,
    Options,
    Needs(interval_seconds=15.0),
)
