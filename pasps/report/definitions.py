"""Each measure with its name, its value as text, and what it is: the rows of every table that people see. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pasps.metrics import Latency
from pasps.report.errors_of_forecasts import Mean
from pasps.report.measures import Events, Measures
from pasps.report.words import UNKNOWN, count_text, of_text, seconds_text, share_text


@dataclass(frozen=True, slots=True)
class Definition:
    """One measure. `of_paper`: it is one of the six of the PA-SPS paper. `rare`: left out where it is not known."""

    name: str
    of_paper: bool
    text: Callable[[Measures], str]
    meaning: str
    rare: bool = False


def shown(measures: Measures) -> list[tuple[Definition, str]]:
    """The measures to show of this run, each with its value as text."""
    rows = [(definition, definition.text(measures)) for definition in DEFINITIONS]
    return [(definition, text) for definition, text in rows if text != UNKNOWN or not definition.rare]


def table(measures: Measures) -> str:
    """The measures as two columns of text."""
    rows = [(definition.name, text) for definition, text in shown(measures)]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)


def bolt_rows(measures: Measures) -> list[tuple[str, ...]]:
    """A row for each bolt; `BOLT_HEAD` says what stands in it."""
    return [
        (
            name,
            str(bolt.pool),
            f"{bolt.mean_active:.1f}",
            str(bolt.most_active),
            count_text(bolt.activations),
            share_text(bolt.utilisation),
            count_text(bolt.executed),
            count_text(bolt.most_queued),
        )
        for name, bolt in measures.bolts.items()
    ]


BOLT_HEAD = ("bolt", "pool", "mean active", "most active", "activations", "utilisation", "executed", "most queued")


def _mean_text(mean: Mean, of: str) -> str:
    if mean.value is None:
        return UNKNOWN
    left_out = f"; {mean.left_out:,} without input left out" if mean.left_out else ""
    return f"{share_text(mean.value)} ({of_text(mean.counted, of)}{left_out})"


def _latency_text(part: Callable[[Latency], float]) -> Callable[[Measures], str]:
    return lambda measures: UNKNOWN if measures.latency is None else seconds_text(part(measures.latency))


def _processed_text(events: Events) -> str:
    if events.share is None:
        return UNKNOWN
    # 99.996% must not read as everything
    share = f"{events.share:.1%}" if events.share > 1 or not events.unfinished else f"{min(events.share, 0.99999):.3%}"
    return f"{'at most ' if events.at_most else ''}{share} ({count_text(events.processed)} of {count_text(events.received)})"


def _unfinished_text(events: Events) -> str:
    return f"{'at least ' if events.at_most else ''}{count_text(events.unfinished)}"


def _activations_text(measures: Measures) -> str:
    replicas = measures.replicas
    return f"{replicas.activations:,} and {replicas.deactivations:,}"


def _decided_text(measures: Measures) -> str:
    replicas = measures.replicas
    return f"{replicas.activations_decided:,} and {replicas.deactivations_decided:,}"


def _decisions_text(measures: Measures) -> str:
    made = measures.decisions
    return f"{of_text(made.cycles, 'cycle')}, {of_text(made.corrections, 'correction')}"


def _forecasts_text(measures: Measures) -> str:
    return ", ".join(f"{count:,} {maker}" for maker, count in measures.decisions.forecasts.items()) or UNKNOWN


def _players_text(measures: Measures) -> str:
    return ", ".join(f"{name} {part:.0%}" for name, part in measures.decisions.players.items()) or UNKNOWN


def _restarts_text(measures: Measures) -> str:
    restarts = measures.decisions.restarts
    if not restarts.count:
        return UNKNOWN
    text = f"{restarts.count:,}; the spouts were silent for {seconds_text(restarts.waited + restarts.silent)}"
    text += f"; {restarts.replayed:,} events came again" if restarts.replayed else ""
    return text + (f"; {restarts.lost:,} untracked tuples were lost" if restarts.lost else "")


def _replica_seconds_text(measures: Measures) -> str:
    return f"{count_text(measures.replicas.seconds)} of {count_text(measures.replicas.most_seconds)}"


DEFINITIONS: Sequence[Definition] = (
    Definition(
        "saved resources",
        True,
        lambda measures: share_text(measures.saved_resources),
        "1 - r / r_over, averaged over time: r are the active and draining replicas of all bolts, r_over their pools.",
    ),
    Definition(
        "throughput degradation",
        True,
        lambda measures: _mean_text(measures.throughput_degradation, "interval"),
        "|input - output| / input of each whole interval, averaged: input became due in it, output was processed in it. "
        "Intervals without input are left out.",
    ),
    Definition(
        "latency, mean",
        True,
        _latency_text(lambda latency: latency.mean),
        "From the moment an event was due until all that came of it was processed.",
    ),
    Definition("latency, p50", False, _latency_text(lambda latency: latency.p50), "Half of all events took no longer."),
    Definition("latency, p95", False, _latency_text(lambda latency: latency.p95), "95% of all events took no longer."),
    Definition("latency, p99", False, _latency_text(lambda latency: latency.p99), "99% of all events took no longer."),
    Definition(
        "processed / received",
        True,
        lambda measures: _processed_text(measures.events),
        "Events processed until the end of the run, of all that became due. Without tracking: what the last bolts executed, "
        "divided by how many of their tuples one event makes. At most so many where a worker with a spout died: acked events may be "
        "emitted and acked again.",
    ),
    Definition(
        "error of predicted input",
        True,
        lambda measures: _mean_text(measures.input_error, "interval"),
        "|predicted - actual| / actual of each cycle, averaged: the events expected in the coming interval against those that "
        "became due in it. Intervals without input are left out, and so is one that was not over at the end.",
    ),
    Definition(
        "error of predicted replicas",
        True,
        lambda measures: _mean_text(measures.replica_error, "plan"),
        "|asked - needed| / needed of each bolt and cycle, averaged: needed is Eq. 2 with the input that came, within 1 and the pool.",
    ),
    Definition(
        "unfinished",
        False,
        lambda measures: _unfinished_text(measures.events),
        "Events that were due and not processed when the run ended; never less than what waited or was in flight.",
    ),
    Definition("failed", False, lambda measures: count_text(measures.events.failed), "Spout tuples that failed or timed out."),
    Definition(
        "replayed", False, lambda measures: count_text(measures.events.replayed), "Spout tuples emitted again; no part of the input."
    ),
    Definition(
        "lost",
        False,
        lambda measures: count_text(measures.events.lost),
        "Events that never came out, counted by id.",
        rare=True,
    ),
    Definition(
        "duplicated",
        False,
        lambda measures: count_text(measures.events.duplicated),
        "Events that came out more than once, counted by id.",
        rare=True,
    ),
    Definition("replica-seconds", False, _replica_seconds_text, "Active and draining replicas times seconds, of what whole pools make."),
    Definition(
        "activations and deactivations",
        False,
        _activations_text,
        "Replicas switched on and off: sums of the changes from each second to the next, for every bolt.",
    ),
    Definition("the same by the loop", False, _decided_text, "Of these, what the loop's own decisions did."),
    Definition("decisions", False, _decisions_text, "Cycles are made at the end of an interval, corrections in between."),
    Definition("forecasts", False, _forecasts_text, "Cycles that had one, by the model that made it, or by what stood in for it."),
    Definition(
        "of which models",
        False,
        _players_text,
        "What the forecasts of a tournament were mixed of, over all cycles: each model by what it would have cost of late.",
        rare=True,
    ),
    Definition(
        "held",
        False,
        lambda measures: count_text(measures.decisions.held),
        "Decisions that left everything as it was; a bolt that is held by hand is none.",
    ),
    Definition(
        "changes that failed",
        False,
        lambda measures: count_text(measures.decisions.failed),
        "Changes of a bolt that were refused, or not confirmed in time.",
    ),
    Definition(
        "restarts",
        False,
        _restarts_text,
        "How often all workers were started anew for a plan, and what came of what was under way. What was lost may be in no other "
        "number: without ackers an event with an id counts as processed when it is handed over.",
        rare=True,
    ),
)
