"""Ours: looks no further ahead than to the next correction, leaves room, and never plans more than the cores can carry.

The plan follows what just came in and how it changes, and the forecast as far as that was right a moment ago; it adds what it takes
to work off the queues in a short time. At the end of an interval bolts whose keyed tasks would move between workers, which the loop
does not let move in between, are planned for the highest second of the coming interval.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pasps.control.capacity import within_the_cores
from pasps.control.model import Reading, terms
from pasps.control.plan import BoltPlan, Clamp, Plan
from pasps.control.policies.options import option
from pasps.control.policies.policy import INTERVAL, Needs, Policy, as_asked
from pasps.control.policies.regret import Rises
from pasps.control.situation import BoltShape, Situation

_DAMPING = 0.5
"""How much of a second's change goes on: all of it overshoots where the input turns (simulated on four traces)."""


@dataclass(frozen=True, slots=True)
class Options:
    """Its knobs; `target` is the one to turn."""

    target: float = option(0.8, "Share of its time a replica is to be busy; higher saves replicas, lower shortens waits", above=0, most=1.5)
    drain_seconds: float = option(1.0, "Time in which queues are to be gone", unit="seconds", above=0)
    change_seconds: float = option(10.0, "What giving a replica back and fetching it again is worth", unit="seconds of a replica", least=0)
    scale_down_plans: int | None = option(None, "Fewer only when so many plans agree; null: by `change_seconds`", unit="plans", least=1)


def plan(situation: Situation, options: Options) -> Plan:
    """One decision, at the end of an interval or within it."""
    span, target, drain = situation.settings.correction_seconds, options.target, options.drain_seconds
    events = _expected(situation, span)
    near = terms(situation, events, Reading(span, target=target, drain_seconds=drain), _waiting(situation))
    if situation.moment == "cycle":
        ahead = _highest(situation, span)
        far = terms(situation, max(events, ahead), Reading(span, target=target, drain_seconds=drain), _waiting(situation))
        near = {bolt.id: far[bolt.id] if _is_bound(bolt, situation) else near[bolt.id] for bolt in situation.shape.bolts}
    asked = within_the_cores(situation, as_asked(situation, near, events))
    if options.scale_down_plans is not None:
        return _scaled_down_later(situation, asked, options.scale_down_plans)
    return _scaled_down_by_regret(situation, asked, options.change_seconds)


def _expected(situation: Situation, seconds: float) -> float:
    """Events of the next `seconds`: the trend of the last seconds and the forecast, each as far as it was right in the last second."""
    arrivals, forecast, now = situation.arrivals, situation.forecast, situation.interval.ended
    if len(arrivals) < 3:
        rate = arrivals[-1] if arrivals else situation.interval.due / situation.interval.seconds
        return rate * seconds
    # the last second's rate is that of its middle, half a second ago
    trend = max(0.0, arrivals[-1] + _DAMPING * (arrivals[-1] - arrivals[-2]) * (0.5 + seconds / 2))
    if forecast is None:
        return trend * seconds
    if situation.judged is None:
        return trend * seconds  # nothing is known of the forecasts' worth
    wrong_forecast = abs(situation.judged.total(now - 1.0, 1.0) - arrivals[-1])
    wrong_trend = abs(arrivals[-2] + _DAMPING * (arrivals[-2] - arrivals[-3]) - arrivals[-1])
    both = wrong_forecast**2 + wrong_trend**2
    trust = wrong_trend**2 / both if both else 0.5
    return trust * forecast.total(now, seconds) + (1.0 - trust) * trend * seconds


def _highest(situation: Situation, seconds: float) -> float:
    """The most events of any `seconds` of the coming interval, as forecast."""
    forecast, end = situation.forecast, situation.settings.interval_seconds
    if forecast is None:
        return 0.0
    starts = range(max(1, int(end - seconds) + 1))
    return max(forecast.total(situation.interval.ended + start, seconds) for start in starts)


def _is_bound(bolt: BoltShape, situation: Situation) -> bool:
    return bolt.keyed and situation.interval.workers > 1


def _waiting(situation: Situation) -> dict[str, float]:
    """Eq. 7 by edges, without the events that replicas have in hand: those wait for nobody."""
    interval, selectivity = situation.interval, situation.estimates.selectivity
    found = {name: float(spout.backlog) for name, spout in interval.spouts.items()}
    for bolt in situation.shape.bolts:
        now = interval.bolts[bolt.id]
        own = max(0, now.queued - now.active * bolt.concurrency)
        found[bolt.id] = own + sum(found[source] * selectivity[bolt.id][source] for source in bolt.sources)
    return found


def _scaled_down_later(situation: Situation, plan: Plan, plans: int) -> Plan:
    """Fewer replicas only when so many plans agree; bound bolts only at the end of an interval, or its highest second is forgotten."""
    bolts: dict[str, BoltPlan] = {}
    for shape in situation.shape.bolts:
        bolt = plan.bolts[shape.id]
        past = [before[shape.id] for before in situation.recent if shape.id in before]
        last = past[max(0, len(past) - (plans - 1)) :]
        may = len(last) == plans - 1 and not (situation.moment == "correction" and _is_bound(shape, situation))
        most = max([bolt.allowed, *last]) if may else bolt.active
        kept = max(bolt.allowed, min(bolt.active, most))
        clamps = bolt.clamps if kept == bolt.allowed else (*bolt.clamps, Clamp.DELAYED)
        bolts[shape.id] = replace(bolt, replicas=kept, clamps=clamps)
    return Plan(bolts, plan.input)


def _scaled_down_by_regret(situation: Situation, plan: Plan, change_seconds: float) -> Plan:
    """Fewer replicas when fetching them again, as likely as that is, costs less than keeping them (see `regret`)."""
    now, known = situation.interval.ended, situation.memory or {}
    bolts: dict[str, BoltPlan] = {}
    memory = {}
    for shape in situation.shape.bolts:
        bolt = plan.bolts[shape.id]
        exact = None if bolt.terms is None else bolt.terms.replicas
        rises = Rises.of(known.get(shape.id)).after(now, float(bolt.allowed) if exact is None else min(exact, shape.pool))
        memory[shape.id] = rises.written()
        waits = situation.moment == "correction" and _is_bound(shape, situation)
        most = bolt.active if waits else rises.kept(bolt.allowed, bolt.active, change_seconds)
        kept = max(bolt.allowed, min(bolt.active, most))
        clamps = bolt.clamps if kept == bolt.allowed else (*bolt.clamps, Clamp.DELAYED)
        bolts[shape.id] = replace(bolt, replicas=kept, clamps=clamps)
    return replace(plan, bolts=bolts, memory=memory)


POLICY = Policy(
    "pasps",
    "ours: corrects all the time from forecast and queues, keeps replicas below full use, within the cores",
    plan,
    Options,
    Needs(horizon_seconds=INTERVAL, corrects=True, warm_up=1.0),
)
