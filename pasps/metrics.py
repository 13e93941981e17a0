"""What is counted, and what users read of it: cumulative, exact, mergeable.

What there is of each component, edge and replica is made several times a second for all of them: those are structs, made in a
tenth of a frozen dataclass's time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from msgspec import Struct

_PER_OCTAVE = 16  # bucket edges 4.4% apart
_FLOOR = 1e-7
RECENT_SECONDS = 10.0
"""How far back the latencies look that are called recent."""


class Histogram:
    """Durations in logarithmic buckets: quantiles within 4.4%, the mean exact. Merges by addition."""

    __slots__ = ("buckets", "count", "total")

    def __init__(self, buckets: Mapping[int, int] | None = None, total: float = 0.0) -> None:
        self.buckets: dict[int, int] = dict(buckets or {})
        self.count = sum(self.buckets.values())
        self.total = total

    def add(self, seconds: float, count: int = 1) -> None:
        """Record `count` durations of `seconds`."""
        bucket = int(math.log2(max(seconds, _FLOOR) / _FLOOR) * _PER_OCTAVE)
        self.buckets[bucket] = self.buckets.get(bucket, 0) + count
        self.count += count
        self.total += seconds * count

    def merge(self, other: Histogram) -> None:
        """Add everything that the other recorded."""
        for bucket, count in other.buckets.items():
            self.buckets[bucket] = self.buckets.get(bucket, 0) + count
        self.count += other.count
        self.total += other.total

    def since(self, earlier: Histogram) -> Histogram:
        """What was recorded after `earlier`, which was this one a while ago. Less than nothing, after a worker died, counts as nothing."""
        buckets = {bucket: count - earlier.buckets.get(bucket, 0) for bucket, count in self.buckets.items()}
        return Histogram({bucket: count for bucket, count in buckets.items() if count > 0}, max(0.0, self.total - earlier.total))

    def quantile(self, share: float) -> float:
        """The duration below which `share` of the recorded ones lie; NaN when there are none."""
        if not self.count:
            return math.nan
        need, seen = share * self.count, 0
        for bucket in sorted(self.buckets):
            seen += self.buckets[bucket]
            if seen >= need:
                return float(_FLOOR * 2 ** ((bucket + 0.5) / _PER_OCTAVE))
        return math.nan

    def above(self, seconds: float) -> int:
        """How many of the recorded ones are longer, to the next edge of a bucket."""
        edge = math.log2(max(seconds, _FLOOR) / _FLOOR) * _PER_OCTAVE
        return sum(count for bucket, count in self.buckets.items() if bucket >= edge)

    @property
    def mean(self) -> float:
        """Exact mean; NaN when there are none."""
        return self.total / self.count if self.count else math.nan


@dataclass(frozen=True, slots=True)
class Latency:
    """Seconds from the moment an event was due, or else from its emission, until the last descendant was acked."""

    count: int
    mean: float
    p50: float
    p95: float
    p99: float

    @classmethod
    def of(cls, histogram: Histogram) -> Latency:
        """Read the quantiles that people look at."""
        quantile = histogram.quantile
        return cls(histogram.count, histogram.mean, quantile(0.50), quantile(0.95), quantile(0.99))


@dataclass(slots=True)
class ReplicaCounts:
    """Cumulative counters of one replica (a spout: one task) in one worker incarnation.

    `received`, `executed` and `seconds` are by edge index; `emitted` is by stream. `seconds` is CPU time for inline
    bolts, unless their steps wait on the worker's loop (`blocks`), and wall time for all others. `busy` tuples are taken and in the
    bolt's hands (on its thread, or awaited), `kept` ones are neither acked nor failed although their call is over.
    `unfinished` instances have had no `finish` since their last input; `finishing` calls of it are asked for and not over.

    Of a spout task: `queued` was emitted and waits for the end of its step. `pending` is in flight: tracked, and neither acked nor
    failed. `held_back` counts when it was not asked for want of room.

    `lives`: of how many incarnations these are, where dead ones were added up.
    """

    component: str
    replica: int
    worker: str
    state: str = "ACTIVE"
    queued: int = 0
    busy: int = 0
    received: dict[int, int] = field(default_factory=dict)
    executed: dict[int, int] = field(default_factory=dict)
    seconds: float = 0.0
    emitted: dict[str, int] = field(default_factory=dict)
    copies: int = 0
    acked: int = 0
    failed: int = 0
    errors: int = 0
    replayed: int = 0
    pending: int = 0
    backlog: int | None = None
    held_back: int = 0
    kept: int = 0
    unfinished: int = 0
    finishing: int = 0
    blocks: bool = False
    lives: int = 1

    def add(self, earlier: ReplicaCounts) -> None:
        """What the same replica did in the same worker before it lived elsewhere."""
        for mine, theirs in ((self.received, earlier.received), (self.executed, earlier.executed)):
            for edge, count in theirs.items():
                mine[edge] = mine.get(edge, 0) + count
        for stream, count in earlier.emitted.items():
            self.emitted[stream] = self.emitted.get(stream, 0) + count
        for name in ("seconds", "copies", "acked", "failed", "errors", "replayed"):
            setattr(self, name, getattr(self, name) + getattr(earlier, name))


GONE = "GONE"
"""`ReplicaCounts.state` of a replica that lives in another worker now; nothing of it is left but counters."""


def blocks_text(*, is_spout: bool) -> str:
    """What to tell of a component that `blocks`, and the cure."""
    if is_spout:
        cure = "return from next_tuple the seconds until it is to be asked again, or read ahead on a thread of its own"
    else:
        cure = 'give it execution = "thread", or make it async'
    return f"its calls wait instead of computing, and all else in their workers waits with them; {cure}"


class EdgeStats(Struct, frozen=True, gc=False):
    """One subscription seen from its receiver."""

    source: str
    stream: str
    received: int
    executed: int


class ReplicaStats(Struct, frozen=True, gc=False):
    """One replica since the topology started, all incarnations of its workers together."""

    replica: int
    worker: str
    state: str
    emitted: int
    executed: int
    acked: int
    failed: int
    queued: int
    execute_seconds: float
    kept: int = 0


class ComponentStats(Struct, frozen=True):
    """One component since the topology started.

    `queued` counts what was received or is on the way and not executed; `execute_seconds` is the mean for one tuple. `kept` counts
    what a bolt has executed and neither acked nor failed: it keeps it for a later ack, or has forgotten it. `unfinished` instances
    have had no `finish` since their last input; `finishing` calls of it are asked for and not over.

    Of a spout: `emitted` are first emissions (`emitted_first`) and replays (`replayed`). `due` are the events that became due
    so far: first emissions and the backlog. `restarts` is how often a task went on elsewhere after its worker had ended: then `due`
    jumps by what it emits again although it was done, and falls for a while. `knows_backlog` says that every task lives and has
    told its backlog; else `due` counts what was emitted. `held_back` rises while a task is not asked because what it emitted finds
    no room, or because `topology.max.spout.pending` is reached; only its growth means anything.

    `blocks`: calls on a worker's loop spend much of their time waiting, which holds up all else there; `execute_seconds` then
    holds that time.
    """

    component: str
    emitted: int
    executed: int
    acked: int
    failed: int
    queued: int
    active: int
    pool: int
    execute_seconds: float
    errors: int
    replicas: Mapping[int, ReplicaStats]
    edges: tuple[EdgeStats, ...]
    backlog: int | None = None
    emitted_first: int = 0
    replayed: int = 0
    due: int = 0
    knows_backlog: bool = False
    restarts: int = 0
    held_back: int = 0
    kept: int = 0
    unfinished: int = 0
    finishing: int = 0
    blocks: bool = False


@dataclass(frozen=True, slots=True)
class Stats:
    """A consistent snapshot of a topology; `complete` is False when a live worker did not answer in time.

    `emitted_first` are the spouts' first emissions, `replayed` what they emitted again after a failure, `due` the events that
    became due (see `ComponentStats`). `latency` holds every complete latency, of which `complete_latency` is the short form;
    `recent_latency` is that of the last `RECENT_SECONDS`. `cpu_seconds` are those that the process of each live worker has used so
    far, where that is known.
    """

    components: Mapping[str, ComponentStats]
    complete_latency: Latency
    emitted_first: int
    replayed: int
    acked: int
    failed: int
    pending: int
    table_version: int
    complete: bool
    uptime_seconds: float
    due: int = 0
    latency: Histogram = field(default_factory=Histogram, compare=False)
    recent_latency: Latency = field(default_factory=lambda: Latency.of(Histogram()), compare=False)
    cpu_seconds: Mapping[str, float] = field(default_factory=dict, compare=False)


@dataclass(slots=True)
class LinkCounts:
    """Tuples by edge between a worker and one peer, since their connection was made."""

    peer: str
    incarnation: int
    sent: dict[int, int]
    got: dict[int, int]
    waiting: dict[int, int]


@dataclass(slots=True)
class WorkerCounts:
    """Everything one worker counts, taken between two steps. `parked` are rows without credit, by edge.

    `positions` are what spout tasks saved last, by task id, packed: not counted, but told in the same breath. `cpu_seconds` are the
    process's own, all of it; None: not known.
    """

    worker: str
    incarnation: int
    version: int
    replicas: list[ReplicaCounts]
    links: list[LinkCounts]
    parked: dict[int, int]
    positions: dict[int, bytes]
    latency: dict[int, int]
    latency_total: float
    cpu_seconds: float | None = None

    def died(self) -> None:
        """These were the last ones: what was in flight from its spouts comes again, and is emitted for the first time then."""
        for replica in self.replicas:
            replica.replayed += replica.pending
            replica.pending = 0

    def follow(self, earlier: WorkerCounts) -> None:
        """Both have died: what died earlier is counted here from now on, so that the dead are one however many they are."""
        found: dict[tuple[str, int], ReplicaCounts] = {}
        for replica in (*earlier.replicas, *self.replicas):
            before = found.pop((replica.component, replica.replica), None)
            if before is not None:
                replica.add(before)
                replica.held_back += before.held_back
                replica.lives += before.lives
            found[replica.component, replica.replica] = replica
        self.replicas = list(found.values())
        for bucket, count in earlier.latency.items():
            self.latency[bucket] = self.latency.get(bucket, 0) + count
        self.latency_total += earlier.latency_total
