"""What the measures need of a run's decisions, and no more of each than that: a long run has many. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from pasps.control.decision_log import BY_HAND, Outcome, Record, Restarts
from pasps.control.plan import Plan
from pasps.control.situation import Forecast, Situation

_STOOD_IN = " standing in"


@dataclass(frozen=True, slots=True)
class Asked:
    """One bolt in a plan: what it asked for (at most its pool), and the terms of Eq. 2 without the predicted input."""

    pool: int
    replicas: int
    share: float
    from_queues: float
    execution_seconds: float
    concurrency: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Ahead:
    """What a cycle expected: `events` in the `seconds` after `began` (the topology's uptime), and what it asked for."""

    began: float
    seconds: float
    events: float
    bolts: tuple[Asked, ...]


@dataclass(frozen=True, slots=True)
class Ends:
    """The bolts that nobody subscribes to, and how many tuples one event of the input makes in all of them together."""

    bolts: tuple[str, ...]
    share: float


@dataclass(slots=True)
class Decided:
    """A run's decisions, counted. `activations` and `deactivations` are of replicas, as observed after each decision.

    `forecasts` are the cycles that had one, by the model that made it, and after those by what stood in for it; `players` the parts that
    models had in those of a tournament, added up.
    """

    cycles: int = 0
    corrections: int = 0
    held: int = 0
    failed: int = 0
    activations: int = 0
    deactivations: int = 0
    ahead: list[Ahead] = field(default_factory=list)
    ends: Ends | None = None
    concurrency: dict[str, int] = field(default_factory=dict)
    forecasts: dict[str, int] = field(default_factory=dict)
    players: dict[str, float] = field(default_factory=dict)
    restarts: Restarts = field(default_factory=Restarts)


def decided(records: Iterable[Record], interval_seconds: float) -> Decided:
    """The digest of all records."""
    found = Decided()
    for record in records:
        if record.moment == BY_HAND:
            continue
        found.cycles += record.moment == "cycle"
        found.corrections += record.moment == "correction"
        found.held += bool(record.plan.held)
        if record.restart is not None:
            found.restarts = found.restarts.after(record.restart)
        for act in record.acts.values():
            found.failed += act.outcome is Outcome.FAILED
            found.activations += max(0, act.after - act.before)
            found.deactivations += max(0, act.before - act.after)
        situation = record.situation
        if situation is None:
            continue
        found.ends = _ends(situation) or found.ends
        found.concurrency.update((bolt.id, bolt.concurrency) for bolt in situation.shape.bolts)
        if record.moment == "cycle":
            _count_forecast(found, situation.forecast)
            ahead = _ahead(situation, record.plan, interval_seconds)
            found.ahead += [] if ahead is None else [ahead]
    found.forecasts = dict(sorted(found.forecasts.items(), key=lambda count: count[0].endswith(_STOOD_IN)))
    found.players = dict(sorted(found.players.items(), key=lambda part: -part[1]))
    return found


def _count_forecast(found: Decided, forecast: Forecast | None) -> None:
    if forecast is not None:
        # basic may be what was chosen; `why` says that something stands in for another model
        maker = f"{forecast.source}{_STOOD_IN}" if forecast.why else forecast.model
        found.forecasts[maker] = found.forecasts.get(maker, 0) + 1
        for player in forecast.players:
            found.players[player.name] = found.players.get(player.name, 0.0) + player.weight


def _ends(situation: Situation) -> Ends | None:
    """None while shares are not known."""
    subscribed = {source for bolt in situation.shape.bolts for source in bolt.sources}
    ends = tuple(bolt.id for bolt in situation.shape.bolts if bolt.id not in subscribed)
    share = sum(situation.estimates.share.get(name, 0.0) for name in ends)
    return Ends(ends, share) if share > 0 else None


def _ahead(situation: Situation, plan: Plan, interval_seconds: float) -> Ahead | None:
    """None when nothing was planned for a predicted input, as with static replicas or a plan that was held."""
    if plan.input is None or plan.held:
        return None
    now, forecast = situation.interval.ended, situation.forecast
    bolts = _asked(situation, plan)
    if forecast is not None:
        # a policy that looks less far ahead than td is measured by what its forecast says of the whole of it
        return Ahead(now, interval_seconds, forecast.total(now, interval_seconds), bolts)
    seconds = bolts[0].seconds if bolts else interval_seconds
    return Ahead(now, seconds, plan.input, bolts)


def _asked(situation: Situation, plan: Plan) -> tuple[Asked, ...]:
    found = []
    for bolt in situation.shape.bolts:
        planned = plan.bolts.get(bolt.id)
        terms = planned.terms if planned is not None else None
        if planned is None or terms is None or terms.replicas is None or terms.execution_seconds is None:
            continue
        replicas = min(max(1, planned.asked), bolt.pool)
        found.append(Asked(bolt.pool, replicas, terms.share, terms.from_queues, terms.execution_seconds, terms.concurrency, terms.seconds))
    return tuple(found)
