"""The ledger: one record for each decision, with all that led to it and what was done. Pure: text in, records out."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final, Literal

import msgspec

from pasps.control.json_record import record_in
from pasps.control.plan import Plan
from pasps.control.plan_checks import remembered
from pasps.control.policies.policy import MOST_HISTORY, Policy
from pasps.control.situation import Moment, Second, Situation

SCHEMA = "pasps.decision/1"


BY_HAND: Final = "by hand"
"""In place of a moment: no decision, but somebody's change of a bolt, kept with the decisions because it changes what they find."""


class Outcome(StrEnum):
    """What became of one bolt's change."""

    DONE = "DONE"
    """Every live worker routes by it."""
    POSTPONED = "POSTPONED"
    """It would move keyed tasks between workers; that waits for the end of the interval."""
    HELD = "HELD"
    """Somebody set this bolt by hand; the loop leaves it alone until it is released."""
    FAILED = "FAILED"
    """The change was refused, or not confirmed in time; `error` says why."""


@dataclass(frozen=True, slots=True)
class Act:
    """What was done for one bolt: replicas before, planned, and after (observed)."""

    before: int
    planned: int
    after: int
    outcome: Outcome
    error: str = ""


@dataclass(frozen=True, slots=True)
class Restarted:
    """A plan was carried out as Storm's rebalance does it: all workers were ended, and started anew.

    The spouts were silent for `waited` seconds, in which the rest went on, and for `silent` seconds more, without workers.
    `replayed` tracked events were in flight when the workers ended, and come again. `dropped` tuples were on their way then, and
    went with the workers: those of tracked events come again with them, all others are lost.
    """

    waited: float
    silent: float
    replayed: int = 0
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class Restarts:
    """Several of them, added up."""

    count: int = 0
    waited: float = 0.0
    silent: float = 0.0
    replayed: int = 0
    dropped: int = 0
    lost: int = 0
    """Of what was dropped that which cannot come again: dropped by restarts at which nothing tracked was in flight."""
    called_off: int = 0
    """Not in `count`: those that waited, and were called off before workers ended, as the topology was drained or ended."""

    def after(self, one: Restarted) -> Restarts:
        """With one more."""
        return Restarts(
            self.count + 1,
            self.waited + one.waited,
            self.silent + one.silent,
            self.replayed + one.replayed,
            self.dropped + one.dropped,
            self.lost + (0 if one.replayed else one.dropped),
            self.called_off,
        )


@dataclass(frozen=True, slots=True)
class Record:
    """One decision. `situation` is None when there was nothing to decide from; then `plan.held` says why. A change by hand has
    none either; its plan has the replicas of all bolts, and its acts the change.

    `time` is seconds since the epoch, `uptime` those of the topology; `version` the table's after it was done. `options` are all of
    the policy's; None in what was written before policies had any, when the situation's settings said all. `history` is how many
    seconds of it the policy saw: of those the situation here has only what no record before it has (see `Rebuilt`). `restart`: how
    all workers were started anew for it; None: they were not.
    """

    number: int
    time: float
    uptime: float
    moment: Moment | Literal["by hand"]
    policy: str
    situation: Situation | None
    plan: Plan
    acts: Mapping[str, Act] = field(default_factory=dict)
    version: int = 0
    notes: tuple[str, ...] = ()
    schema: str = SCHEMA
    options: Mapping[str, Any] | None = None
    history: int = 0
    restart: Restarted | None = None


def written(record: Record) -> bytes:
    """One line of JSON, without its end."""
    return msgspec.json.encode(record)


def read(line: bytes | str) -> Record:
    """The record in a line.

    Raises:
        InvalidError: it is none, or of another schema.
    """
    return record_in(line, Record, "decision log", SCHEMA)


class Rebuilt:
    """Gives records back what those before them say already. They come in order, and from the first one on."""

    def __init__(self) -> None:
        self._seconds: deque[Second] = deque(maxlen=MOST_HISTORY)

    def whole(self, record: Record) -> Record | None:
        """The record with all that its policy saw; None when records before it are missing."""
        situation = record.situation
        if situation is None or not record.history:
            return record
        self._seconds.extend(situation.history)
        if len(self._seconds) < record.history:
            return None
        return replace(record, situation=replace(situation, history=tuple(self._seconds)[-record.history :]))


def replayed(record: Record, policy: Policy) -> Plan:
    """The plan that a policy makes of the record's situation now: equal to `record.plan` while the policy is the same.

    The memory that a plan leaves is compared as JSON has it. Of a policy that looks back the record must be whole (see `Rebuilt`).

    Raises:
        ConfigError: the record has options that the policy does not take any more.
    """
    situation = record.situation
    if situation is None:
        return record.plan
    plan = policy.plan(situation, policy.configured(situation.settings, record.options))
    memory = remembered(plan.memory, len(situation.shape.bolts))
    return plan if memory is plan.memory else replace(plan, memory=memory)
