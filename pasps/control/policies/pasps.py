"""Ours: looks no further ahead than capacity takes to come, leaves the room that its aim wants, never plans more than the cores carry.

The plan follows the forecast of the time until the next correction, and adds what it takes to work off the queues in a short time. At
the end of an interval bolts whose keyed tasks would move between workers, which the loop does not let move in between, are planned for
the highest second of the coming interval.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from msgspec import structs

from pasps.control.capacity import within_the_cores
from pasps.control.model import Reading, never_resting, terms
from pasps.control.plan import BoltPlan, Clamp, Plan, Reason, Terms
from pasps.control.policies.late_share import Ease
from pasps.control.policies.options import option
from pasps.control.policies.policy import INTERVAL, Needs, Policy, as_asked
from pasps.control.policies.regret import WINDOW_SECONDS, Rises
from pasps.control.policies.staffing import cheapest
from pasps.control.situation import BoltShape, Forecast, PolicySettings, Situation
from pasps.errors import ConfigError

_DRAIN_SECONDS = 0.25
_DRAIN_OF_TARGET = 0.25
"""With a latency that is to be kept queues may last for this part of it, if nobody says otherwise."""
_SLIVER = 0.25
"""So little of a replica more is not worth one: what it leaves undone waits in a queue, which asks for it when it has grown."""
_NEAR_SECONDS = 1.0
_MOST_RATIO = 1e6
_LEARNT_SECONDS = 5
"""Seconds of latencies that are looked at, so that one that a late cycle missed is in it."""


@dataclass(frozen=True, slots=True)
class Options:
    """Its knobs; `target` is the one to turn, or say what is wanted by `latency_target`, or by the two prices."""

    target: float = option(0.9, "Share of its time a replica is to be busy; higher saves replicas, lower shortens waits", above=0, most=5)
    latency_target: float | None = option(None, "p95 of the latency, which it finds the utilisation for", unit="seconds", above=0)
    late_cost: float | None = option(None, "What an event costs that waits for a second; with `replica_cost` in place of `target`", above=0)
    replica_cost: float | None = option(None, "What a replica costs a second", above=0)
    drain_seconds: float | None = option(
        None, "Time in which queues are to be gone; null: 0.25, or a quarter of `latency_target`", unit="seconds", above=0
    )
    change_seconds: float = option(3.0, "What giving a replica back and fetching it again is worth", unit="seconds of a replica", least=0)
    move_seconds: float = option(1.0, "What moving a keyed task to another worker is worth, besides", unit="seconds of a replica", least=0)
    lead_seconds: float = option(0.0, "How long a replica takes to come that is asked for", unit="seconds", least=0, most=3600)
    scale_down_plans: int | None = option(None, "Fewer only when so many plans agree; null: by `change_seconds`", unit="plans", least=1)

    def __post_init__(self) -> None:
        """Raises ConfigError for what contradicts itself."""
        if (self.late_cost is None) != (self.replica_cost is None):
            missing = "late_cost" if self.late_cost is None else "replica_cost"
            raise ConfigError(
                f"pasps.policy.options.{missing}", "is missing: late_cost and replica_cost go together", where="policy 'pasps'"
            )
        if self.late_cost is not None and self.latency_target is not None:
            cure = "leave out one of them"
            raise ConfigError("pasps.policy.options.latency_target", "is not for who has prices", where="policy 'pasps'", cure=cure)
        ratio = self.price_ratio
        if ratio is not None and not 1 / _MOST_RATIO <= ratio <= _MOST_RATIO:
            raise ConfigError(
                "pasps.policy.options.late_cost",
                f"expected it to be between a millionth and a million times replica_cost, got {ratio:g} times",
                where="policy 'pasps'",
            )

    @property
    def without(self) -> Mapping[str, str]:
        """See `pasps.control.policies.options`."""
        return {} if self.price_ratio is None else {"target": "late_cost and replica_cost say what is wanted"}

    def cautions(self, settings: PolicySettings, said: Mapping[str, str]) -> list[str]:
        """See `pasps.control.policies.options.cautions`."""
        if self.latency_target is None or "target" not in said:
            return []
        return [f"configuration key {said['target']!r} tells policy 'pasps' only where it begins: it finds what keeps latency_target"]

    @property
    def price_ratio(self) -> float | None:
        """What a second of waiting costs, in seconds of a replica; None: there are no prices."""
        return self.late_cost / self.replica_cost if self.late_cost is not None and self.replica_cost is not None else None

    @property
    def quantile(self) -> float:
        """Of what may come in a time that is longer than a correction: the one that is planned for."""
        ratio = self.price_ratio
        return 0.5 if ratio is None else ratio / (1.0 + ratio)

    @property
    def drain(self) -> float:
        """The time in which queues are to be gone."""
        found = self.drain_seconds
        if found is None:
            found = _DRAIN_SECONDS if self.latency_target is None else _DRAIN_OF_TARGET * self.latency_target
        return max(found, self.lead_seconds)  # what comes later than that cannot work them off sooner


def plan(situation: Situation, options: Options) -> Plan:
    """One decision, at the end of an interval or within it: 1. the utilisation, 2. what comes, 3. what that takes, 4. what stays."""
    known = situation.memory or {}
    seconds = situation.settings.correction_seconds
    reading = Reading(seconds, target=options.target, drain_seconds=options.drain, whole_events=True)
    events, waiting = _expected(situation, options, seconds), _waiting(situation)
    kept = None
    if options.latency_target is not None:
        carried = _is_carried(situation, terms(situation, events, replace(reading, target=1.0), waiting), events)
        kept = Ease.of(known.get("latency"), options.target).after(situation.history, options.latency_target, carried=carried)
        reading = replace(reading, target=kept.target, drain_seconds=options.drain * kept.drain)
    needs = _terms(situation, events, reading, waiting, options)
    bound = frozenset(bolt.id for bolt in situation.shape.bolts if _is_bound(bolt, situation))
    if situation.moment == "cycle" and bound:
        far = _terms(situation, max(events, _highest(situation, options, seconds)), reading, waiting, options)
        needs |= {name: far[name] for name in bound}
    # with prices the room is what is cheapest, to the last part of a replica
    asked = within_the_cores(situation, as_asked(situation, needs, events, _SLIVER if options.price_ratio is None else 0.0))
    if options.scale_down_plans is not None:
        planned = _scaled_down_later(situation, asked, options.scale_down_plans)
    else:
        planned = _scaled_down_by_regret(situation, asked, options, known.get("rises"))
    if kept is None or options.latency_target is None:
        return planned
    memory = {**(planned.memory or {}), "latency": kept.written()}
    return replace(planned, bolts=_aiming(planned.bolts, kept, options.latency_target), memory=memory)


# ---- what comes


def _expected(situation: Situation, options: Options, seconds: float) -> float:
    """Events of the next `seconds`, as forecast; where nobody forecasts, or who does cannot, as many as just came in.

    Where replicas take a while to come: as many as in the fullest such time until then, since what is needed then is asked for now.
    """
    arrivals, forecast, now = situation.arrivals, situation.forecast, situation.interval.ended
    if forecast is None or forecast.why:
        return (arrivals[-1] if arrivals else situation.interval.due / situation.interval.seconds) * seconds
    if not options.lead_seconds:
        return forecast.total(now, seconds)
    window = max(seconds, _NEAR_SECONDS)
    starts = range(math.ceil(options.lead_seconds / window) + 1)
    return max(_total(forecast, options, now + start * window, window) for start in starts) * seconds / window


def _highest(situation: Situation, options: Options, seconds: float) -> float:
    """The most events of any `seconds` of the coming interval, as forecast; with prices at least what all of it may bring."""
    forecast, now, whole = situation.forecast, situation.interval.ended, situation.settings.interval_seconds
    if forecast is None:
        return 0.0
    starts = range(max(1, int(whole - seconds) + 1))
    return max(_total(forecast, options, now, whole) * seconds / whole, *(forecast.total(now + start, seconds) for start in starts))


def _total(forecast: Forecast, options: Options, now: float, seconds: float) -> float:
    """What is to be planned for: what is expected, or with prices what they say may be exceeded that seldom."""
    if options.price_ratio is None:
        return forecast.total(now, seconds)
    return forecast.total_at(options.quantile, now, seconds)


# ---- what that takes


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


def _terms(situation: Situation, events: float, reading: Reading, waiting: Mapping[str, float], options: Options) -> dict[str, Terms]:
    """As the equations have it; with prices the target of each bolt is what is cheapest at its load."""
    ratio = options.price_ratio
    if ratio is None:
        return terms(situation, events, reading, waiting)
    found = {}
    for bolt, needs in zip(situation.shape.bolts, terms(situation, events, replace(reading, target=1.0), waiting).values(), strict=True):
        if needs.replicas is not None and needs.execution_seconds is not None:
            load = needs.from_input * needs.execution_seconds / needs.seconds / needs.concurrency
            room = cheapest(load, ratio, bolt.pool) - load
            needs = structs.replace(needs, replicas=needs.replicas + room, target=load / (load + room) if load > 0 else 1.0)
        found[bolt.id] = needs
    return found


# ---- a latency that is to be kept


def _is_carried(situation: Situation, needs: Mapping[str, Terms], events: float) -> bool:
    """Whether replicas that are busy all the time could do it: no bolt has all that pool, cores and workers give it, and needs more."""
    most = within_the_cores(situation, as_asked(situation, needs, events)).bolts
    return not any(bolt.active >= bolt.allowed and (bolt.unmet > 0 or bolt.asked > bolt.allowed) for bolt in most.values())


def _aiming(bolts: Mapping[str, BoltPlan], kept: Ease, limit: float) -> dict[str, BoltPlan]:
    said = (
        f"95% of the events within {limit:g} s: {kept.late:.1%} were late of late, so replicas may be busy {kept.target:.0%} of their time"
    )
    return {name: structs.replace(bolt, reasons=(*bolt.reasons, Reason("aims", said))) for name, bolt in bolts.items()}


# ---- what stays


def _scaled_down_later(situation: Situation, plan: Plan, plans: int) -> Plan:
    """Fewer replicas only when so many plans agree; bound bolts only at the end of an interval, or its highest second is forgotten."""
    bolts: dict[str, BoltPlan] = {}
    for shape in situation.shape.bolts:
        bolt = plan.bolts[shape.id]
        past = [before[shape.id] for before in situation.recent if shape.id in before]
        last = past[max(0, len(past) - (plans - 1)) :]
        may = len(last) == plans - 1 and not (situation.moment == "correction" and _is_bound(shape, situation))
        bolts[shape.id] = _at_most(bolt, max([bolt.allowed, *last]) if may else bolt.active)
    return Plan(bolts, plan.input)


def _scaled_down_by_regret(situation: Situation, plan: Plan, options: Options, known: Mapping[str, Any] | None) -> Plan:
    """Fewer replicas when fetching them again, as likely as that is, costs less than keeping them (see `regret`).

    One that takes a while to come is missed for as long, which is worth as much as keeping it. What a bound bolt's change costs are
    the tasks that it moves to another worker too; and it gets more only for what that is worth.
    """
    pace = min(situation.settings.correction_seconds, situation.settings.interval_seconds)
    # what is given back now cannot come again before the next decision
    rises = Rises(known, max(WINDOW_SECONDS, options.lead_seconds, pace), pace)
    change = options.change_seconds + options.lead_seconds
    rises.learn(situation.interval.ended, {shape.id: _exact_need(shape, plan.bolts[shape.id]) for shape in situation.shape.bolts})
    bolts = {}
    for shape in situation.shape.bolts:
        bolt = plan.bolts[shape.id]
        if not shape.keyed and bolt.active <= bolt.allowed:
            bolts[shape.id] = bolt
        elif not _is_bound(shape, situation):
            bolts[shape.id] = _at_most(bolt, rises.kept(shape.id, bolt.allowed, bolt.active, change))
        elif situation.moment == "correction":
            bolts[shape.id] = _at_most(bolt, bolt.active)
        else:
            price = options.move_seconds * _moves_a_replica(shape, bolt, situation.interval.workers)
            if bolt.allowed > bolt.active and _is_not_worth(bolt, price, situation.settings.interval_seconds):
                bolts[shape.id] = _unmoved(bolt)
            else:
                bolts[shape.id] = _at_most(bolt, rises.kept(shape.id, bolt.allowed, bolt.active, change + price))
    return replace(plan, bolts=bolts, memory={"rises": rises.written()})


def _exact_need(shape: BoltShape, bolt: BoltPlan) -> float:
    """Before it is rounded up; no more than its pool."""
    exact = None if bolt.terms is None else bolt.terms.replicas
    return float(bolt.allowed) if exact is None else min(exact, shape.pool)


def _unmoved(bolt: BoltPlan) -> BoltPlan:
    said = f"{bolt.allowed} would move keyed tasks to other workers, which costs more than it brings"
    return structs.replace(bolt, replicas=bolt.active, reasons=(*bolt.reasons, Reason("moves", said)))


def _at_most(bolt: BoltPlan, most: int) -> BoltPlan:
    """With no more replicas given back than so many are left."""
    kept = max(bolt.allowed, min(bolt.active, most))
    if kept == bolt.replicas:
        return bolt
    clamps = bolt.clamps if kept == bolt.allowed else (*bolt.clamps, Clamp.DELAYED)
    return structs.replace(bolt, replicas=kept, clamps=clamps)


def _moves_a_replica(shape: BoltShape, bolt: BoltPlan, workers: int) -> float:
    """About how many of its tasks go to another worker for each replica that comes or goes: those of one, unless they stay near."""
    return shape.pool / max(bolt.active, bolt.allowed) * (workers - 1) / workers


def _is_not_worth(bolt: BoltPlan, price: float, seconds: float) -> bool:
    """Whether a replica more brings less than it costs in so long a time. A bolt that cannot carry what comes always needs it."""
    if bolt.terms is None or bolt.terms.replicas is None or never_resting(bolt.terms) > bolt.active:
        return False
    return min(1.0, bolt.terms.replicas - bolt.active) * seconds < price


def _needs_of(options: Options) -> Needs:
    lead = options.lead_seconds
    return Needs(
        horizon_seconds=INTERVAL,
        history_seconds=0 if options.latency_target is None else _LEARNT_SECONDS,
        quantiles=() if options.price_ratio is None else (options.quantile,),
        corrects=True,
        warm_up=1.0,
        correction_horizon_seconds=lead + _NEAR_SECONDS,
    )


POLICY = Policy(
    "pasps",
    "ours: corrects all the time from forecast and queues, keeps the room that its aim wants, within the cores",
    plan,
    Options,
    _needs_of(Options()),
    _needs_of,
)
