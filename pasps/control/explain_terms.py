"""The terms of one bolt in one decision as aligned lines: what Eq. 2 to 7 said, what clamped it, what was done. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from pasps.control.decision_log import Act, Outcome, Record, Restarted
from pasps.control.model import rounded_up
from pasps.control.plan import BoltPlan, Clamp, Reason, Terms
from pasps.control.quantities import count, seconds_text
from pasps.control.situation import ExecutionTime, Forecast, Situation

_CLAMPS: Mapping[Clamp, Callable[[BoltPlan], str]] = {
    Clamp.AT_POOL: lambda plan: f"asks for {plan.asked}, more than its pool",
    Clamp.UNKNOWN: lambda plan: f"nothing was executed yet, so what one event takes is not known: stays at {plan.replicas}",
    Clamp.CAPPED: lambda plan: (
        f"asks for {plan.asked}, but the cores, or the workers, carry no more than {plan.allowed}"
        f"{f'; {count(plan.unmet)} of its events cannot be done in that time' if plan.unmet else ''}"
    ),
    Clamp.DELAYED: lambda plan: (
        f"{plan.allowed} would do now, but replicas are not given back as soon as that: {plan.replicas} for the time being"
    ),
}
_OUTCOMES: Mapping[Outcome, Callable[[Act, int], str]] = {
    Outcome.DONE: lambda act, version: f"{_change(act)}: table {version}, every live worker routes by it",
    Outcome.POSTPONED: lambda act, version: f"{_change(act)} would move keyed tasks between workers: waits for the end of the interval",
    Outcome.HELD: lambda act, version: f"stays at {act.after}: it was set by hand, and is left alone until it is released",
    Outcome.FAILED: lambda act, version: f"{_change(act)} failed, it has {act.after}: {act.error or 'refused, or not confirmed in time'}",
}
_SOURCES: Mapping[str, str] = {
    "file": "from the benchmark's file",
    "live": "measured in the last interval",
    "last": "measured in an earlier interval",
    "unknown": "nothing was executed yet",
}
_FORECASTS: Mapping[str, str] = {"predictor": "{model}", "last good": "the last good forecast of {model}", "basic": "basic"}


def aligned(rows: list[Reason]) -> list[str]:
    """The rows as lines, indented, with equations in a column of their own. Who has no label goes on with the line before."""
    labels = max((len(row.label) for row in rows), default=0)
    texts = max((len(row.text) for row in rows if row.equation), default=0)
    return [f"  {row.label:{labels}}  {f'{row.text:{texts}}  [{row.equation}]' if row.equation else row.text}" for row in rows]


def rows_of(record: Record, bolt: str, *, whole: bool = True) -> list[Reason]:
    """What a decision says of a bolt that it decided about; not `whole`: without how the need came about."""
    plan = record.plan.bolts[bolt]
    rows: list[Reason] = []
    if whole and plan.terms is not None and record.situation is not None:
        rows += _need(record, record.situation, bolt, plan.terms)
    rows += (_asked(record, plan) + list(plan.reasons))[: None if whole else 1]
    rows += [Reason("clamps", _CLAMPS[clamp](plan)) for clamp in plan.clamps]
    act = record.acts.get(bolt)
    if act is not None:
        rows.append(Reason("done", _OUTCOMES[act.outcome](act, record.version)))
        if record.restart is not None and act.outcome is Outcome.DONE:
            rows.append(Reason("restart", restart_text(record.restart)))
    elif plan.replicas != plan.active:
        rows.append(Reason("done", f"nothing yet; planned was {plan.active} -> {plan.replicas}"))
    others = tuple(f"{name}: " for name in record.plan.bolts if name != bolt)
    rows += [Reason("notes", note.removeprefix(f"{bolt}: ")) for note in record.notes if not note.startswith(others)]
    return [Reason("" if i and row.label == rows[i - 1].label else row.label, row.text, row.equation) for i, row in enumerate(rows)]


def expected_text(record: Record) -> str:
    """`412 expected, lr`, or nothing when it planned for no input."""
    if record.plan.input is None:
        return ""
    expected = f"{count(record.plan.input)} expected"
    if record.situation is None:
        return expected
    spans = (plan.terms.seconds for plan in record.plan.bolts.values() if plan.terms is not None)
    seconds = next(spans, record.situation.settings.interval_seconds)
    return f"{expected}, {_basis(record.situation, record.plan.input, seconds)[0]}"


def restart_text(restart: Restarted) -> str:
    """What starting all workers anew took, and what came of what was under way."""
    waited, silent = seconds_text(restart.waited), seconds_text(restart.silent)
    text = f"all workers were started anew: the spouts were silent for {waited} before, and then for {silent}"
    if restart.replayed:
        text += f"; {restart.replayed:,} events were in flight and come again"
    elif restart.dropped:
        text += f"; {restart.dropped:,} tuples were under way, untracked, and are lost"
    return text


def _need(record: Record, situation: Situation, bolt: str, terms: Terms) -> list[Reason]:
    """Eq. 4 and 7, and where et_i comes from."""
    interval = situation.interval
    events = terms.from_input / terms.share if terms.share else record.plan.input or 0.0
    planned = record.plan.input is None or math.isclose(events, record.plan.input, rel_tol=1e-9)
    # what is planned for a later second than the others' can come from a forecast alone
    basis = _basis(situation, events, terms.seconds) if planned or situation.forecast is None else (_model(situation.forecast),)
    span = f"the {'next' if planned else 'busiest'} {seconds_text(terms.seconds)}{'' if planned else ' of the interval'}"
    came = f"{'at least ' if interval.lower_bound else ''}{count(interval.due)} came in the last {seconds_text(interval.seconds)}"
    rows = [
        Reason("input", f"{count(events)} events expected in {span}  ({'; '.join((*basis, came))})"),
        Reason("input", f"x share {_share(terms.share)} = {count(terms.from_input)} reach it", "Eq. 4"),
    ]
    if situation.forecast is not None and situation.forecast.players:
        parts = ", ".join(f"{player.name} {player.weight:.0%}" for player in situation.forecast.players)
        rows.append(Reason("forecast", f"of {parts}, by what each would have cost of late"))
    queued = interval.bolts[bolt].queued if bolt in interval.bolts else 0
    rows.append(Reason("queues", f"{count(terms.from_queues)} of what is queued reach it  ({count(queued)} queued here)", "Eq. 7"))
    time = situation.estimates.execution.get(bolt)
    if time is not None:
        rows.append(Reason("time", _time(time, record.notes)))
    return rows


def _asked(record: Record, plan: BoltPlan) -> list[Reason]:
    """Eq. 2, and what the policy aims at."""
    terms = plan.terms
    if terms is None:
        return [] if plan.reasons else [Reason("needs", f"{plan.asked}, says policy {record.policy}")]
    if terms.replicas is None or terms.execution_seconds is None:
        return []
    each, span = seconds_text(terms.execution_seconds), seconds_text(terms.seconds)
    hands = f" / {terms.concurrency} at a time" if terms.concurrency > 1 else ""
    if terms.target == 1.0 and terms.drain_seconds is None:
        sum_ = f"{count(terms.total)} events x {each} / {span}"
        return [Reason("needs", f"{sum_}{hands} = {_replicas(terms.replicas)}{_rounded(plan, terms.replicas)}", "Eq. 2")]
    drain = terms.seconds if terms.drain_seconds is None else terms.drain_seconds
    sum_ = f"{count(terms.from_input)} x {each} / ({span} x {terms.target:g}) + {count(terms.from_queues)} x {each} / {seconds_text(drain)}"
    sum_ = f"({sum_}){hands}" if hands else sum_
    aims = f"a replica is to be busy {terms.target:.0%} of its time with what comes in, and queues are to be gone in {seconds_text(drain)}"
    return [Reason("needs", f"{sum_} = {_replicas(terms.replicas)}{_rounded(plan, terms.replicas)}", "Eq. 2"), Reason("needs", aims)]


def _basis(situation: Situation, events: float, seconds: float) -> tuple[str, ...]:
    """Where the expected input comes from, and what the forecast says of the time itself where something else is planned for."""
    forecast = situation.forecast
    if forecast is None:
        return ("as just came in",)
    predicted = forecast.total(situation.interval.ended, seconds)
    if math.isclose(predicted, events, rel_tol=1e-9):
        return (_model(forecast),)
    return (f"{_model(forecast)}, at the fullest before more replicas could come; {count(predicted)} in the next {seconds_text(seconds)}",)


def _model(forecast: Forecast) -> str:
    return _FORECASTS[forecast.source].format(model=forecast.model)


def _time(time: ExecutionTime, notes: tuple[str, ...]) -> str:
    text = _SOURCES[time.source] if time.seconds is None else f"{seconds_text(time.seconds)} for one event, {_SOURCES[time.source]}"
    said = any(note.endswith(time.note) for note in notes)
    return text if said or not time.note else f"{text}; {time.note}"


def _rounded(plan: BoltPlan, replicas: float) -> str:
    if plan.asked != rounded_up(replicas):
        return f", asks for {plan.asked}"
    return f", rounded up {plan.asked}" if replicas > 0 else ", at least 1"


def _change(act: Act) -> str:
    return f"{act.before} -> {act.planned}"


def _replicas(replicas: float) -> str:
    """With as many digits as it takes to see which way it is rounded."""
    for digits in (2, 4, 6, 9):
        text = f"{replicas:.{digits}f}"
        if rounded_up(float(text)) == rounded_up(replicas):
            break
    return f"{text} replica{'' if float(text) == 1 else 's'}"


def _share(share: float) -> str:
    return f"{share:.2f}" if math.isclose(round(share, 2), share) else f"{share:.4g}"
