"""What several policies read off a situation, in the same way. Pure."""

from __future__ import annotations

from typing import Any

from pasps.control.situation import BoltInterval, BoltShape, Interval, Situation


def waiting_before(situation: Situation) -> dict[str, float]:
    """Events that wait before each bolt: its own queue, and what the spouts that it reads hold back for it.

    Bolts' queues are bounded by credit here, and what finds no room waits in the spouts. In Storm, Flink or Kafka, for which these
    policies were written, it would wait before the bolts that read them.
    """
    interval, theta = situation.interval, situation.estimates.selectivity
    found = {}
    for bolt in situation.shape.bolts:
        held = sum(interval.spouts[name].backlog * theta[bolt.id][name] for name in bolt.sources if name in interval.spouts)
        found[bolt.id] = interval.bolts[bolt.id].queued + held
    return found


def busy_share(bolt: BoltShape, did: BoltInterval, interval: Interval) -> float:
    """The share of the interval that a replica spent on events, in the mean: of CPU time where it computes, of its time where it waits."""
    return did.seconds / (max(1, did.active) * bolt.concurrency * interval.seconds)


def active_now(situation: Situation) -> dict[str, int]:
    """The replicas of each bolt; a policy that leaves them as its memory's `active` learns from `changed_since` what became of them."""
    return {bolt.id: situation.interval.bolts[bolt.id].active for bolt in situation.shape.bolts}


def changed_since(situation: Situation) -> set[str]:
    """The bolts whose replicas are others than when the last decision was made, by whomever; so the interval is half old, half new."""
    memory: dict[str, Any] = situation.memory or {}
    before = memory.get("active", {})
    return {name for name, active in active_now(situation).items() if before.get(name, active) != active}
