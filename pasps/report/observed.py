"""What the measures need of a run's samples, gathered in one pass: a long run has many. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from pasps.control.run_log import BoltSample, Sample
from pasps.report.decided import Ends
from pasps.report.timeline import Timeline


@dataclass(frozen=True, slots=True)
class Output:
    """What counts as output: `acked` spout tuples; without tracking what the `bolts` at the ends `executed`, `share` of which
    make one event of the input; or it is `unknown`, without tracking and decisions.
    """

    kind: Literal["acked", "executed", "unknown"]
    bolts: tuple[str, ...] = ()
    share: float = 1.0

    def of(self, sample: Sample) -> float:
        """Events of the input that were processed so far."""
        if self.kind == "acked":
            return sample.acked
        return sum(sample.bolts[name].executed for name in self.bolts if name in sample.bolts) / self.share


@dataclass(slots=True)
class BoltObserved:
    """One bolt over time. `*_time` are sums of replicas times seconds, each sample standing until the next."""

    first: BoltSample
    last: BoltSample
    most_active: int
    most_queued: int
    active_time: float = 0.0
    draining_time: float = 0.0
    pool_time: float = 0.0
    activations: int = 0
    deactivations: int = 0

    def until(self, now: BoltSample, seconds: float) -> None:
        """`now` follows the last sample after `seconds`."""
        last = self.last
        self.active_time += last.active * seconds
        self.draining_time += last.draining * seconds
        self.pool_time += last.pool * seconds
        self.activations += max(0, now.active - last.active)
        self.deactivations += max(0, last.active - now.active)
        self.most_active = max(self.most_active, now.active)
        self.most_queued = max(self.most_queued, now.queued)
        self.last = now


@dataclass(slots=True)
class Observed:
    """A run's complete samples. `saved_time` is the sum of 1 - r / r_over times seconds; `done` is of what `output` says."""

    output: Output
    samples: int = 0
    incomplete: int = 0
    began: float = 0.0
    last: Sample | None = None
    saved_time: float = 0.0
    due: Timeline = field(default_factory=Timeline)
    done: Timeline = field(default_factory=Timeline)
    bolts: dict[str, BoltObserved] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """From the first sample to the last."""
        return self.last.uptime - self.began if self.last is not None else 0.0


def observed(samples: Iterable[Sample], ends: Ends | None, interval_seconds: float) -> Observed:
    """Gather all samples. An incomplete one lacks a worker's counts: it is counted and otherwise left out."""
    found = Observed(Output("executed", ends.bolts, ends.share) if ends is not None else Output("unknown"))
    acked, executed = Timeline(), Timeline()
    for sample in samples:
        last = found.last
        if not sample.complete:
            found.incomplete += 1
            continue
        if last is None:
            found.began = sample.uptime
            if 0 < sample.uptime <= interval_seconds:
                for timeline in (found.due, acked, executed):
                    timeline.add(0.0, 0)  # every counter starts from zero with the topology
        elif sample.uptime <= last.uptime:
            continue
        if sample.acked + sample.failed + sample.pending > 0:
            found.output = Output("acked")
        found.due.add(sample.uptime, sample.due)
        acked.add(sample.uptime, sample.acked)
        executed.add(sample.uptime, found.output.of(sample))
        _follow(found, sample)
    found.done = acked if found.output.kind == "acked" else executed
    return found


def saved_of(bolts: Iterable[BoltSample]) -> float:
    """1 - r / r_over of one moment; draining replicas count as active."""
    listed = list(bolts)
    over = sum(bolt.pool for bolt in listed)
    return 1.0 - sum(bolt.active + bolt.draining for bolt in listed) / over if over else 0.0


def _follow(found: Observed, sample: Sample) -> None:
    seconds = sample.uptime - found.last.uptime if found.last is not None else 0.0
    if found.last is not None:
        found.saved_time += saved_of(found.last.bolts.values()) * seconds
    for name, bolt in sample.bolts.items():
        known = found.bolts.get(name)
        if known is None:
            found.bolts[name] = BoltObserved(bolt, bolt, bolt.active, bolt.queued)
        else:
            known.until(bolt, seconds)
    found.samples += 1
    found.last = sample
