"""The course of a run: one sample a second of what is counted, as lines of JSON; reports are made of them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from pasps.control.json_record import record_in
from pasps.metrics import Stats

SCHEMA = "pasps.sample/1"


class BoltSample(msgspec.Struct, frozen=True, gc=False):
    """One bolt: cumulative `executed` and `seconds`, the others as they were. DRAINING replicas are not among the active."""

    active: int
    draining: int
    pool: int
    queued: int
    executed: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Sample:
    """Everything since the start, cumulative, but for `pending`, `backlog` and what is said of bolts.

    `latency` is a `Histogram`'s buckets.
    `predicted` are the events that had been expected, a second before, of the second that ends with it.
    """

    uptime: float
    time: float
    complete: bool
    version: int
    due: int
    emitted: int
    replayed: int
    acked: int
    failed: int
    pending: int
    backlog: int
    bolts: Mapping[str, BoltSample]
    latency: Mapping[int, int] = field(default_factory=dict)
    latency_total: float = 0.0
    predicted: float | None = None
    busy: float | None = None
    schema: str = SCHEMA


def sample_of(stats: Stats, time: float, predicted: float | None = None, busy: float | None = None) -> Sample:
    """What a snapshot, taken at `time` (seconds since the epoch), adds to the run's course."""
    spouts = [component for component in stats.components.values() if not component.edges]
    bolts = {
        name: BoltSample(
            component.active,
            sum(replica.state == "DRAINING" for replica in component.replicas.values()),
            component.pool,
            component.queued,
            component.executed,
            component.execute_seconds * component.executed,
        )
        for name, component in stats.components.items()
        if component.edges
    }
    return Sample(
        uptime=stats.uptime_seconds,
        time=time,
        complete=stats.complete,
        version=stats.table_version,
        due=stats.due,
        emitted=stats.emitted_first,
        replayed=stats.replayed,
        acked=stats.acked,
        failed=stats.failed,
        pending=stats.pending,
        backlog=sum(spout.backlog or 0 for spout in spouts),
        bolts=bolts,
        latency=dict(stats.latency.buckets),
        latency_total=stats.latency.total,
        predicted=predicted,
        busy=busy,
    )


def written(sample: Sample) -> bytes:
    """One line of JSON, without its end."""
    return msgspec.json.encode(sample)


def read(line: bytes | str) -> Sample:
    """The sample in a line.

    Raises:
        InvalidError: it is none, or of another schema.
    """
    return record_in(line, Sample, "run log", SCHEMA)
