"""et_i: what one event costs a bolt, from a benchmark and from what was just measured. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from pasps.control.situation import BoltInterval, Estimates, ExecutionTime, Interval

BUSY_SHARE = 0.9
"""From this share of the cores' time on, what is measured holds waiting for a core."""
_RISE = 1.1
"""A rise above this is worth a word."""
_UNKNOWN = ExecutionTime(None, "unknown")


def execution_times(
    interval: Interval, before: Estimates, benchmark: Mapping[str, float]
) -> tuple[dict[str, ExecutionTime], dict[str, int]]:
    """et_i by bolt, the larger of benchmark and live mean, and the replicas that each was measured with."""
    times: dict[str, ExecutionTime] = {}
    active: dict[str, int] = {}
    for name, bolt in interval.bolts.items():
        known, with_replicas = before.execution.get(name, _UNKNOWN), before.active.get(name, bolt.active)
        measured = _measured(bolt, interval, known, with_replicas)
        proven = measured.source == "live" and not _crowded(bolt, interval, with_replicas)
        active[name] = bolt.active if proven else with_replicas
        file = benchmark.get(name)
        larger = file is not None and (measured.seconds is None or measured.seconds <= file)
        times[name] = ExecutionTime(file, "file", measured.note) if larger else measured
    return times, active


def _measured(bolt: BoltInterval, interval: Interval, known: ExecutionTime, with_replicas: int) -> ExecutionTime:
    if not bolt.processed or bolt.seconds <= 0:
        return known if known.seconds is None or known.source == "file" else ExecutionTime(known.seconds, "last", "nothing was executed")
    live = bolt.seconds / bolt.processed
    # any rise: intervals may overlap, and then it comes a few percent at a time
    if known.seconds is None or live <= known.seconds or not _crowded(bolt, interval, with_replicas):
        return ExecutionTime(live, "live")
    note = (
        f"oversubscribed: {live:.4g} s with {bolt.active} replicas, {known.seconds:.4g} s with {with_replicas}, "
        f"while the cores were {interval.busy:.0%} busy; more replicas would not help"
    )
    return ExecutionTime(known.seconds, "last", note if live > known.seconds * _RISE else "")


def _crowded(bolt: BoltInterval, interval: Interval, with_replicas: int) -> bool:
    """Whether more replicas than before share cores that are busy."""
    return bolt.active > with_replicas and interval.busy is not None and interval.busy >= BUSY_SHARE
