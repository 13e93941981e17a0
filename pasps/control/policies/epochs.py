"""BGElasor's cost of a bolt's replicas over epochs of td, its Eq. 5 to 9, for the policies that plan by it. Pure.

From BGElasor (Bi-GRU based elastic scaling, whose SREA, SPEA and CBA these policies are); what is corrected is in docs/policies.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pasps.control.plan import BoltPlan, Plan, Reason, Step
from pasps.control.policies.options import option
from pasps.control.policies.policy import INTERVAL, Needs
from pasps.control.policies.reasoned import granted, unknown, whole
from pasps.control.quantities import count, seconds_text
from pasps.control.situation import Situation

MOST_HORIZON = 60
_MOST_TOLD = 12
_LATE_SECONDS = 1.0
"""A step of the timetable is this much later than the next plan is due, which replaces it; so it is taken when there is none."""


@dataclass(frozen=True, slots=True)
class Prices:
    """p, p_u, p_d, p_r: of a replica for an epoch, of starting one, of stopping one, and of routing anew."""

    replica: float
    start: float
    stop: float
    route: float


@dataclass(frozen=True, slots=True)
class Epochs:
    """What all of them take: how much of an epoch a replica is to be busy."""

    target: float = option(1.0, "Share of its time a replica is to be busy", above=0, most=1.5)


@dataclass(frozen=True, slots=True)
class Priced(Epochs):
    """And what those take that look at costs; the defaults are those of the paper's figures."""

    horizon: int = option(10, "How many epochs it looks ahead", unit="intervals", least=1, most=MOST_HORIZON)
    price_replica: float = option(8000.0, "p: what a replica costs for an epoch", least=0, most=1e9)
    price_start: float = option(5000.0, "p_u: what it costs to start one", least=0, most=1e9)
    price_stop: float = option(5000.0, "p_d: what it costs to stop one", least=0, most=1e9)
    price_route: float = option(100.0, "p_r: what it costs to route anew, however many come or go", least=0, most=1e9)

    @property
    def prices(self) -> Prices:
        """The four."""
        return Prices(self.price_replica, self.price_start, self.price_stop, self.price_route)


def looking_ahead(options: Priced) -> Needs:
    """What a policy with these options needs: as many epochs of forecast as it looks ahead."""
    return Needs(horizon_seconds=INTERVAL, intervals=options.horizon)


def base_of(inputs: Sequence[float], capacity: float) -> list[int]:
    """The fewest replicas that can do each epoch's input, when one can do `capacity` in an epoch."""
    return [whole(events / capacity) for events in inputs]


def cost(replicas: Sequence[int], base: Sequence[int], prices: Prices, start: int | None = None) -> float:
    """Eq. 9. `start`: what there is before the first epoch; None: that costs nothing to reach, as in the paper."""
    total = prices.replica * sum(count - least for count, least in zip(replicas, base, strict=True))
    for before, after in pairwise(replicas if start is None else [start, *replicas]):
        total += prices.start * max(0, after - before) + prices.stop * max(0, before - after) + prices.route * (after != before)
    return total


def short(replicas: Sequence[int], base: Sequence[int]) -> list[int]:
    """The epochs, counted from 0, in which there are too few. Such a plan pays less: Eq. 9 has no price for it."""
    return [epoch for epoch, (count, least) in enumerate(zip(replicas, base, strict=True)) if count < least]


Choose = Callable[[list[int], int], tuple[Sequence[int], tuple[Reason, ...]]]
"""Replicas of each epoch, and why, by the fewest that can do each and those that there are now."""


def planned(situation: Situation, inputs: Sequence[float], target: float, choose: Choose) -> Plan:
    """Each bolt's replicas for the first epoch, and its timetable for the others, when so many events come into the topology in each."""
    td = situation.settings.interval_seconds
    bolts: dict[str, BoltPlan] = {}
    later: list[dict[str, int]] = [{} for _ in inputs[1:]]
    for bolt in situation.shape.bolts:
        active, time = situation.interval.bolts[bolt.id].active, situation.estimates.execution[bolt.id].seconds
        if not time:
            bolts[bolt.id] = unknown(active)
            continue
        capacity = td * target * bolt.concurrency / time
        coming = [events * situation.estimates.share[bolt.id] for events in inputs]
        needed = base_of(coming, capacity)
        # the pool is no part of the paper: what is beyond it cannot be had in any epoch
        base, present = [min(least, bolt.pool) for least in needed], min(active, bolt.pool)
        chosen, reasons = choose(base, present)
        sum_ = f"{count(coming[0])} events of the next {seconds_text(td)} / {count(capacity)} a replica = {count(coming[0] / capacity)}"
        reasons = (*reasons, Reason("input", f"{sum_}, rounded up {needed[0]}", "base"))
        bolts[bolt.id] = granted(bolt, active, chosen[0] if needed[0] <= bolt.pool else needed[0], *reasons)
        for step, (before, after) in zip(later, pairwise(chosen), strict=True):
            if after != before:
                step[bolt.id] = after
    timetable = tuple(Step(epoch * td + _LATE_SECONDS, step) for epoch, step in enumerate(later, 1) if step)
    return Plan(bolts, inputs[0], timetable=timetable)


def planned_ahead(situation: Situation, options: Priced, method: Callable[[Sequence[int], Prices, int], Sequence[int]]) -> Plan:
    """The same for as many epochs as are looked ahead, by a method that takes the fewest replicas of each, prices, and what there is."""
    inputs, prices = forecast_inputs(situation, options.horizon), options.prices
    if inputs is None:
        return Plan({}, held="there is no forecast")

    def choose(base: list[int], present: int) -> tuple[Sequence[int], tuple[Reason, ...]]:
        chosen = method(base, prices, present)
        return chosen, _priced_reasons(chosen, base, prices, present)

    return planned(situation, inputs, options.target, choose)


def forecast_inputs(situation: Situation, epochs: int) -> list[float] | None:
    """Events of each of the next epochs; None: nobody forecasts."""
    forecast, seconds = situation.forecast, situation.settings.interval_seconds
    if forecast is None:
        return None
    now = situation.interval.ended
    return [forecast.total(now + epoch * seconds, seconds) for epoch in range(epochs)]


def _priced_reasons(chosen: Sequence[int], base: Sequence[int], prices: Prices, present: int) -> tuple[Reason, ...]:
    """What was chosen for the epochs, and what that saves."""
    told = f"{chosen[0]} now, of the epochs {_listed(chosen)}; the fewest that would do are {_listed(base)}"
    here, there = (count(cost(each, base, prices, present)) for each in (chosen, base))
    costs = f"{here} above what the fewest replicas cost themselves; to have just these would cost {there}"
    return Reason("needs", told, "Eq. 9"), Reason("cost", costs, "Eq. 9")


def _listed(epochs: Sequence[int]) -> str:
    """`3 4 5 4 3`, of many the first."""
    return " ".join(map(str, epochs[:_MOST_TOLD])) + (" .." if len(epochs) > _MOST_TOLD else "")
