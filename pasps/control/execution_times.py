"""et_i: what one event costs a bolt, from a benchmark and from what was just measured. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import structs

from pasps.control.situation import BoltInterval, Estimates, ExecutionTime, Interval
from pasps.metrics import blocks_text

BUSY_SHARE = 0.9
"""From this share of the cores' time on, what is measured holds waiting for a core."""
NOTHING_EXECUTED = "nothing was executed"
_BLOCKS = blocks_text(is_spout=False)
_RISE = 1.1
"""A rise above this is worth a word."""
_UNKNOWN = ExecutionTime(None, "unknown")


def execution_times(
    interval: Interval, before: Estimates, benchmark: Mapping[str, float], waiting: frozenset[str] = frozenset()
) -> tuple[dict[str, ExecutionTime], dict[str, int]]:
    """et_i by bolt, the larger of benchmark and live mean, and how many replicas of all bolts were active when it was measured.

    `waiting`: the bolts whose et_i is wall time.
    """
    times: dict[str, ExecutionTime] = {}
    active: dict[str, int] = {}
    total, busy = sum(bolt.active for bolt in interval.bolts.values()), _busy(interval)
    for name, bolt in interval.bolts.items():
        known, then = before.execution.get(name, _UNKNOWN), before.active.get(name, total)
        crowded = busy and total > then
        measured = _measured(bolt, interval, known, then if crowded else None)
        if busy and measured.source == "live" and name in waiting:
            measured = structs.replace(
                measured, note=f"measured while the cores were {interval.busy:.0%} busy, so waiting for a core is part of it"
            )
        if bolt.blocks and measured.source == "live":
            measured = structs.replace(measured, note=_BLOCKS)
        active[name] = total if measured.source == "live" and not crowded else then
        file = benchmark.get(name)
        larger = file is not None and (measured.seconds is None or measured.seconds <= file)
        times[name] = ExecutionTime(file, "file", measured.note) if larger else measured
    return times, active


def _measured(bolt: BoltInterval, interval: Interval, known: ExecutionTime, fewer: int | None) -> ExecutionTime:
    """`fewer`: the replicas of all bolts that it was known with, when more of them share busy cores now."""
    if not bolt.processed or bolt.seconds <= 0:
        return known if known.seconds is None or known.source == "file" else ExecutionTime(known.seconds, "last", NOTHING_EXECUTED)
    live = bolt.seconds / bolt.processed
    # any rise: intervals may overlap, and then it comes a few percent at a time
    if known.seconds is None or live <= known.seconds or fewer is None:
        return ExecutionTime(live, "live")
    now = sum(each.active for each in interval.bolts.values())
    note = (
        f"oversubscribed: {live:.4g} s with {now} active replicas of all bolts, {known.seconds:.4g} s with {fewer}, "
        f"while the cores were {interval.busy:.0%} busy; the smaller one is kept"
    )
    return ExecutionTime(known.seconds, "last", note if live > known.seconds * _RISE else "")


def _busy(interval: Interval) -> bool:
    return interval.busy is not None and interval.busy >= BUSY_SHARE
