"""The decisions that somebody should read: the largest changes, and whatever did not go as planned. Pure."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from pasps.control.decision_log import BY_HAND, Act, Outcome, Record
from pasps.control.plan import BoltPlan, Clamp
from pasps.report.words import clock_text, count_text, seconds_text, share_text

MOST_OF_A_KIND = {"change": 10, "held": 6, "failed": 6, "capped": 6, "note": 6}


class Kind(StrEnum):
    """Why a decision is worth reading."""

    CHANGE = "change"
    HELD = "held"
    FAILED = "failed"
    CAPPED = "capped"
    NOTE = "note"


@dataclass(slots=True)
class Notable:
    """One decision, or several in a row that say the same: `count` of them until `until`. The largest `weight` matters most."""

    kind: Kind
    number: int
    time: float
    uptime: float
    what: str
    why: str
    weight: float
    until: float
    count: int = 1


def notable(records: Iterable[Record]) -> list[Notable]:
    """The most important of each kind, in the order of time; keeps no more than those, and what is going on."""
    best: dict[Kind, list[tuple[float, int, int, Notable]]] = {kind: [] for kind in Kind}
    going_on: dict[tuple[Kind, str], Notable] = {}
    order = 0

    def keep(found: Notable) -> None:
        nonlocal order
        order += 1
        heap = best[found.kind]
        # of equals the earlier stays; `order` keeps the heap from comparing the decisions themselves
        heapq.heappush(heap, (found.weight, -found.number, -order, found))
        if len(heap) > MOST_OF_A_KIND[found.kind]:
            heapq.heappop(heap)

    for record in records:
        seen = dict(_states(record))
        for key in [key for key in going_on if key not in seen]:
            keep(going_on.pop(key))
        for key, found in seen.items():
            if key in going_on:
                _prolong(going_on[key], found)
            else:
                going_on[key] = found
        for found in _moments(record):
            keep(found)
    for found in going_on.values():
        keep(found)
    return sorted((entry[-1] for heap in best.values() for entry in heap), key=lambda found: (found.uptime, found.number, found.kind))


def lasted(found: Notable) -> str:
    """When it was, since the start of the run."""
    if found.count == 1:
        return clock_text(found.uptime)
    return f"{clock_text(found.uptime)} to {clock_text(found.until)}, {found.count:,} decisions"


def _prolong(going_on: Notable, now: Notable) -> None:
    going_on.count += 1
    going_on.until = now.uptime
    if now.weight > going_on.weight and now.kind is Kind.CAPPED:
        going_on.what, going_on.why = now.what, now.why
    going_on.weight = going_on.weight + 1 if now.kind is not Kind.CAPPED else max(going_on.weight, now.weight)


def _found(record: Record, kind: Kind, what: str, why: str, weight: float) -> Notable:
    return Notable(kind, record.number, record.time, record.uptime, what, why, weight, record.uptime)


def _states(record: Record) -> Iterator[tuple[tuple[Kind, str], Notable]]:
    """What may stay so for many decisions in a row, with what says that it is still the same."""
    held = record.plan.held
    if held:
        yield (Kind.HELD, held), _found(record, Kind.HELD, "nothing changes", held, 1.0)
    by_hand = [name for name, act in record.acts.items() if act.outcome is Outcome.HELD]
    if by_hand:
        names = ", ".join(by_hand)
        yield (Kind.HELD, "by hand " + names), _found(record, Kind.HELD, f"{names} as set by hand", "the loop leaves it alone", 1.0)
    for note in record.notes:
        yield (Kind.NOTE, note), _found(record, Kind.NOTE, note, "", 1.0)
    for name, bolt in record.plan.bolts.items():
        if Clamp.CAPPED in bolt.clamps:
            what = f"{name} gets {bolt.replicas} of {bolt.asked} replicas"
            why = f"the cores cannot carry more: {count_text(bolt.unmet)} events are not provided for; {reason(bolt)}"
            yield (Kind.CAPPED, name), _found(record, Kind.CAPPED, what, why, bolt.unmet)


def _moments(record: Record) -> Iterator[Notable]:
    """What happens once."""
    for name, act in record.acts.items():
        if act.outcome is Outcome.FAILED:
            what = f"{name} stayed at {act.after} of {act.planned} planned"
            yield _found(record, Kind.FAILED, what, act.error, abs(act.planned - act.before))
    changes = {name: change for name, act in record.acts.items() if (change := _change(act))}
    if changes:
        most = max(changes, key=lambda name: abs(changes[name]))
        what = ", ".join(f"{name} {record.acts[name].before} → {record.acts[name].after}" for name in changes)
        what += ", by a restart of all workers" if record.restart is not None else ""
        planned = record.plan.bolts.get(most)
        why = "set by hand" if record.moment == BY_HAND else f"{most}: {reason(planned)}" if planned is not None else ""
        yield _found(record, Kind.CHANGE, what, why, sum(map(abs, changes.values())))


def _change(act: Act) -> int:
    return act.after - act.before if act.outcome is Outcome.DONE else 0


def reason(bolt: BoltPlan) -> str:
    """Why it asks for its replicas, in words and numbers."""
    terms = bolt.terms
    if terms is None:
        return f"asks for {bolt.asked}"
    if terms.execution_seconds is None or terms.replicas is None:
        return "nothing was executed yet, so what an event costs is not known"
    waiting = f" and {count_text(terms.from_queues)} waiting" if terms.from_queues >= 1 else ""
    room = f", busy {share_text(terms.target)} of the time" if terms.target < 1 else ""
    return (
        f"{count_text(terms.from_input)} events expected in {terms.seconds:g} s{waiting}, "
        f"{seconds_text(terms.execution_seconds)} each{room}: {terms.replicas:.2f} replicas needed"
    )
