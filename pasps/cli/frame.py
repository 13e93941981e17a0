"""What one refresh shows: a snapshot of the counters with rates, from the difference to a snapshot a moment ago. Pure."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pasps.metrics import ComponentStats, Stats
from pasps.topology.controller import ErrorReport
from pasps.topology.status import ComponentShape, Status

WINDOW_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class ComponentFrame:
    """One component. Rates, `execute_seconds` (mean for one tuple) and `busy` are of the last moment, the rest since the start.

    `busy` is the share of time in which its active replicas execute, at most 1 (a call counts when it ends); None for a spout.
    `blocks`: see `ComponentStats`.
    """

    name: str
    is_spout: bool
    emitted: int
    executed: int
    acked: int
    failed: int
    errors: int
    queued: int
    active: int
    pool: int
    backlog: int | None
    emitted_per_second: float
    executed_per_second: float
    execute_seconds: float
    busy: float | None
    blocks: bool = False


@dataclass(frozen=True, slots=True)
class Frame:
    """One refresh, `seconds` after the first. `emitted` counts first emissions of the spouts; `tracked` says whether anything was
    seen to be tracked so far. Latencies are of the whole run, recent ones of the last ten seconds; None while nothing tracked is
    done. `elastic` is what whoever decides on replicas says, None when nobody does; `troubles` keep a part of it
    from working. `restarting` says what is done to start all workers anew for a plan, nothing while nobody does.
    """

    seconds: float
    emitted: int
    acked: int
    failed: int
    replayed: int
    pending: int
    backlog: int | None
    emitted_per_second: float
    acked_per_second: float
    latency_mean: float | None
    latency_p50: float | None
    latency_p95: float | None
    latency_p99: float | None
    recent_latency_mean: float | None
    recent_latency_p50: float | None
    recent_latency_p95: float | None
    recent_latency_p99: float | None
    workers: int
    workers_wanted: int
    errors: int
    last_error: str | None
    complete: bool
    tracked: bool
    components: tuple[ComponentFrame, ...]
    elastic: Mapping[str, Any] | None = None
    troubles: tuple[str, ...] = ()
    restarting: str = ""


class Frames:
    """Makes frames of snapshots, given in order of time. Rates are taken over about a second; incomplete snapshots keep the old ones.

    `began` is the topology's uptime from which `seconds` counts; None: that of the first snapshot.
    """

    def __init__(self, components: Sequence[ComponentShape], workers_wanted: int, began: float | None = None) -> None:
        self._shapes = components
        self._wanted = workers_wanted
        self._past: deque[Stats] = deque()
        self._began = began
        self._tracked = False

    def next(
        self,
        stats: Stats,
        workers: int,
        errors: Sequence[ErrorReport],
        elastic: Mapping[str, Any] | None = None,
        troubles: Sequence[str] = (),
        restarting: str = "",
    ) -> Frame:
        """The frame for one snapshot."""
        if stats.complete:
            self._past.append(stats)
            while len(self._past) > 2 and stats.uptime_seconds - self._past[1].uptime_seconds >= WINDOW_SECONDS:
                self._past.popleft()
        if self._began is None:
            self._began = stats.uptime_seconds
        old, new = (self._past[0], self._past[-1]) if self._past else (stats, stats)
        span = new.uptime_seconds - old.uptime_seconds
        latency, recent = stats.complete_latency, stats.recent_latency
        self._tracked = self._tracked or bool(stats.acked or stats.failed or stats.pending)
        components = tuple(_component(shape, stats.components[shape.id], old, new, span) for shape in self._shapes)
        backlogs = [component.backlog for component in components if component.backlog is not None]
        return Frame(
            seconds=stats.uptime_seconds - self._began,
            emitted=stats.emitted_first,
            acked=stats.acked,
            failed=stats.failed,
            replayed=stats.replayed,
            pending=stats.pending,
            backlog=sum(backlogs) if backlogs else None,
            emitted_per_second=_rate(new.emitted_first - old.emitted_first, span),
            acked_per_second=_rate(new.acked - old.acked, span),
            latency_mean=_known(latency.mean),
            latency_p50=_known(latency.p50),
            latency_p95=_known(latency.p95),
            latency_p99=_known(latency.p99),
            recent_latency_mean=_known(recent.mean),
            recent_latency_p50=_known(recent.p50),
            recent_latency_p95=_known(recent.p95),
            recent_latency_p99=_known(recent.p99),
            workers=workers,
            workers_wanted=self._wanted,
            errors=sum(component.errors for component in components),
            last_error=last_line(errors[-1]) if errors else None,
            complete=stats.complete,
            tracked=self._tracked,
            components=components,
            elastic=elastic,
            troubles=tuple(troubles),
            restarting=restarting,
        )

    def of(self, status: Status) -> Frame:
        """The frame for one answer to `status`."""
        return self.next(status.stats, len(status.workers), status.errors, status.elastic, status.troubles, status.restarting)


def first_frame(status: Status) -> Frame:
    """A frame of one answer to `status` alone: without rates, its time is the topology's uptime."""
    return Frames(status.components, status.workers_wanted, began=0.0).of(status)


def _component(shape: ComponentShape, now: ComponentStats, old: Stats, new: Stats, span: float) -> ComponentFrame:
    before, after = old.components[shape.id], new.components[shape.id]
    executed = after.executed - before.executed
    seconds = after.execute_seconds * after.executed - before.execute_seconds * before.executed
    room = (before.active + after.active) / 2 * shape.concurrency
    return ComponentFrame(
        name=shape.id,
        is_spout=shape.is_spout,
        emitted=now.emitted,
        executed=now.executed,
        acked=now.acked,
        failed=now.failed,
        errors=now.errors,
        queued=now.queued,
        active=now.active,
        pool=now.pool,
        backlog=now.backlog,
        emitted_per_second=_rate(after.emitted - before.emitted, span),
        executed_per_second=_rate(executed, span),
        execute_seconds=max(0.0, seconds) / executed if executed > 0 else now.execute_seconds,
        busy=None if shape.is_spout or not room else min(1.0, _rate(seconds, span) / room),
        blocks=now.blocks,
    )


def last_line(error: ErrorReport) -> str:
    """An error in one line: the component, and the last line of what was said; of a worker the first, which says what happened."""
    lines = error.text.strip().splitlines() or ["no text"]
    return f"{error.component}: {lines[-1].strip()}" if error.component else lines[0].strip()


def _rate(difference: float, seconds: float) -> float:
    # what a dead worker counted after its last report is gone, so a difference may be below zero
    return max(0.0, difference) / seconds if seconds > 0 else 0.0


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
