"""Why bolts have their replicas, in words and numbers: records of decisions in, text out. Pure. For `pasps explain` and live views."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from difflib import get_close_matches

from pasps.control.decision_log import BY_HAND, Outcome, Rebuilt, Record, replayed
from pasps.control.explain_terms import aligned, expected_text, rows_of
from pasps.control.plan import Plan
from pasps.control.policies.policy import Policy
from pasps.errors import InvalidError

MOST_CHARACTERS = 100
"""Of a headline."""
NOTHING = "no decision was made yet"
_AT_HELP = "write seconds since the start ('90'), a clock time ('14:03:05') or an ISO time ('2025-01-31T14:03:05')"
_BECAME: Mapping[Outcome, str] = {
    Outcome.DONE: "",
    Outcome.POSTPONED: " postponed",
    Outcome.HELD: " held by hand",
    Outcome.FAILED: " failed",
}


def headline(record: Record) -> str:
    """A decision in 100 characters at most, for live views: `cycle 12: count 2->3 (412 expected, lr)`."""
    if record.plan.held:
        return _cut(f"held: {record.plan.held}")
    expected = expected_text(record)
    because = f" ({expected})" if expected else ""
    changes = [f"{bolt} {act.before}->{act.planned}{_BECAME[act.outcome]}" for bolt, act in record.acts.items()]
    for shown in range(len(changes), 0, -1):
        more = f" and {len(changes) - shown} more" if shown < len(changes) else ""
        text = f"{_named(record)}: {', '.join(changes[:shown])}{more}{because}"
        if len(text) <= MOST_CHARACTERS:
            return text
    return _cut(f"{_named(record)}: {f'{len(changes)} changes' if changes else 'nothing to change'}{because}")


def explained(records: Iterable[Record], bolt: str | None = None, at: str | None = None, zone: tzinfo | None = None) -> str:
    """Why the bolt, or every bolt in short, has its replicas.

    Args:
        records: Those of one run, oldest first; gone through twice at most, one record at a time.
        bolt: None: all, a paragraph each. Before anything is known of bolts, why nothing was decided is told of any.
        at: Seconds since the start, a clock time or an ISO time, to explain the decision that was in force then.
        zone: That of the times; None: this machine's.

    Raises:
        InvalidError: no such bolt (with the nearest name), no such time, or no decision before it.
    """
    newest, histories = _seen(records, at, zone)
    if newest is None:
        return NOTHING
    if bolt is not None and histories:
        return "\n".join(_paragraph(_known(histories, bolt), newest, zone, whole=True))
    expected = expected_text(newest)
    lines = [f"{_name(newest)} at {_clock(newest, zone)}, policy {newest.policy}{f': {expected}' if expected else ''}"]
    if newest.plan.held:
        lines.append(f"nothing was decided: {newest.plan.held}")
    for history in histories.values():
        lines += ["", *_paragraph(history, newest, zone, whole=False)]
    return "\n".join(lines)


def concerned(records: Iterable[Record], bolt: str | None = None, at: str | None = None, zone: tzinfo | None = None) -> list[Record]:
    """The records that `explained` speaks of, oldest first.

    Raises:
        InvalidError: as `explained` does.
    """
    newest, histories = _seen(records, at, zone)
    meant = [_known(histories, bolt)] if bolt is not None and histories else histories.values()
    found = [record for history in meant for record in (history.origin, history.found, history.last)]
    return sorted({record.number: record for record in (*found, newest) if record is not None}.values(), key=lambda record: record.number)


def replay(records: Iterable[Record], policy_of: Callable[[str], Policy], only: int | None = None) -> tuple[list[str], bool]:
    """Decide everything again, or the record of that number `only`; what became of it as lines, and whether all plans are the same.

    `policy_of` gives a policy by name. What it and the policy raise passes through.
    """
    same = nothing = lost = 0
    lines: list[str] = []
    rebuilt = Rebuilt()
    for written in records:
        if written.moment in (BY_HAND, "timetable"):
            continue
        record = rebuilt.whole(written)
        if only is not None and written.number != only:
            continue
        if record is None:
            lost += 1
            continue
        if record.situation is None or record.plan.held.startswith(f"policy {record.policy!r} raised"):
            nothing += 1
            continue
        again = replayed(record, policy_of(record.policy))
        if again == record.plan:
            same += 1
        else:
            lines.append(f"{_name(record)}: {_difference(record.plan, again)}")
    total = f"{same} of {same + len(lines)} decisions are the same when they are made again"
    total += f"; {nothing} made no plan" if nothing else ""
    total += f"; {lost} look back to seconds that are not in the log" if lost else ""
    return [*lines, total], not lines


@dataclass(slots=True)
class _History:
    """What the log knows of a bolt, as records are added to it.

    `origin` is the record that gave it its replicas, a decision or a change by hand, `last` the last decision about it. When it
    has changed after that in another way, `found` is the first decision that met it so, and `was` what it had before.
    """

    bolt: str
    replicas: int | None = None
    pool: int | None = None
    origin: Record | None = None
    last: Record | None = None
    found: Record | None = None
    was: int = 0
    version: int = 0

    def add(self, record: Record) -> None:
        """One more record that knows of the bolt; they come in order."""
        planned, act = record.plan.bolts.get(self.bolt), record.acts.get(self.bolt)
        active = _active(record, self.bolt)
        # a snapshot from before the last table tells nothing of who changed what after it
        fresh = record.situation is None or record.situation.interval.versions[1] >= self.version
        if self.replicas is None:
            self.replicas = active
        elif fresh and active != self.replicas:
            self.found, self.was, self.origin, self.replicas = record, self.replicas, None, active
        if act is not None and act.after != act.before:
            self.origin, self.found, self.replicas = record, None, act.after
        if not record.plan.held:
            self.version = record.version
        if planned is not None and not record.plan.held and record.moment != BY_HAND:
            self.last = record


def _active(record: Record, bolt: str) -> int:
    """The replicas that it had before the decision; of one without a plan for it, as its snapshot has it."""
    if bolt not in record.plan.bolts and record.situation is not None:
        return record.situation.interval.bolts[bolt].active
    return record.plan.bolts[bolt].active


def _seen(records: Iterable[Record], at: str | None, zone: tzinfo | None) -> tuple[Record | None, dict[str, _History]]:
    """The decision in force at that time, and the history of each bolt until then, in topological order."""
    counts = _until(at, records, zone)
    newest = first = None
    histories: dict[str, _History] = {}
    for record in records:
        first = first or record
        if not counts(record):
            continue
        if newest is None or record.moment != BY_HAND:
            newest = record
        shapes = record.situation.shape.bolts if record.situation else ()
        # a plan may leave bolts out, and one that is held leaves out all
        for name in dict.fromkeys([*(shape.id for shape in shapes), *record.plan.bolts]):
            histories.setdefault(name, _History(name)).add(record)
        for shape in shapes:
            histories[shape.id].pool = shape.pool
    if newest is None and first is not None:
        raise InvalidError(f"--at {at!r}: there is no decision before it; the first in the log is {_name(first)} at {_clock(first, zone)}")
    return newest, histories


def _paragraph(history: _History, newest: Record, zone: tzinfo | None, *, whole: bool) -> list[str]:
    origin, last, bolt = history.origin, history.last, history.bolt
    lines = [_head(history, zone)]
    if origin is not None and origin.moment == BY_HAND:
        last = last if last is not None and last.number > origin.number else None
        origin = None
    if whole and origin is not None:
        lines += aligned(rows_of(origin, bolt))
    if last is not None and last is not origin:
        lines.append(f"{_name(last).capitalize()} at {_clock(last, zone)} {_verdict(last, bolt)}:")
    if last is not None and not (whole and last is origin):
        lines += aligned(rows_of(last, bolt, whole=whole and origin is None))
    if whole and newest.plan.held:
        lines.append(f"{_name(newest).capitalize()} at {_clock(newest, zone)} decided nothing: {newest.plan.held}")
    return lines


def _head(history: _History, zone: tzinfo | None) -> str:
    of = f" of {history.pool}" if history.pool is not None else ""
    has = f"{history.bolt} has {history.replicas}{of} replica{'' if history.replicas == 1 and not of else 's'}"
    if history.origin is not None:
        origin, act = history.origin, history.origin.acts[history.bolt]
        if origin.moment == BY_HAND:
            return f"{has} since {_clock(origin, zone)}, set by hand: {act.before} -> {act.after} (table {origin.version})."
        return f"{has} since {_clock(origin, zone)} ({_named(origin)}, table {origin.version}), {act.before} -> {act.after}."
    if history.found is not None:
        by_hand = f"{history.was} -> {_active(history.found, history.bolt)} by hand, before {_name(history.found)}"
        return f"{has}, and not by a decision: {by_hand} at {_clock(history.found, zone)}."
    return f"{has}, as before the first decision in the log."


def _verdict(record: Record, bolt: str) -> str:
    plan, act = record.plan.bolts[bolt], record.acts.get(bolt)
    if plan.replicas == plan.active:
        return f"keeps {plan.active}"
    return f"wants {plan.replicas}" if act is None or act.after != plan.replicas else f"sets {plan.replicas}"


def _known(histories: Mapping[str, _History], bolt: str) -> _History:
    if bolt in histories:
        return histories[bolt]
    near = get_close_matches(bolt, histories, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise InvalidError(f"there is no bolt {bolt!r} in the log; {hint}it has {', '.join(histories)}")


def _difference(before: Plan, now: Plan) -> str:
    if before.replicas == now.replicas:
        return "the same replicas, but other terms"
    names = [*before.replicas, *(name for name in now.replicas if name not in before.replicas)]
    changed = [name for name in names if before.replicas.get(name) != now.replicas.get(name)]
    return ", ".join(f"{name} {before.replicas.get(name, 'none')}, now {now.replicas.get(name, 'none')}" for name in changed)


def _until(at: str | None, records: Iterable[Record], zone: tzinfo | None) -> Callable[[Record], bool]:
    """Whether a record was made by that time. A time in whole seconds includes that second.

    Raises:
        InvalidError: not a time.
    """
    if at is None:
        return lambda record: True
    text = at.strip()
    if re.fullmatch(r"\d+(\.\d*)?|\.\d+", text):
        uptime = _end_of(float(text))
        return lambda record: record.uptime < uptime
    try:
        clock = re.fullmatch(r"(\d{1,2}):(\d\d)(?::(\d\d(?:\.\d+)?))?", text)
        time = _end_of(_iso(text, zone) if clock is None else _on_its_day(clock, records, zone))
    except (ValueError, OverflowError, OSError):
        raise InvalidError(f"--at {at!r} is no time; {_AT_HELP}") from None
    return lambda record: record.time < time


def _iso(text: str, zone: tzinfo | None) -> float:
    found = datetime.fromisoformat(text)
    return (found if found.tzinfo is not None or zone is None else found.replace(tzinfo=zone)).timestamp()


def _on_its_day(clock: re.Match[str], records: Iterable[Record], zone: tzinfo | None) -> float:
    """That of the last record's day, or of the day before when only that one lies within the run."""
    times = [record.time for record in records] or [0.0]
    last = datetime.fromtimestamp(times[-1], zone)
    seconds = float(clock[3] or 0)
    found = last.replace(hour=int(clock[1]), minute=int(clock[2]), second=int(seconds), microsecond=int(seconds % 1 * 1e6))
    earlier = found - timedelta(days=1)
    return (earlier if found > last and earlier.timestamp() >= times[0] else found).timestamp()


def _end_of(seconds: float) -> float:
    return seconds + (1.0 if seconds.is_integer() else 1e-6)


def _clock(record: Record, zone: tzinfo | None) -> str:
    return f"{datetime.fromtimestamp(record.time, zone):%H:%M:%S}"


def _name(record: Record) -> str:
    return f"{record.moment} {record.number}"


def _named(record: Record) -> str:
    return _name(record) + (" by restart" if record.restart is not None else "")


def _cut(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1] + "…"
